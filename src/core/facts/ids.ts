import { hash } from "../tools/hash.ts";

declare const brand: unique symbol;
/** Branded types, so that one kind of id cannot be passed as another. */
type Id<Kind extends string> = string & { readonly [brand]: Kind };

/** Identifies an agent permanently: built from the provider's ids, so that all sources produce the same key. */
export type AgentKey = Id<"Agent">;
/** A tool call, by the provider's id. */
export type CallKey = Id<"Call">;
/** A record or a model response, by the provider's id; copies of a record share it. */
export type RecordKey = Id<"Record">;
/** What a spawn call and its agent have in common if neither names the other (a prompt, the name of a team member). */
export type MatchKey = Id<"Match">;
/** The place of an observation and its number there; makes reading idempotent. */
export type ObservationId = Id<"Observation">;

export const threadKey = (provider: string, thread: string) => `${provider}:${thread}` as AgentKey;
export const agentKey = (provider: string, thread: string, agent: string) =>
  `${provider}:${thread}/${agent}` as AgentKey;
/**
 * Prefix for agents without an id: they are keyed by their first record, and named after their spawn call in public.
 */
export const ANONYMOUS = "~";

/** The top-level thread whose records contain the agent. */
export function threadOf(key: AgentKey): AgentKey {
  const slash = key.indexOf("/", key.indexOf(":"));
  return slash < 0 ? key : (key.slice(0, slash) as AgentKey);
}

export const callKey = (provider: string, call: string) => `${provider}:${call}` as CallKey;
export const recordKey = (provider: string, record: string) => `${provider}:${record}` as RecordKey;
/** A long value, such as a prompt, is hashed: keys are only compared, and each would store the prompt again. */
export const matchKey = (provider: string, kind: string, value: string) =>
  `${provider}:${kind}:${value.length <= LONG_VALUE ? value : `#${hash(value)}`}` as MatchKey;
const LONG_VALUE = 64;
export const observationId = (place: string, number: number) => `${place}#${number}` as ObservationId;

const OFFSET_DIGITS = 15;

/** The id of an observation in a record that follows another one in the same line, at this byte offset. */
export const inRecordBehind = (id: ObservationId, offset: number) =>
  `${placeOf(id)}#@${String(offset).padStart(OFFSET_DIGITS, "0")}.${id.slice(id.lastIndexOf("#") + 1)}` as ObservationId;

/** The file and line of an observation. */
export const placeOf = (id: ObservationId) => id.slice(0, id.lastIndexOf("#"));
export const fileOf = (id: ObservationId) => placeOf(id).replace(/:\d+$/, "");

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
  return slash < 0
    ? { provider, thread: key.slice(colon + 1), agent: null }
    : { provider, thread: key.slice(colon + 1, slash), agent: key.slice(slash + 1) };
}

/** False if the id of the agent or of its thread is empty or blank: such a key is no agent's. */
export function isNamed(key: AgentKey): boolean {
  const { thread, agent } = partsOf(key);
  return thread.trim() !== "" && agent?.trim() !== "";
}

/** The provider's id of the call, without the prefix of the key. */
export const nativeCall = (call: CallKey) => call.slice(Math.max(call.indexOf(":"), call.lastIndexOf("/")) + 1);

/**
 * The ids of a record: first its own, last that of the message it is a row of. They are equal for a message with only
 * one record.
 */
export interface Keyed {
  readonly keys: readonly RecordKey[];
}

export const recordIn = ({ keys }: Keyed): RecordKey | undefined => keys[0];
/** Equal for all rows that a message, such as a model's response, is spread over. */
export const messageIn = ({ keys }: Keyed): RecordKey | undefined => keys[keys.length - 1];
/** The message of a record, if it has a key of its own. */
export const ownMessageIn = (record: Keyed): RecordKey | undefined =>
  record.keys.length > 1 ? messageIn(record) : undefined;
/** The list of keys, from what `recordIn` and `ownMessageIn` returned. */
export const keysFrom = (record: RecordKey | undefined, message: RecordKey | undefined): RecordKey[] =>
  [record, message].filter((key) => key !== undefined);

/** The place of a record, for people: a line of a file, or a row of a database. */
export const placeName = (path: string, line: number, row?: string) =>
  row !== undefined ? `${path}:${row}` : line === 0 ? path : `${path}:${line}`;
