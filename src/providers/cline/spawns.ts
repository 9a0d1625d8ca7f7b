import type { AgentKey, CallKey } from "../../core/facts/ids.ts";
import type { LifecycleState } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asObject, type JsonObject, parseJson } from "../../core/tools/json.ts";
import * as key from "./keys.ts";

/** The agent whose messages are read. `agent` is null for the session itself. */
export interface Speaker {
  readonly session: string;
  readonly agent: string | null;
}

/** A call that spawns an agent or gives it a task, and has no result yet: the agent that its result is about. */
export type OpenSpawn = AgentKey | { readonly call: CallKey };

/** States what the call does to an agent; null if it does nothing to one. */
export function readSpawn(out: FindingsOf, by: Speaker, id: string, tool: string, input: JsonObject): OpenSpawn | null {
  const call = key.call(by.session, id);
  const [task, mate] = [asNonBlank(input.task), asNonBlank(input.agentId)];
  const spawned = { type: "spawn-called", call, tool, makes: "one", agentType: null } as const;
  if (tool === "spawn_agent" && task !== null) {
    const offers = [key.task(by.session, by.agent, task)];
    out.add({ ...spawned, prompt: task, description: null, name: null, offers });
    return { call };
  }
  if (tool === "team_spawn_teammate" && mate !== null) {
    const offers = [key.mate(by.session, mate)];
    out.add({ ...spawned, prompt: null, description: asNonBlank(input.rolePrompt), name: mate, offers });
    return { call };
  }
  if (tool !== "team_run_task" || mate === null) return null;
  const agent = key.agent(by.session, mate);
  const says = `its parent gave it a task with call ${id}`;
  out.add({ type: "lifecycle", of: agent, state: "revived", source: "parent_rollout", says, result: null });
  out.add({ type: "message-sent", to: agent });
  return agent;
}

/** The result of such a call. The agent's own messages take precedence. */
export function readSpawnResult(out: FindingsOf, of: OpenSpawn, text: string, isError: boolean) {
  const json = asObject(parseJson(text)?.value);
  // An error instead of a result: the tool did not start an agent.
  if (isError && json === null) {
    if (typeof of !== "string") out.add({ type: "call-refused", call: of.call, says: text });
    return;
  }
  // A teammate that has no task yet, or whose task is in the background.
  if (json?.status === "spawned" || json?.status === "queued" || asNonBlank(json?.runId) !== null) return;
  const reason = asNonBlank(json?.finishReason);
  const state = stateOf(reason, isError);
  const why = state === "errored" ? (asNonBlank(json?.text)?.split("\n")[0] ?? null) : null;
  out.add({
    type: "lifecycle",
    of,
    state,
    source: "parent_rollout",
    says: `its call returned ${reason ?? (isError ? "an error" : "a result")}${why === null ? "" : `: ${why}`}`,
    result: state === "completed" ? asNonBlank(json?.text) : null,
    yields: true,
  });
}

function stateOf(reason: string | null, isError: boolean): LifecycleState {
  if (reason === "aborted") return "shutdown";
  return isError || reason === "error" || reason === "mistake_limit" ? "errored" : "completed";
}
