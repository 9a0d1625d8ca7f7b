import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { type Context, Conversation } from "../kit/pi/conversation.ts";
import type { Message, ToolCall, ToolResult } from "../kit/pi/message.ts";
import { SessionFile } from "../kit/pi/session-file.ts";
import { statePlan } from "../kit/plan.ts";
import { textOf } from "../kit/text.ts";
import { idOf, key } from "./keys.ts";
import { readNotices, readSpawn, readSpawnResult } from "./spawns.ts";

interface Memory {
  readonly spawns: readonly string[];
  readonly tasks: readonly (readonly [string, AgentKey])[];
}

class LettaConversation extends Conversation {
  /** Spawn calls without a result. */
  readonly #spawns: Set<string>;
  /** The agents of its background tasks. */
  readonly tasks: Map<string, AgentKey>;

  constructor(session: string, saved?: unknown) {
    super(key, session);
    const memory = saved as Memory | undefined;
    this.#spawns = new Set(memory?.spawns);
    this.tasks = new Map(memory?.tasks);
  }

  save = (): Memory => ({ spawns: [...this.#spawns], tasks: [...this.tasks] });
  protected isOfAgents = () => false;

  protected called(out: FindingsOf, { id, name, args }: ToolCall) {
    statePlan(out, args);
    if (readSpawn(out, this.session, id, name, args)) this.#spawns.add(id);
  }

  protected returned(out: FindingsOf, message: Message, { call }: ToolResult) {
    if (!this.#spawns.delete(call)) return;
    const launched = readSpawnResult(out, key.call(this.session, call), message.text);
    if (launched !== null) this.tasks.set(launched.task, launched.agent);
  }
}

const REMINDER = /<system-reminder>([\s\S]*?)<\/system-reminder>\s*/g;
/** Whether a block has a reminder, or a text although it is not a text block. */
const needsRewriting = (value: unknown): boolean => {
  const block = asObject(value);
  const text = asText(block?.text);
  return text !== null && (block?.type !== "text" || text.trim() === "" || text.includes("<system-reminder>"));
};
const SENDER = /This message is from agent ([\w.-]+), conversation ([\w.-]+)\./;
const FORKED = /^\s*You have been forked from the primary conversational thread\b/;
const VERSION = /\*\*Letta Code version\*\*: (\S+)/;

/** `messages.jsonl` of a conversation: Pi's session entries. */
export class Transcript extends SessionFile<LettaConversation> {
  readonly #id: string;

  constructor(id: string, file: SourceFile, saved?: unknown) {
    super(key, id, file, (session, memory) => new LettaConversation(session, memory), saved);
    this.#id = id;
  }

  protected get fallbackSession(): string {
    return this.#id;
  }

  protected get owner(): AgentKey {
    return key.thread(this.#id);
  }

  protected introduce() {}
  protected named() {}
  protected other = () => false;

  /** A fork copies messages with their times, and gives them new ids. */
  protected override idIn(json: JsonObject): string | null {
    const message = asObject(json.message);
    const id = asNonBlank(message?.responseId) ?? asNonBlank(message?.toolCallId) ?? asNonBlank(message?.otid);
    return id === null ? super.idIn(json) : `${asText(message?.role) ?? ""} ${id}`;
  }

  /** Reminders of the product precede the text of the user or of the parent. */
  protected override read(out: FindingsOf, json: JsonObject, context: Context) {
    // The header of a fork is older than its own messages. Messages with earlier times are copies.
    if (json.type === "session") this.addActivity(out);
    const message = asObject(json.message);
    if (message?.role !== "user" || !Array.isArray(message.content)) return super.read(out, json, context);
    if (!message.content.some(needsRewriting)) return super.read(out, json, context);
    const part = out.part({ keys: [context.record] });
    const content = message.content.flatMap((block: unknown) => {
      const text = asText(asObject(block)?.text);
      if (text === null) return [block];
      for (const [, reminder = ""] of text.matchAll(REMINDER)) this.#remind(part, reminder);
      const rest = text.replaceAll(REMINDER, "");
      return rest.trim() === "" ? [] : [{ type: "text", text: rest }];
    });
    super.read(out, { ...json, message: { ...message, content } }, context);
  }

  #remind(out: FindingsOf, text: string) {
    const agent = this.speaker;
    const version = VERSION.exec(text)?.[1];
    if (version !== undefined) out.add({ type: "agent-described", agent, productVersion: version });
    if (FORKED.test(text)) out.add({ type: "agent-described", agent, kind: "fork" });
    const [, sender, conversation] = SENDER.exec(text) ?? [];
    if (sender === undefined || conversation === undefined) return;
    const parent = key.thread(idOf(sender, conversation));
    if (parent === agent) return;
    out.add({ type: "agent-described", agent, vouched: true });
    out.add({
      type: "parent-named",
      child: agent,
      parent,
      rule: "system-reminder",
      source: "child_rollout",
      confidence: 1,
      says: `its first message is from agent ${sender}, conversation ${conversation}`,
    });
  }

  protected prompted(out: FindingsOf, message: JsonObject) {
    const text = textOf(message.content, "\n");
    if (text.trim() === "" || readNotices(out, text, this.conversation.tasks)) return;
    // All prompts are stated, because the first may be copied from the original of a fork.
    out.add({ type: "agent-described", agent: this.speaker, prompt: text });
  }
}
