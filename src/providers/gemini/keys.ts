import { ANONYMOUS, agentKey, type CallKey, callKey, matchKey, type RecordKey, recordKey, threadKey } from "../../core/ids.ts";

/** Gemini CLI's own names, made into keys in one place. */
export const NAME = "gemini";
export const thread = (session: string) => threadKey(NAME, session);
export const agent = (session: string, id: string) => agentKey(NAME, session, id);
/** Up to 0.36 agents have no id: they are known by their first message. */
export const namelessAgent = (session: string, firstMessage: string) => agentKey(NAME, session, ANONYMOUS + firstMessage);
/** The beginning of a session's id is in the name of its file, so that it is known even where the head of the file is not. */
const SHORT = 8;
const scoped = (session: string, id: string) => `${session.slice(0, SHORT)}/${id}`;
export const call = (session: string, id: string): CallKey => callKey(NAME, scoped(session, id));
/** Ids of messages repeat: the one that sets up the context has the same in every session. */
export const record = (session: string, id: string): RecordKey => recordKey(NAME, scoped(session, id));
export const promptMatch = (session: string, prompt: string) => matchKey(NAME, "prompt", scoped(session, prompt.trim()));
/** Up to 0.38 no record says which call made an agent, and prompts are wrapped into others: order is what is left to go by. */
export const orderMatch = (session: string) => matchKey(NAME, "order", scoped(session, ""));
