import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import type { Context } from "../kit/pi/conversation.ts";
import { usedIn } from "../kit/pi/message.ts";
import { SessionFile } from "../kit/pi/session-file.ts";
import { textOf } from "../kit/text.ts";
import { OmpConversation } from "./conversation.ts";
import { key } from "./keys.ts";
import type { OmpFile } from "./locate.ts";
import { assignmentIn, matchName, matchPrompt } from "./tasks.ts";

/** Known types of entries that are not needed. */
const BOOKKEEPING = new Set([
  "service_tier_change",
  "ttsr_injection",
  "mode_change",
  "credential_pin",
  "reset_boundary",
  "custom",
]);

/** Written before every tool runs; the message before it has the call. */
const TOOL_STARTED = new TextEncoder().encode('{"type":"custom","customType":"tool_execution_start"');

/** A session, the file of an agent, or that of an advisor. */
export class Transcript extends SessionFile<OmpConversation> {
  readonly #of: OmpFile;

  constructor(of: OmpFile, file: SourceFile, saved?: unknown) {
    const agent = of.is === "agent" ? of.agent : null;
    super(key, of.session, file, (session, memory) => new OmpConversation(session, agent, memory), saved);
    this.#of = of;
  }

  /** A truncated record may have another one behind it. */
  protected override isSkipped(record: Uint8Array): boolean {
    return record.at(-1) === 0x7d && TOOL_STARTED.every((byte, i) => record[i] === byte);
  }

  protected get fallbackSession(): string {
    return this.#of.is === "session" ? this.#of.stem : "";
  }

  protected get owner(): AgentKey {
    switch (this.#of.is) {
      case "agent":
        return key.agent(this.#of.session, this.#of.agent);
      case "advisor":
        return key.internal(this.#of.session);
      default:
        return key.thread(this.session ?? this.#of.stem);
    }
  }

  protected introduce(out: FindingsOf) {
    const agent = this.speaker;
    if (this.#of.is === "advisor")
      out.addOfFile({
        type: "agent-described",
        agent,
        internal: { why: "a second model reviewed the turns", unlessSpawned: false },
      });
    if (this.#of.is !== "agent") return;
    const { session, parent } = this.#of;
    out.addOfFile({
      type: "parent-named",
      child: agent,
      parent: parent === null ? key.thread(session) : key.agent(session, parent),
      rule: "folder",
      source: "protocol",
      confidence: 1,
      says: "its file lies in the folder of its parent's",
    });
  }

  protected override read(out: FindingsOf, json: JsonObject, context: Context) {
    // The session's first line, which is overwritten when the title changes; a `title_change` follows.
    if (json.type === "title") return this.#titled(out, asTime(json.updatedAt), json);
    if (json.type === "session") this.#begin(out, json);
    if (json.type === "custom_message" && json.customType === "async-result")
      this.conversation.delivered(out.part({ keys: [context.record] }), textOf(json.content, "\n"));
    super.read(out, json, context);
  }

  protected other(out: FindingsOf, json: JsonObject, context: Context): boolean {
    switch (json.type) {
      case "session_init":
        this.#spawned(out, json);
        break;
      case "title_change":
        this.#titled(out, context.at, json);
        break;
      case "model_usage": {
        const used = usedIn(json.usage);
        if (used !== null)
          this.conversation.addInternalCall(out, used, context, asText(json.provider) ?? "", asText(json.model) ?? "");
        break;
      }
      default:
        if (json.customType === "session_exit") this.conversation.closed(out, asObject(json.data) ?? {});
        if (!BOOKKEEPING.has(asText(json.type) ?? "")) return false;
    }
    this.addActivity(out);
    return true;
  }

  protected prompted(out: FindingsOf, message: JsonObject) {
    const text = textOf(message.content, "\n");
    if (text.trim() === "" || this.#of.is === "advisor") return;
    // All prompts are stated, because the first may be copied from the original of a fork.
    out.add({ type: "agent-described", agent: this.speaker, prompt: assignmentIn(text) });
  }

  protected named(out: FindingsOf, name: string | null) {
    if (name !== null) this.#titled(out, null, { title: name, source: "user" });
  }

  #titled(out: FindingsOf, at: number | null, json: JsonObject) {
    const title = asNonBlank(json.title);
    if (title !== null && this.#of.is === "session")
      out.addAt(at, { type: "thread-titled", of: this.speaker, title, rank: json.source === "auto" ? 1 : 0 });
  }

  #begin(out: FindingsOf, json: JsonObject) {
    const of = this.#of;
    if (of.is === "session")
      return this.#titled(out, asTime(json.timestamp), { title: json.title, source: json.titleSource });
    if (of.is !== "agent") return;
    const [id, parent] = [asNonBlank(json.id), asNonBlank(json.parentSession)];
    // A fork copies the files of all agents; the header of a copy names a file of the original.
    if (parent !== null && !parent.includes(of.session)) {
      out.addOfFile({ type: "file-refused", agent: this.speaker });
      return;
    }
    // API requests of an agent name the session of its own.
    if (id !== null) out.addOfFile({ type: "agent-aliased", alias: key.thread(id), agent: this.speaker });
  }

  #spawned(out: FindingsOf, json: JsonObject) {
    if (this.#of.is !== "agent") return;
    const agent = this.speaker;
    const [agentType, task] = [asNonBlank(json.agent), asNonBlank(json.task)];
    const prompt = task === null ? null : assignmentIn(task);
    out.add({
      type: "agent-described",
      agent,
      ...(agentType === null ? {} : { agentType }),
      ...(prompt === null ? {} : { prompt }),
    });
    const caller = { session: this.#of.session, agent: this.#of.parent };
    const name = this.#of.parent === null ? this.#of.agent : this.#of.agent.slice(this.#of.parent.length + 1);
    // A name that was used before gets a number.
    const names = [...new Set([name, name.replace(/-\d+$/, "")])];
    const match = { type: "spawn-match", agent, source: "inferred", exclusive: false } as const;
    for (const one of names)
      out.add({ ...match, match: matchName(caller, one), rule: "name", says: "its name is that of the call" });
    if (prompt !== null)
      out.add({ ...match, match: matchPrompt(caller, prompt), rule: "prompt", says: "its task is that of the call" });
  }
}
