import { type AgentKey, callKey, matchKey, recordKey, threadKey } from "../../core/facts/ids.ts";
import { NAME } from "./manifest.ts";

/** Builds keys from Codex's ids. Every agent is a thread with its own file; the files name the parents. */
export function thread(id: string): AgentKey {
  // Nearly all lines are of the same thread as the line before, and equal keys are compared faster if they are the same.
  if (id !== lastId) [lastId, lastThread] = [id, threadKey(NAME, id.toLowerCase())];
  return lastThread;
}
let [lastId, lastThread] = ["", threadKey(NAME, "")];
/** Call ids are assigned by the model's service or by gateways that count from one: unique only in their thread. */
export const call = (threadId: string, id: string) => callKey(NAME, `${threadId}/${id}`);
/** A line of a rollout. The file may be moved or packed; its lines do not change. */
export const line = (rollout: string, number: string) => recordKey(NAME, `${rollout}:${number}`);
/** The lines of one model response, which do not name it. */
export const responseLines = (rollout: string, number: number) => recordKey(NAME, `${rollout}/answer/${number}`);
export const response = (id: string) => recordKey(NAME, id);
/** Up to 0.150 a response is identified only by the thread's total after it. */
export const total = (threadId: string, tokens: readonly number[]) =>
  recordKey(NAME, `${threadId}/total/${tokens.join("-")}`);
/**
 * From 0.119 to 0.139 a parent knows its child only by path. If a process died between spawning a child and recording
 * it, the child's task or path is matched to the call.
 */
export const promptMatch = (parent: string, prompt: string) => matchKey(NAME, "prompt", `${parent}:${prompt.trim()}`);
export const pathMatch = (parent: string, path: string) => matchKey(NAME, "path", `${parent}:${path}`);
