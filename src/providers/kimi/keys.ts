import { agentKey, type CallKey, callKey, type RecordKey, recordKey, threadKey } from "../../core/facts/ids.ts";
import { NAME } from "./manifest.ts";

/** The name of a session's own agent; the others are `agent-0`, `agent-1`, …, unique only in their session. */
export const MAIN = "main";
export const agent = (session: string, id: string) =>
  id === MAIN ? threadKey(NAME, session) : agentKey(NAME, session, id);
/** Call ids are made by models and unique only in their session. */
export const call = (session: string, id: string): CallKey => callKey(NAME, `${session}/${id}`);
export const record = (session: string, agent: string, id: string): RecordKey =>
  recordKey(NAME, `${session}/${agent}/${id}`);
