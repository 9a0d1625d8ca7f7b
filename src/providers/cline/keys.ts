import { agentKey, type MatchKey, matchKey, type RecordKey, recordKey, threadKey } from "../../core/facts/ids.ts";
import { callKeysOf } from "../kit/keys.ts";
import { NAME } from "./manifest.ts";

/** Builds keys from Cline's ids. All agents of a session have their ids in it. */
export const agent = (session: string, id: string | null) =>
  id === null ? threadKey(NAME, session) : agentKey(NAME, session, id);
export const call = callKeysOf(NAME);
/** A restored session copies messages with ids and times. Ids are short. */
export const record = (id: string, ts: number | null): RecordKey => recordKey(NAME, `${id}@${ts ?? ""}`);
/** No record names the call of an agent: parent and prompt are all that they have in common. */
export const task = (session: string, parent: string | null, prompt: string): MatchKey =>
  matchKey(NAME, "task", `${session}/${parent ?? ""}:${prompt.trim()}`);
/** A teammate has the name that the call gave it. */
export const mate = (session: string, name: string): MatchKey => matchKey(NAME, "mate", `${session}/${name}`);
