import type { AgentKey } from "../../core/facts/ids.ts";
import { FindingsOf } from "../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asNumber, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { readJsonLine } from "../kit/lines.ts";
import { type Context, Conversation } from "./conversation.ts";
import * as key from "./keys.ts";
import type { PiFile } from "./locate.ts";
import { usedIn } from "./message.ts";
import { endByStatus } from "./spawns.ts";

const RECORD_START = /\{"(?:type|isSidechain)":/g;
/** Known types that are not needed. */
const BOOKKEEPING = new Set([
  "model_change",
  "thinking_level_change",
  "context_edit",
  "label",
  "session_info",
  "custom",
  "usage",
]);

interface Memory {
  readonly session: string | null;
  readonly provider: string;
  readonly model: string;
  readonly introduced: boolean;
  readonly conversation: unknown;
}

/** A session, or the file of an agent of an extension. */
export class Transcript implements Parser {
  readonly #of: PiFile;
  readonly #file: SourceFile;
  readonly #conversation: Conversation;
  #session: string | null;
  /** The last provider and model used; summaries state only their usage. */
  #provider: string;
  #model: string;
  #introduced: boolean;
  #last: { readonly line: number; readonly drafts: readonly EventDraft[] } | null = null;

  constructor(of: PiFile, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    this.#of = of;
    this.#file = file;
    this.#session = memory?.session ?? of.session;
    this.#provider = memory?.provider ?? "";
    this.#model = memory?.model ?? "";
    this.#introduced = memory?.introduced ?? false;
    this.#conversation = new Conversation(this.#session ?? "", file, memory?.conversation);
  }

  save(): Memory {
    return {
      session: this.#session,
      provider: this.#provider,
      model: this.#model,
      introduced: this.#introduced,
      conversation: this.#conversation.save(),
    };
  }

  push(record: Uint8Array, line: number): Findings {
    this.#conversation.drafts = [];
    const { value, isRead, problems } = readJsonLine(record, this.#file.path, line, RECORD_START);
    const json = asObject(value);
    // Only a file with a custom name needs its head to name the session.
    if (this.#session === null && isRead)
      this.#session =
        (json?.type === "session" ? asNonBlank(json.id) : null) ?? (this.#of.is === "session" ? this.#of.stem : "");
    this.#conversation.session = this.#session ?? "";
    const at = asTime(json?.timestamp);
    const out = new FindingsOf({ path: this.#file.path, line, at, speaker: this.#speaker, keys: [] });
    out.problems.push(...problems);
    if (json !== null)
      this.#read(out, json, { agent: this.#speaker, at, record: this.#recordOf(json, line), order: line, depth: 0 });
    else if (isRead) out.problem("record-malformed", "not an object");
    this.#last = { line, drafts: this.#conversation.drafts };
    return out;
  }

  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (this.#last?.line !== line) this.push(record, line);
    return this.#last?.drafts ?? [];
  }

  get #speaker(): AgentKey {
    return this.#of.is === "session"
      ? key.thread(this.#session ?? this.#of.stem)
      : key.agent(this.#of.session, this.#of.agent);
  }

  #recordOf(json: JsonObject, line: number) {
    const id = asNonBlank(json.id);
    return id === null ? key.record(`${this.#speaker}:${line}`, "") : key.record(id, asText(json.timestamp) ?? "");
  }

  #read(out: FindingsOf, json: JsonObject, context: Context) {
    this.#introduce(out);
    if (this.#of.is === "task") return this.#readTask(out, json, context);
    const part = out.part({ keys: [context.record] });
    const summary = (text: string) => {
      const used = usedIn(json.usage);
      if (used !== null) this.#conversation.onOwnBehalf(out, used, context, this.#provider, this.#model);
      this.#sign(part);
      this.#draft("compaction", text, context);
    };
    switch (json.type) {
      case "session":
        return this.#begin(out, json);
      case "message": {
        const message = asObject(json.message);
        if (message === null) return out.problem("record-malformed", "an entry without its message");
        if (message.role === "user") this.#asked(part, message);
        return this.#conversation.message(out, message, context);
      }
      case "compaction":
        return summary(asNonBlank(json.summary) ?? "Conversation compacted");
      case "branch_summary":
        return summary(asNonBlank(json.summary) ?? "A branch was abandoned");
      case "usage": {
        const used = usedIn(json.usage);
        if (used !== null)
          this.#conversation.onOwnBehalf(out, used, context, asText(json.provider) ?? "", asText(json.model) ?? "");
        return;
      }
      case "model_change":
        this.#provider = asText(json.provider) ?? "";
        this.#model = asText(json.modelId) ?? "";
        return this.#sign(part);
      case "session_info":
        return this.#named(part, asNonBlank(json.name));
      case "custom":
        if (json.customType === "subagents:record") this.#readAgentRecord(part, asObject(json.data) ?? {});
        return this.#sign(part);
      case "custom_message":
        this.#sign(part);
        return this.#draft("note", textIn(json.content), context);
      default:
        if (!BOOKKEEPING.has(asText(json.type) ?? ""))
          out.problem(
            asNonBlank(json.type) === null ? "record-malformed" : "record-unknown",
            asText(json.type) ?? "no type",
          );
    }
  }

  /** Shows activity without changing the agent's state. */
  #sign(out: FindingsOf) {
    out.add({
      type: "record",
      role: "other",
      state: null,
      certain: true,
      calls: [],
      results: [],
      text: null,
      message: false,
    });
  }

  #draft(kind: EventDraft["kind"], text: string, { agent, at, record }: Context) {
    if (text.trim() !== "")
      this.#conversation.drafts.push({ speaker: agent, keys: [record], at, kind, text, tool: null, response: null });
  }

  #introduce(out: FindingsOf) {
    if (this.#introduced) return;
    this.#introduced = true;
    const agent = this.#speaker;
    const { path, bytes, bornMs = null } = this.#file;
    out.addOfFile({ type: "agent-described", agent, file: { path, bytes, bornMs } });
    if (this.#of.is === "session") return;
    const above = this.#of.is === "run" ? this.#of.parent : null;
    const parent = above === null ? key.thread(this.#of.session) : key.agent(this.#of.session, above);
    const says =
      this.#of.is === "run"
        ? "its file lies in the folder of its parent's"
        : `its file lies among the tasks of session ${this.#of.session}`;
    const sure =
      this.#of.is === "run"
        ? ({ source: "protocol", confidence: 1 } as const)
        : ({ source: "inferred", confidence: 0.5 } as const);
    out.addOfFile({ type: "parent-named", child: agent, parent, rule: "folder", says, ...sure });
  }

  #begin(out: FindingsOf, json: JsonObject) {
    const cwd = asNonBlank(json.cwd);
    if (cwd !== null) out.addOfFile({ type: "agent-described", agent: this.#speaker, cwd });
  }

  /** A session name set by the user; for agents it contains the type. */
  #named(out: FindingsOf, name: string | null) {
    this.#sign(out);
    if (name === null) return;
    if (this.#of.is === "session") return out.add({ type: "thread-titled", of: this.#speaker, title: name, rank: 0 });
    const run = this.#of.is === "run" ? this.#of.run : null;
    const end = run === null ? -1 : name.indexOf(`-${run}`);
    if (end > 0)
      out.add({
        type: "agent-described",
        agent: this.#speaker,
        agentType: name.slice(0, end).replace(/^subagent-/, ""),
      });
  }

  #asked(out: FindingsOf, message: JsonObject) {
    const text = textIn(message.content);
    if (text.trim() === "") return;
    const agent = this.#speaker;
    const prompt = this.#of.is === "run" ? text.replace(/^Task: /, "") : text;
    // All prompts are stated, because the first may be copied from the original of a fork.
    out.add({ type: "agent-described", agent, prompt });
    if (this.#of.is === "session" || !this.#conversation.once("prompt")) return;
    const match = key.promptMatch(this.#of.session, prompt);
    out.add({
      type: "spawn-match",
      agent,
      match,
      rule: "prompt",
      source: "inferred",
      exclusive: true,
      says: "its first prompt equals the prompt of the call",
    });
  }

  /** @tintinweb/pi-subagents records the end of an agent in its parent's session. */
  #readAgentRecord(out: FindingsOf, data: JsonObject) {
    const id = asNonBlank(data.id);
    if (id === null) return out.problem("record-malformed", "a record of an agent without its id");
    const agent = key.agent(this.#session ?? "", id);
    const [agentType, description] = [asNonBlank(data.type), asNonBlank(data.description)];
    out.add({
      type: "agent-described",
      agent,
      ...(agentType === null ? {} : { agentType }),
      ...(description === null ? {} : { description }),
    });
    const says = `its parent's session holds a record of agent ${id}`;
    out.add({
      type: "parent-named",
      child: agent,
      parent: this.#speaker,
      rule: "subagents:record",
      source: "parent_rollout",
      confidence: 1,
      says,
    });
    const end = endByStatus(asText(data.status), asNonBlank(data.error), asNonBlank(data.result));
    if (end !== null)
      out
        .part({ at: asNumber(data.completedAt) === null ? null : asTime(data.completedAt) })
        .add({ type: "lifecycle", of: agent, source: "parent_rollout", ...end });
  }

  /** The agent's own file: the first line is its prompt, which the second repeats. */
  #readTask(out: FindingsOf, json: JsonObject, context: Context) {
    const message = asObject(json.message);
    if (message === null || json.isSidechain !== true)
      return out.problem("record-malformed", "it does not say whose it is");
    const cwd = asNonBlank(json.cwd);
    if (cwd !== null && this.#conversation.once(`cwd ${cwd}`))
      out.addOfFile({ type: "agent-described", agent: this.#speaker, cwd });
    if (message.role === "user") this.#asked(out, message);
    if (typeof message.content === "string" && message.timestamp === undefined) return this.#sign(out);
    // Lines are written in batches; the times of messages are more accurate.
    this.#conversation.message(out, message, { ...context, at: asTime(message.timestamp) ?? context.at });
  }
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  const blocks = Array.isArray(content) ? content : [];
  return blocks.map((block) => asText(asObject(block)?.text) ?? "").join("\n");
}
