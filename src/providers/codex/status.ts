import { asObject, asWords } from "../../core/json.ts";
import type { LifecycleState } from "../../core/observation.ts";

export interface AgentState {
  readonly state: LifecycleState;
  readonly result: string | null;
}

/** An `AgentStatus`: `"running"`, `{"completed": "…"}` and so on. Null for what ends nothing: `pending_init`, `running`, `not_found`. */
export function stateIn(value: unknown): AgentState | null {
  if (value === "shutdown" || value === "interrupted") return { state: "shutdown", result: null };
  if (value === "completed") return { state: "completed", result: null };
  const told = asObject(value);
  if (told === null) return null;
  if ("completed" in told) return { state: "completed", result: asWords(told.completed) };
  return "errored" in told ? { state: "errored", result: asWords(told.errored) } : null;
}

/** An error as people want to read it: services put JSON into the message. */
export function errorWords(error: unknown): string {
  const text = typeof error === "string" ? error : (asWords(asObject(error)?.message) ?? "no reason is given");
  return /"message"\s*:\s*"((?:[^"\\]|\\.)+)"/.exec(text)?.[1]?.replace(/\\(.)/g, "$1") ?? text;
}
