import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asNumber, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import type { Context } from "../kit/pi/conversation.ts";
import { SessionFile } from "../kit/pi/session-file.ts";
import { textOf } from "../kit/text.ts";
import { PiConversation } from "./conversation.ts";
import { key } from "./keys.ts";
import type { PiFile } from "./locate.ts";
import { endByStatus } from "./spawns.ts";

/** A session, or the file of an agent of an extension. */
export class Transcript extends SessionFile<PiConversation> {
  readonly #of: PiFile;

  constructor(of: PiFile, file: SourceFile, saved?: unknown) {
    super(key, of.session, file, (session, memory) => new PiConversation(session, file, memory), saved);
    this.#of = of;
  }

  protected get fallbackSession(): string {
    return this.#of.is === "session" ? this.#of.stem : "";
  }

  protected get owner(): AgentKey {
    return this.#of.is === "session"
      ? key.thread(this.session ?? this.#of.stem)
      : key.agent(this.#of.session, this.#of.agent);
  }

  protected override read(out: FindingsOf, json: JsonObject, context: Context) {
    if (this.#of.is === "task") this.#readTask(out, json, context);
    else super.read(out, json, context);
  }

  protected other(out: FindingsOf, json: JsonObject): boolean {
    if (json.type !== "custom") return false;
    if (json.customType === "subagents:record") this.#readAgentRecord(out, asObject(json.data) ?? {});
    this.addActivity(out);
    return true;
  }

  protected introduce(out: FindingsOf) {
    if (this.#of.is === "session") return;
    const agent = this.speaker;
    const above = this.#of.is === "run" ? this.#of.parent : null;
    const parent = above === null ? key.thread(this.#of.session) : key.agent(this.#of.session, above);
    const says =
      this.#of.is === "run"
        ? "its file lies in the folder of its parent's"
        : `its file lies among the tasks of session ${this.#of.session}`;
    const certainty =
      this.#of.is === "run"
        ? ({ source: "protocol", confidence: 1 } as const)
        : ({ source: "inferred", confidence: 0.5 } as const);
    out.addOfFile({ type: "parent-named", child: agent, parent, rule: "folder", says, ...certainty });
  }

  /** A session name set by the user; for agents it contains the type. */
  protected named(out: FindingsOf, name: string | null) {
    if (name === null) return;
    if (this.#of.is === "session") return out.add({ type: "thread-titled", of: this.speaker, title: name, rank: 0 });
    const run = this.#of.is === "run" ? this.#of.run : null;
    const end = run === null ? -1 : name.indexOf(`-${run}`);
    if (end > 0)
      out.add({
        type: "agent-described",
        agent: this.speaker,
        agentType: name.slice(0, end).replace(/^subagent-/, ""),
      });
  }

  protected prompted(out: FindingsOf, message: JsonObject) {
    const text = textOf(message.content, "\n");
    if (text.trim() === "") return;
    const agent = this.speaker;
    const prompt = this.#of.is === "run" ? text.replace(/^Task: /, "") : text;
    // All prompts are stated, because the first may be copied from the original of a fork.
    out.add({ type: "agent-described", agent, prompt });
    if (this.#of.is === "session" || !this.conversation.once("prompt")) return;
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
    const agent = key.agent(this.session ?? "", id);
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
      parent: this.speaker,
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
      return out.problem("record-malformed", "it does not name its agent");
    const cwd = asNonBlank(json.cwd);
    if (cwd !== null && this.conversation.once(`cwd ${cwd}`))
      out.addOfFile({ type: "agent-described", agent: this.speaker, cwd });
    if (message.role === "user") this.prompted(out, message);
    if (typeof message.content === "string" && message.timestamp === undefined) return this.addActivity(out);
    // Lines are written in batches; the times of messages are more accurate.
    this.conversation.message(out, message, { ...context, at: asTime(message.timestamp) ?? context.at });
  }
}
