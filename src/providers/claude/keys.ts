import {
  type AgentKey,
  ANONYMOUS,
  agentKey,
  type CallKey,
  callKey,
  matchKey,
  partsOf,
  type RecordKey,
  recordKey,
  threadKey,
  threadOf,
} from "../../core/facts/ids.ts";
import { NAME } from "./manifest.ts";

/** The session of records that name none: their agents are unassigned. */
export const NO_SESSION = "";
/** The thread of agents whose records name no thread. */
export const UNASSIGNED = threadKey("unassigned", NAME);
export const unassignedAgent = (id: string) => agentKey("unassigned", NAME, id);
/** Nearly all rows are of the same agent as the row before, and equal keys are compared faster if they are the same. */
let last = { session: NO_SESSION, thread: UNASSIGNED, id: "", agent: UNASSIGNED };
export function thread(session: string): AgentKey {
  if (session === NO_SESSION) return UNASSIGNED;
  if (session !== last.session) last = { session, thread: threadKey(NAME, session), id: "", agent: UNASSIGNED };
  return last.thread;
}
export function agent(session: string, id: string): AgentKey {
  if (session === NO_SESSION || id === "") return agentOf(session, id);
  if (session !== last.session || id !== last.id)
    last = { session, thread: thread(session), id, agent: agentOf(session, id) };
  return last.agent;
}
const agentOf = (session: string, id: string) =>
  session === NO_SESSION ? unassignedAgent(id) : agentKey(NAME, session, id);
export const sessionOf = (of: AgentKey) => (threadOf(of) === UNASSIGNED ? NO_SESSION : partsOf(of).thread);
/** Up to 2.0.24 agents have no id: an agent is the chain of records that begins with this one. */
export const inlineAgent = (session: string, firstRecord: string) => agentKey(NAME, session, ANONYMOUS + firstRecord);
/**
 * Ids of the API are globally unique. Short ones come from gateways and hand-made transcripts and are unique only in
 * their thread.
 */
const scoped = (session: string, id: string) => (id.length >= 16 ? id : `${session}/${id}`);
export const call = (session: string, toolUse: string): CallKey => callKey(NAME, scoped(session, toolUse));
/** A workflow run, as another name of the call that started it. */
export const run = (id: string): CallKey => callKey(NAME, `run/${id}`);
export const record = (session: string, id: string): RecordKey => recordKey(NAME, scoped(session, id));
export const promptMatch = (session: string, prompt: string) => matchKey(NAME, "prompt", `${session}:${prompt.trim()}`);
/** 2.0.42 to 2.0.60 do not write the first prompt: only the order can be matched. */
export const orderMatch = (session: string) => matchKey(NAME, "order", session);
/** A workflow that an agent started, if no record names its run. */
export const nestedRunMatch = (session: string) => matchKey(NAME, "nested run", session);
export const memberMatch = (name: string, team: string) => matchKey(NAME, "mate", `${name}@${team}`);
