import { callKey, matchKey, recordKey, threadKey } from "../../core/ids.ts";

/** Codex's own names, made into keys in one place. Every agent is a thread with a file of its own; who stands below whom is said in the files. */
export const NAME = "codex";
export const thread = (id: string) => threadKey(NAME, id.toLowerCase());
/** Ids of calls come from the model's service, or from gateways that count from one: they mean something in their own thread only. */
export const call = (threadId: string, id: string) => callKey(NAME, `${threadId}/${id}`);
/** A line of a rollout. The file may be moved or packed, but its lines stay what they are. */
export const line = (rollout: string, number: string) => recordKey(NAME, `${rollout}:${number}`);
/** The lines of one answer of the model, which do not name it. */
export const answer = (rollout: string, number: number) => recordKey(NAME, `${rollout}/answer/${number}`);
export const response = (id: string) => recordKey(NAME, id);
/** Up to 0.150 an answer is known by nothing but the thread's total after it. */
export const total = (threadId: string, tokens: readonly number[]) => recordKey(NAME, `${threadId}/total/${tokens.join("-")}`);
/** From 0.119 to 0.139 a parent knows its child by its path alone. */
/** Where a process died between making a child and writing that down, the child says who made it, and its task or its path by which call. */
export const promptMatch = (parent: string, prompt: string) => matchKey(NAME, "prompt", `${parent}:${prompt.trim()}`);
export const pathMatch = (parent: string, path: string) => matchKey(NAME, "path", `${parent}:${path}`);
