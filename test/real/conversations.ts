/** Groups the model's requests by sender: the thread itself or one of its agents. */
import type { Exchange } from "./model.ts";
import { textsOf } from "./script.ts";
import type { ContentBlock } from "./wire.ts";

export interface Conversation {
  session: string;
  /** Written by a person, not by an agent: scripts of such prompts are named main, main2, ... */
  isMain: boolean;
  /** From the request headers; versions before 2.1.139 send none. */
  headerId: string | null;
  headerParentId: string | null;
  exchanges: Exchange[];
}

export interface Sorted {
  conversations: Conversation[];
  /** The product's own cache warm-ups, which old versions record like agents. */
  warmUps: Exchange[];
  /** Small internal requests of the product, which are in no transcript. */
  unrecorded: Exchange[];
}

export function sortByAsker(exchanges: readonly Exchange[]): Sorted {
  const warmUps = exchanges.filter((exchange) => firstText(exchange).trim() === "Warmup");
  const unrecorded = exchanges.filter((exchange) => !warmUps.includes(exchange) && !exchange.request.tools?.length);
  const asked = exchanges.filter((exchange) => !warmUps.includes(exchange) && !unrecorded.includes(exchange));
  const unknown = asked.find((exchange) => exchange.script === null);
  if (unknown) throw new Error(`a request that no script asked for: ${firstText(unknown).slice(0, 200)}`);
  const hasHeaders = asked.some((exchange) => agentHeader(exchange) !== null);
  return { conversations: hasHeaders ? byHeader(asked) : byHistory(asked), warmUps, unrecorded };
}

function byHeader(exchanges: Exchange[]): Conversation[] {
  const groups = Map.groupBy(exchanges, (exchange) => `${sessionOf(exchange)} ${agentHeader(exchange)}`);
  return [...groups.values()].map((group) => conversationOf(group));
}

/**
 * Without ids, a request belongs to the conversation whose tool calls are in its history, or whose failed request it
 * repeats; otherwise it starts a new one.
 */
function byHistory(exchanges: Exchange[]): Conversation[] {
  const groups: Exchange[][] = [];
  const groupOfCall = new Map<string, Exchange[]>();
  for (const exchange of exchanges) {
    const session = sessionOf(exchange);
    const known = toolUses(exchange.request.messages.flatMap((message) => blocksOf(message.content)))
      .map((block) => groupOfCall.get(`${session} ${block.id}`))
      .find((group) => group !== undefined);
    const retried = groups.find((group) => isRetry(exchange, group.at(-1)));
    const group = known ?? retried ?? [];
    if (!group.length) groups.push(group);
    group.push(exchange);
    for (const block of toolUses(exchange.answer?.content ?? [])) groupOfCall.set(`${session} ${block.id}`, group);
  }
  return groups.map((group) => conversationOf(group));
}

function isRetry(exchange: Exchange, earlier: Exchange | undefined): boolean {
  return (
    earlier !== undefined &&
    earlier.status !== 200 &&
    earlier.script === exchange.script &&
    earlier.step === exchange.step &&
    sessionOf(earlier) === sessionOf(exchange)
  );
}

function conversationOf(exchanges: Exchange[]): Conversation {
  const [first] = exchanges;
  if (!first) throw new Error("a conversation without requests");
  return {
    session: sessionOf(first),
    isMain: agentHeader(first) === null && /^main/.test(first.script ?? ""),
    headerId: agentHeader(first),
    headerParentId: first.headers["x-claude-code-parent-agent-id"] ?? null,
    exchanges,
  };
}

/** The thread with the latest activity. */
export function lastSession(exchanges: readonly Exchange[]): string {
  const last = exchanges.at(-1);
  if (!last) throw new Error("the model was never asked");
  return sessionOf(last);
}

export function firstText(exchange: Exchange): string {
  const message = exchange.request.messages.find(({ role }) => role === "user");
  return textsOf(message?.content ?? "").join("\n");
}

export function blocksOf(content: string | ContentBlock[]): ContentBlock[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

export function toolUses(blocks: ContentBlock[]): ContentBlock[] {
  return blocks.filter((block) => block.type === "tool_use");
}

function agentHeader(exchange: Exchange): string | null {
  return exchange.headers["x-claude-code-agent-id"] ?? null;
}

export function sessionOf(exchange: Exchange): string {
  const userId = exchange.request.metadata?.user_id ?? "";
  const session = exchange.headers["x-claude-code-session-id"] ?? /session_(?:id":")?([0-9a-f-]{36})/.exec(userId)?.[1];
  if (session === undefined) throw new Error(`a request without a session: ${userId}`);
  return session;
}
