import { callKey, matchKey, recordKey, threadKey } from "../../core/ids.ts";

export const NAME = "opencode";

/** Every session is a thread of its own here; those with a parent stand below it once linked. */
export const session = (id: string) => threadKey(NAME, id);
/** Ids of calls are made by models, and unique only inside their session. */
export const call = (sessionId: string, id: string) => callKey(NAME, `${sessionId}/${id}`);
export const record = (id: string) => recordKey(NAME, id);
export const promptMatch = (sessionId: string, prompt: string) => matchKey(NAME, "prompt", `${sessionId}:${prompt.trim()}`);

/** `ses_`, then letters and digits. Old and foreign ones may look otherwise, so only what can never be an id is refused. */
export const isSessionId = (id: string) => /^ses_[A-Za-z0-9]{1,64}$/.test(id);
