import type { LifecycleState } from "../../core/facts/observation.ts";
import { asNonBlank, asObject, asText, parseJson } from "../../core/tools/json.ts";

export interface AgentState {
  readonly state: LifecycleState;
  readonly result: string | null;
}

/**
 * Parses an `AgentStatus`: `"running"`, `{"completed": "…"}` and so on. Null for states that are not an end:
 * `pending_init`, `running`, `not_found`.
 */
export function stateIn(value: unknown): AgentState | null {
  if (value === "shutdown" || value === "interrupted") return { state: "shutdown", result: null };
  if (value === "completed") return { state: "completed", result: null };
  const status = asObject(value);
  if (status === null) return null;
  if ("completed" in status) return { state: "completed", result: asNonBlank(status.completed) };
  return "errored" in status ? { state: "errored", result: asNonBlank(status.errored) } : null;
}

/** A readable error: services put JSON into the message. */
export function errorText(error: unknown): string {
  const text = typeof error === "string" ? error : (asNonBlank(asObject(error)?.message) ?? "no reason is given");
  const message = /"message"\s*:\s*("(?:[^"\\]|\\.)+")/.exec(text)?.[1];
  return (message === undefined ? null : asText(parseJson(message)?.value)) ?? text;
}
