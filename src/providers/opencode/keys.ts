import { callKey, matchKey, recordKey, threadKey } from "../../core/facts/ids.ts";

export const NAME = "opencode";

/** Every session is a thread here; those with a parent become its children when linked. */
export const session = (id: string) => threadKey(NAME, id);
/** Call ids are made by models and unique only in their session. */
export const call = (sessionId: string, id: string) => callKey(NAME, `${sessionId}/${id}`);
export const record = (id: string) => recordKey(NAME, id);
export const promptMatch = (sessionId: string, prompt: string) =>
  matchKey(NAME, "prompt", `${sessionId}:${prompt.trim()}`);

/** `ses_`, then letters and digits. Old and foreign ids may differ, so only impossible ones are refused. */
export const isSessionId = (id: string) => /^ses_[A-Za-z0-9]{1,64}$/.test(id);
