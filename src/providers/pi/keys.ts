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

/** Builds keys from Pi's ids. */
export const thread = (session: string) => threadKey(NAME, session);
export const agent = (session: string, id: string) => agentKey(NAME, session, id);
/** The pseudo-agent of internal model calls. */
export const itself = (session: string) => agentKey(NAME, session, `${ANONYMOUS}itself`);
/** Call ids are those of the vendors' APIs. */
export const call = (session: string, id: string): CallKey => callKey(NAME, `${session}/${id.replaceAll("/", "_")}`);
/** Forks copy entries with ids and times. Ids alone are short and repeat in other sessions. */
export const record = (id: string, written: string): RecordKey => recordKey(NAME, `${id}@${written}`);
/** A part of a record that belongs to another agent. */
export const partOf = (record: RecordKey, part: string) => `${record}/${part}` as RecordKey;
export const response = (provider: string, id: string): RecordKey => recordKey(NAME, `response/${provider}/${id}`);
/** By the id alone, as seen by the proxy. */
export const responseById = (id: string): RecordKey => recordKey(NAME, `answer/${id}`);
/** Requests of an agent name only its own session: the prompt is all it has in common with the call. */
export const wirePromptMatch = (prompt: string) => matchKey(NAME, "wire-prompt", prompt.trim());
export const promptMatch = (session: string, prompt: string) => matchKey(NAME, "prompt", `${session}:${prompt.trim()}`);
