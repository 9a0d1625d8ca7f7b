import { ANONYMOUS, agentKey, type CallKey, callKey, type RecordKey, recordKey, threadKey } from "../../core/ids.ts";

/** Copilot CLI's own names, made into keys in one place. */
export const NAME = "copilot";
export const thread = (session: string) => threadKey(NAME, session);
export const agent = (session: string, id: string) => agentKey(NAME, session, id);
/** Whoever makes the calls that no agent asked for. */
export const itself = (session: string) => agentKey(NAME, session, `${ANONYMOUS}itself`);
/** Ids of events and of the vendors' APIs are long and unique everywhere; short ones mean something only in their own session. */
const scoped = (session: string, id: string) => (id.length >= 16 ? id : `${session}/${id}`);
export const call = (session: string, id: string): CallKey => callKey(NAME, scoped(session, id));
export const record = (session: string, id: string): RecordKey => recordKey(NAME, scoped(session, id));
export const response = (session: string, id: string): RecordKey => recordKey(NAME, `response/${scoped(session, id)}`);
