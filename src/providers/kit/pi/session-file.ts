import { type AgentKey, partsOf } from "../../../core/facts/ids.ts";
import { FindingsOf } from "../../../core/ports/findings.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime, type JsonObject } from "../../../core/tools/json.ts";
import type { EventDraft } from "../../../core/views/event.ts";
import { ShellCalls, type ShellMemory } from "../launch/shell-calls.ts";
import { readJsonLine } from "../lines.ts";
import { RECORD } from "../record.ts";
import { textOf } from "../text.ts";
import type { Context, Conversation } from "./conversation.ts";
import type { Keys } from "./keys.ts";
import { usedIn } from "./message.ts";

const RECORD_START = /\{"(?:type|isSidechain)":/g;
/** Known types that are not needed. */
const BOOKKEEPING = new Set(["thinking_level_change", "context_edit", "label"]);

interface Memory {
  readonly session: string | null;
  readonly provider: string;
  readonly model: string;
  readonly introduced: boolean;
  readonly conversation: unknown;
  readonly cwd: string | null;
  readonly shells: ShellMemory;
}

/**
 * A file of entries: the format of Pi's sessions, which is also that of its forks. Entries that only one product writes
 * are read in its folder.
 */
export abstract class SessionFile<C extends Conversation> implements Parser {
  protected readonly key: Keys;
  protected readonly file: SourceFile;
  protected readonly conversation: C;
  /** The session that the file belongs to; null until its header names it. */
  protected session: string | null;
  /** The last provider and model used; summaries state only their usage. */
  #provider: string;
  #model: string;
  #introduced: boolean;
  #speaker: AgentKey | null = null;
  /** The line of the current record. */
  #line = -1;

  /** `session` is null if only the header names it. */
  constructor(
    key: Keys,
    session: string | null,
    file: SourceFile,
    open: (session: string, saved: unknown) => C,
    saved?: unknown,
  ) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    this.key = key;
    this.file = file;
    this.session = memory?.session ?? session;
    this.#provider = memory?.provider ?? "";
    this.#model = memory?.model ?? "";
    this.#introduced = memory?.introduced ?? false;
    this.conversation = open(this.session ?? "", memory?.conversation);
    this.conversation.cwd = memory?.cwd ?? null;
    this.conversation.shells = new ShellCalls(memory?.shells);
  }

  /** The agent whose file this is, after the session is known. */
  protected abstract get owner(): AgentKey;
  /** The id of the session if the file has no header. */
  protected abstract get fallbackSession(): string;
  /** States what follows from the path of the file. Called once. */
  protected abstract introduce(out: FindingsOf): void;
  /** A user message. */
  protected abstract prompted(out: FindingsOf, message: JsonObject, context: Context): void;
  /** A name of the session; null if it was removed. */
  protected abstract named(out: FindingsOf, name: string | null): void;
  /** An entry with product-specific content; false if it is unknown. */
  protected abstract other(out: FindingsOf, json: JsonObject, context: Context): boolean;

  save(): Memory {
    return {
      session: this.session,
      provider: this.#provider,
      model: this.#model,
      introduced: this.#introduced,
      conversation: this.conversation.save(),
      cwd: this.conversation.cwd,
      shells: this.conversation.shells.save(),
    };
  }

  /** Whether an entry is not needed, by its first bytes. */
  protected isSkipped(_: Uint8Array): boolean {
    return false;
  }

  protected get speaker(): AgentKey {
    // Made once, because lookups of the same string object are faster.
    if (this.session === null) return this.owner;
    this.#speaker ??= this.owner;
    return this.#speaker;
  }

  push(record: Uint8Array, line: number): Findings {
    this.#line = line;
    this.conversation.begin(this.session ?? "");
    if (this.isSkipped(record)) return NOTHING;
    const { value, isRead, problems } = readJsonLine(record, this.file.path, line, RECORD_START);
    const json = asObject(value);
    // Only a file with a custom name needs its header to name the session.
    if (this.session === null && isRead) {
      this.session = (json?.type === "session" ? asNonBlank(json.id) : null) ?? this.fallbackSession;
      this.conversation.session = this.session;
    }
    const at = asTime(json?.timestamp);
    const out = new FindingsOf({ path: this.file.path, line, at, speaker: this.speaker, keys: [] });
    out.addProblems(problems);
    if (json !== null) this.#entry(out, json, line, at);
    else if (isRead) out.problem("record-malformed", "not an object");
    return out;
  }

  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (this.#line !== line) this.push(record, line);
    return this.conversation.events();
  }

  #entry(out: FindingsOf, json: JsonObject, line: number, at: number | null) {
    if (!this.#introduced) {
      this.#introduced = true;
      const { path, bytes, bornMs = null } = this.file;
      out.addOfFile({ type: "agent-described", agent: this.speaker, file: { path, bytes, bornMs } });
      this.introduce(out);
    }
    const id = this.idIn(json);
    const record =
      id === null ? this.key.record(`${this.speaker}:${line}`, "") : this.key.record(id, asText(json.timestamp) ?? "");
    this.read(out, json, { agent: this.speaker, at, record, order: line, depth: 0 });
  }

  /** The id of an entry, which copies of it have, too; null if it has none. */
  protected idIn(json: JsonObject): string | null {
    return asNonBlank(json.id);
  }

  protected read(out: FindingsOf, json: JsonObject, context: Context) {
    if (json.type === "message") return this.#readMessage(out, json, context);
    const part = out.part({ keys: [context.record] });
    const summary = (text: string) => {
      const used = usedIn(json.usage);
      if (used !== null) this.conversation.addInternalCall(out, used, context, this.#provider, this.#model);
      this.addActivity(part);
      this.addText("compaction", text, context);
    };
    switch (json.type) {
      case "session": {
        const cwd = asNonBlank(json.cwd);
        if (cwd === null) return;
        this.conversation.cwd = cwd;
        out.addOfFile({ type: "agent-described", agent: this.speaker, cwd });
        if (partsOf(this.speaker).agent === null) out.add({ type: "thread-began", thread: this.speaker, cwd });
        return;
      }
      case "compaction":
        return summary(asNonBlank(json.summary) ?? "Conversation compacted");
      case "branch_summary":
        return summary(asNonBlank(json.summary) ?? "A branch was abandoned");
      case "usage": {
        const used = usedIn(json.usage);
        if (used !== null)
          this.conversation.addInternalCall(out, used, context, asText(json.provider) ?? "", asText(json.model) ?? "");
        return;
      }
      case "model_change": {
        const [, provider, model] = /^([^/]*)\/(.*)$/s.exec(asText(json.model) ?? "") ?? [];
        this.#provider = asText(json.provider) ?? provider ?? "";
        this.#model = asText(json.modelId) ?? model ?? "";
        return this.addActivity(part);
      }
      case "session_info":
        this.addActivity(part);
        return this.named(part, asNonBlank(json.name));
      case "custom_message":
        this.addActivity(part);
        return this.addText("note", textOf(json.content, "\n"), context);
      default:
        if (!this.other(part, json, context) && !BOOKKEEPING.has(asText(json.type) ?? ""))
          out.problem(
            asNonBlank(json.type) === null ? "record-malformed" : "record-unknown",
            asText(json.type) ?? "no type",
          );
    }
  }

  #readMessage(out: FindingsOf, json: JsonObject, context: Context) {
    const message = asObject(json.message);
    if (message === null) return out.problem("record-malformed", "an entry without its message");
    if (message.role === "user") this.prompted(out.part({ keys: [context.record] }), message, context);
    this.conversation.message(out, message, context);
  }

  /** Adds a record that shows activity and does not change the agent's state. */
  protected addActivity(out: FindingsOf) {
    out.add(RECORD);
  }

  protected addText(kind: EventDraft["kind"], text: string, { agent, at, record }: Context) {
    if (text.trim() !== "")
      this.conversation.addEvent({ speaker: agent, keys: [record], at, kind, text, tool: null, response: null });
  }
}
