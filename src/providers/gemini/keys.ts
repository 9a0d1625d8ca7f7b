import {
  ANONYMOUS,
  agentKey,
  type CallKey,
  callKey,
  matchKey,
  type RecordKey,
  recordKey,
  threadKey,
} from "../../core/facts/ids.ts";
import { NAME } from "./manifest.ts";

/** Builds keys from Gemini CLI's ids. */
export const thread = (session: string) => threadKey(NAME, session);
export const agent = (session: string, id: string) => agentKey(NAME, session, id);
/** Up to 0.36 agents have no id: they are identified by their first message. */
export const namelessAgent = (session: string, firstMessage: string) =>
  agentKey(NAME, session, ANONYMOUS + firstMessage);
/** The file name contains the beginning of the session id, so it is known even without the head of the file. */
const SHORT = 8;
const scoped = (session: string, id: string) => `${session.slice(0, SHORT)}/${id}`;
export const call = (session: string, id: string): CallKey => callKey(NAME, scoped(session, id));
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/**
 * A UUID in another session is a copy (`--session-file`). Other ids repeat: the context message has the same id in every
 * session.
 */
export const record = (session: string, id: string): RecordKey =>
  recordKey(NAME, UUID.test(id) ? id : scoped(session, id));
export const promptMatch = (session: string, prompt: string) =>
  matchKey(NAME, "prompt", scoped(session, prompt.trim()));
/** Up to 0.38 no record names the call of an agent, and prompts are wrapped: only the order can be matched. */
export const orderMatch = (session: string) => matchKey(NAME, "order", scoped(session, ""));
