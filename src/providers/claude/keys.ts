import { ANONYMOUS, agentKey, type CallKey, callKey, matchKey, type RecordKey, recordKey, threadKey } from "../../core/ids.ts";

/** Claude Code's own names, made into keys in one place. */
export const NAME = "claude";
export const thread = (session: string) => threadKey(NAME, session);
export const agent = (session: string, id: string) => agentKey(NAME, session, id);
/** Up to 2.0.24 agents have no id: they are the chain of records that begins with this one. */
export const inlineAgent = (session: string, firstRecord: string) => agentKey(NAME, session, ANONYMOUS + firstRecord);
/** Agents whose files name no thread at all. */
export const UNASSIGNED = threadKey("unassigned", NAME);
export const unassignedAgent = (id: string) => agentKey("unassigned", NAME, id);
/** Ids of the API are long and unique everywhere. Short ones come from gateways and hand-made transcripts, and mean something only in their own thread. */
const scoped = (session: string, id: string) => (id.length >= 16 ? id : `${session}/${id}`);
export const call = (session: string, toolUse: string): CallKey => callKey(NAME, scoped(session, toolUse));
/** A workflow's run, as another name of the call that started it. */
export const run = (id: string): CallKey => callKey(NAME, `run/${id}`);
export const record = (session: string, id: string): RecordKey => recordKey(NAME, scoped(session, id));
export const promptMatch = (session: string, prompt: string) => matchKey(NAME, "prompt", `${session}:${prompt.trim()}`);
/** 2.0.42 to 2.0.60 write no opening prompt: order is all there is to go by. */
export const orderMatch = (session: string) => matchKey(NAME, "order", session);
export const mateMatch = (name: string, team: string) => matchKey(NAME, "mate", `${name}@${team}`);
