import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asText, type JsonObject } from "../../core/tools/json.ts";
import type { ToolCall, ToolResult } from "../kit/pi/message.ts";
import { SessionStream } from "../kit/pi/stream.ts";
import { key } from "./keys.ts";
import {
  addSpawnCall,
  childId,
  describeTask,
  type End,
  endByStatus,
  outcomesIn,
  spawnedById,
  spawnedByTask,
  tasksOf,
} from "./spawns.ts";

/** Whether Pi printed a line. Session files begin with the same header, so only lines that occur in no file count. */
export const isPrinted = (line: JsonObject): boolean | null =>
  line.type === "agent_start" && !("id" in line) ? true : null;

/** Reads `pi --mode json`, with the agents of extensions. */
export class PiStream extends SessionStream {
  /** Number of agents per call. */
  readonly #spawns: Map<string, number>;

  constructor(saved?: unknown) {
    super(key);
    this.#spawns = new Map(saved as readonly (readonly [string, number])[] | undefined);
  }

  save = () => [...this.#spawns];
  protected reported() {}

  #childOf(session: string, call: string, index: number): AgentKey {
    return key.agent(session, childId(call, index, this.#spawns.get(call) ?? 1));
  }

  protected started(out: FindingsOf, spawn: ToolCall, thread: AgentKey) {
    const { id } = spawn;
    const tasks = tasksOf(spawn);
    if (tasks === null) return;
    const session = partsOf(thread).thread;
    const call = key.call(session, id);
    this.#spawns.set(id, tasks.length);
    addSpawnCall(out, session, spawn, tasks);
    if (tasks.length === 1) return;
    for (const [i, task] of tasks.entries()) {
      const child = this.#childOf(session, id, i);
      out.add(describeTask(child, task));
      out.add(spawnedByTask(call, child, i, "protocol"));
    }
  }

  protected returned(out: FindingsOf, { call: id, isError, details }: ToolResult, session: string) {
    if (!this.#spawns.has(id)) return;
    const call = key.call(session, id);
    const agent = asNonBlank(details?.agentId);
    // Without a time, because the session's own file is more accurate.
    const ended = (of: AgentKey | { readonly call: typeof call }, end: End) =>
      out.addAt(null, { type: "lifecycle", of, source: "protocol", ...end, yields: true });
    if (agent !== null) {
      const child = key.agent(session, agent);
      out.add(spawnedById(call, child, agent, "protocol"));
      const end = endByStatus(asText(details?.status), asNonBlank(details?.error), null);
      return end === null ? undefined : ended(child, end);
    }
    const outcomes = outcomesIn(details);
    for (const { index, run, end } of outcomes) {
      const child = run === null ? this.#childOf(session, id, index) : key.agent(session, run.agent);
      out.add({
        type: "call-spawned",
        call,
        child,
        rule: "details.results",
        source: "protocol",
        says: "a result of its parent's call is its own",
      });
      if (end !== null) ended(child, end);
    }
    if (outcomes.length === 0 && isError) ended({ call }, { state: "errored", says: "its call failed", result: null });
  }
}
