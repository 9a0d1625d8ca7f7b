import {
  ANONYMOUS,
  agentKey,
  type CallKey,
  callKey,
  type RecordKey,
  recordKey,
  threadKey,
} from "../../core/facts/ids.ts";
import { NAME } from "./manifest.ts";

/** Builds keys from Copilot CLI's ids. */
export const thread = (session: string) => threadKey(NAME, session);
export const agent = (session: string, id: string) => agentKey(NAME, session, id);
/** The pseudo-agent of internal model calls. */
export const internal = (session: string) => agentKey(NAME, session, `${ANONYMOUS}itself`);
/** Ids of events and of vendors' APIs are globally unique; short ones only in their session. */
const scoped = (session: string, id: string) => (id.length >= 16 ? id : `${session}/${id}`);
export const call = (session: string, id: string): CallKey => callKey(NAME, scoped(session, id));
export const record = (session: string, id: string): RecordKey => recordKey(NAME, scoped(session, id));
export const response = (session: string, id: string): RecordKey => recordKey(NAME, `response/${scoped(session, id)}`);
