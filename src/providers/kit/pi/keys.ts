import {
  type AgentKey,
  ANONYMOUS,
  agentKey,
  type CallKey,
  callKey,
  type MatchKey,
  matchKey,
  type RecordKey,
  recordKey,
  threadKey,
} from "../../../core/facts/ids.ts";

/** Builds keys from the ids of one product of Pi's family. */
export interface Keys {
  thread(session: string): AgentKey;
  agent(session: string, id: string): AgentKey;
  /** The pseudo-agent of internal model calls in a session. */
  internal(session: string): AgentKey;
  /** Call ids are those of the vendors' APIs. */
  call(session: string, id: string): CallKey;
  /** Forks copy entries with ids and times. Ids alone are short and repeat in other sessions. */
  record(id: string, written: string): RecordKey;
  response(provider: string, id: string): RecordKey;
  /** By the id alone, which is all that the proxy sees. */
  responseById(id: string): RecordKey;
  promptMatch(session: string, prompt: string): MatchKey;
  /** API requests of an agent name only its own session: they share nothing but the prompt with the spawn call. */
  wirePromptMatch(prompt: string): MatchKey;
}

export const keysOf = (name: string): Keys => ({
  thread: (session) => threadKey(name, session),
  agent: (session, id) => agentKey(name, session, id),
  internal: (session) => agentKey(name, session, `${ANONYMOUS}itself`),
  call: (session, id) => callKey(name, `${session}/${id.replaceAll("/", "_")}`),
  record: (id, written) => recordKey(name, `${id}@${written}`),
  response: (provider, id) => recordKey(name, `response/${provider}/${id}`),
  responseById: (id) => recordKey(name, `answer/${id}`),
  promptMatch: (session, prompt) => matchKey(name, "prompt", `${session}:${prompt.trim()}`),
  wirePromptMatch: (prompt) => matchKey(name, "wire-prompt", prompt.trim()),
});

/** The key of a part of a record. */
export const partOf = (record: RecordKey, part: string) => `${record}/${part}` as RecordKey;
