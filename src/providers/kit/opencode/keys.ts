import {
  type AgentKey,
  agentKey,
  type CallKey,
  type MatchKey,
  matchKey,
  type RecordKey,
  recordKey,
  threadKey,
} from "../../../core/facts/ids.ts";
import { callKeysOf } from "../keys.ts";

/** Builds keys from the ids of one product of the family. */
export interface Keys {
  /** The provider's name. */
  readonly name: string;
  /** Every session is a thread here; those with a parent become its children when linked. */
  session(id: string): AgentKey;
  /** An agent of a session that has no session of its own. */
  agent(session: string, id: string): AgentKey;
  call(session: string, id: string): CallKey;
  record(id: string): RecordKey;
  promptMatch(session: string, prompt: string): MatchKey;
}

export const keysOf = (name: string): Keys => ({
  name,
  session: (id) => threadKey(name, id),
  agent: (session, id) => agentKey(name, session, id),
  call: callKeysOf(name),
  record: (id) => recordKey(name, id),
  promptMatch: (session, prompt) => matchKey(name, "prompt", `${session}:${prompt.trim()}`),
});

/** `ses_`, then letters and digits. Old and imported ids may differ, so only impossible ones are rejected. */
export const isSessionId = (id: string) => /^ses_[A-Za-z0-9]{1,64}$/.test(id);
