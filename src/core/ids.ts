declare const brand: unique symbol;
/** Branded, so that one kind of id can never be passed where another is meant. */
type Id<Kind extends string> = string & { readonly [brand]: Kind };

/** Names one agent for good: made from what its provider calls it, so that every witness of it arrives at the same key. */
export type AgentKey = Id<"Agent">;
/** A tool call, by the id the provider gave it. */
export type CallKey = Id<"Call">;
/** A record or a model response, by the id the provider gave it; copies of a record share it. */
export type RecordKey = Id<"Record">;
/** What a spawning call and the agent it made have in common when neither names the other (a prompt, a team mate's name). */
export type MatchKey = Id<"Match">;
/** The place an observation was read from, and its number there, so that reading twice is harmless. */
export type ObservationId = Id<"Observation">;

export const threadKey = (provider: string, thread: string) => `${provider}:${thread}` as AgentKey;
export const agentKey = (provider: string, thread: string, agent: string) => `${provider}:${thread}/${agent}` as AgentKey;
/** Agents that their product gave no id are keyed by their first record, behind this mark; the call that spawned them names them in public. */
export const ANONYMOUS = "~";

/** The top-level thread in whose records the provider keeps the agent. */
export function threadOf(key: AgentKey): AgentKey {
  const slash = key.indexOf("/", key.indexOf(":"));
  return slash < 0 ? key : (key.slice(0, slash) as AgentKey);
}

export const callKey = (provider: string, call: string) => `${provider}:${call}` as CallKey;
export const recordKey = (provider: string, record: string) => `${provider}:${record}` as RecordKey;
export const matchKey = (provider: string, kind: string, value: string) => `${provider}:${kind}:${value}` as MatchKey;
export const observationId = (place: string, number: number) => `${place}#${number}` as ObservationId;

const OFFSET_DIGITS = 15;

/** The id of an observation in a record that stands behind another one in the same line, at this byte of the file. */
export const inRecordBehind = (id: ObservationId, offset: number) =>
  `${placeOf(id)}#@${String(offset).padStart(OFFSET_DIGITS, "0")}.${id.slice(id.lastIndexOf("#") + 1)}` as ObservationId;

/** The file and line behind an observation, as a person would look it up. */
export const placeOf = (id: ObservationId) => id.slice(0, id.lastIndexOf("#"));

interface AgentKeyParts {
  readonly provider: string;
  readonly thread: string;
  /** Null for the thread itself. */
  readonly agent: string | null;
}

export function partsOf(key: AgentKey): AgentKeyParts {
  const colon = key.indexOf(":");
  const slash = key.indexOf("/", colon);
  const provider = key.slice(0, colon);
  return slash < 0 ? { provider, thread: key.slice(colon + 1), agent: null } : { provider, thread: key.slice(colon + 1, slash), agent: key.slice(slash + 1) };
}

/** The id the provider uses for the call, without what we put before it. */
export const nativeCall = (call: CallKey) => call.slice(Math.max(call.indexOf(":"), call.lastIndexOf("/")) + 1);
