import { continuedLine } from "../../core/facts/continued.ts";
import type { LinkedAgent } from "../../core/link/forest.ts";
import { printJson } from "../../core/tools/json.ts";
import { type AgentEvent, shownText } from "../../core/views/event.ts";

/** Maximum length of one event in the message. The file has the whole text. */
const MAX_EVENT = 4_000;
/** Linux limits one argument of a command to 128 KiB, Windows the whole command to 32 KiB. */
const MAX_MESSAGE = process.platform === "win32" ? 24_000 : 96_000;
const DEFAULT_REQUEST = "Say in one sentence where this work stands, then wait for instructions.";

/** What an agent did, as text. */
export interface AgentContext {
  /** The first message of a new session. */
  readonly message: string;
  /** The same without omissions. */
  readonly whole: string;
}

/** `wholeAt`: where the whole text will be, for the model to read if it needs more. */
export function contextOf(
  agent: LinkedAgent,
  product: string,
  events: readonly AgentEvent[],
  request: string | null,
  wholeAt: string,
): AgentContext {
  const { agentType, description, prompt } = agent;
  const who = [`an agent of ${product}`, agentType === null ? null : `of type ${agentType}`, description].filter(
    (part) => part !== null,
  );
  const intro = [
    continuedLine(agent.key),
    "",
    `You continue the work of ${who.join(", ")}. Its session cannot be resumed, so its history follows as text.`,
    `The whole text is in ${wholeAt}.`,
    ...(prompt === null ? [] : ["", "# Its task", "", prompt]),
    "",
    "# What happened",
  ].join("\n");
  const outro = ["", "# Now", "", request ?? DEFAULT_REQUEST].join("\n");
  const texts = events.flatMap((event) => textOf(event) ?? []);
  const short = texts.map((text) =>
    text.length <= MAX_EVENT ? text : `${text.slice(0, MAX_EVENT)}… (${text.length - MAX_EVENT} more characters)`,
  );
  const room = MAX_MESSAGE - Buffer.byteLength(intro) - Buffer.byteLength(outro);
  const from = firstThatFits(short, room);
  const omitted = from === 0 ? [] : [`(the first ${from} of ${texts.length} entries are left out)`];
  return {
    message: [cutTo(intro, MAX_MESSAGE / 2), ...omitted, ...short.slice(from), outro].join("\n\n"),
    whole: `${[intro, ...texts, outro].join("\n\n")}\n`,
  };
}

/** The index of the first entry to include, so that the newest entries fit into `room` bytes. */
function firstThatFits(texts: readonly string[], room: number): number {
  let [from, left] = [texts.length, room];
  for (; from > 0; from -= 1) {
    left -= Buffer.byteLength(texts[from - 1] ?? "") + 2;
    if (left < 0) break;
  }
  return from;
}

const cutTo = (text: string, length: number) => (text.length <= length ? text : `${text.slice(0, length)}…`);

function textOf(event: AgentEvent): string | null {
  const text = shownText(event);
  const { kind, tool } = event;
  if (kind === "toolCall") return `tool call ${tool?.name ?? "unknown"}: ${printJson(tool?.input ?? null)}`;
  if (text === null || text.trim() === "" || kind === "note") return null;
  if (kind === "toolResult") return `${tool?.isError === true ? "tool error" : "tool result"}: ${text}`;
  return kind === "spawn" || kind === "status" ? null : `${kind}: ${text}`;
}
