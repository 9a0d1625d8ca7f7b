import { ANONYMOUS, agentKey, type CallKey, callKey, matchKey, type RecordKey, recordKey, threadKey } from "../../core/ids.ts";

/** Pi's own names, made into keys in one place. */
export const NAME = "pi";
export const thread = (session: string) => threadKey(NAME, session);
export const agent = (session: string, id: string) => agentKey(NAME, session, id);
/** Whoever makes the calls that no agent asked for. */
export const itself = (session: string) => agentKey(NAME, session, `${ANONYMOUS}itself`);
/** Ids of calls hold whatever the vendors' APIs put there. */
export const call = (session: string, id: string): CallKey => callKey(NAME, `${session}/${id.replaceAll("/", "_")}`);
/** Forks copy entries with their ids and times. The ids alone are short, and come back in other sessions. */
export const record = (id: string, written: string): RecordKey => recordKey(NAME, `${id}@${written}`);
/** A part of a record that is somebody else's. */
export const partOf = (record: RecordKey, part: string) => `${record}/${part}` as RecordKey;
export const response = (provider: string, id: string): RecordKey => recordKey(NAME, `response/${provider}/${id}`);
/** By the id alone, which is all that a proxy knows of it. */
export const answer = (id: string): RecordKey => recordKey(NAME, `answer/${id}`);
/** Requests of an agent name its own session and no other: only the prompt is in common with the call. */
export const wirePromptMatch = (prompt: string) => matchKey(NAME, "wire-prompt", prompt.trim());
export const promptMatch = (session: string, prompt: string) => matchKey(NAME, "prompt", `${session}:${prompt.trim()}`);
