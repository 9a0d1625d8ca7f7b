import { type RecordKey, recordKey, threadKey } from "../../core/facts/ids.ts";
import { callKeysOf } from "../kit/keys.ts";
import { NAME } from "./manifest.ts";

/** Every session is a thread here; those that a call of another one spawned become its children when linked. */
export const session = (id: string) => threadKey(NAME, id);
export const call = callKeysOf(NAME);
/** A forked session copies messages with their ids. */
export const record = (id: string): RecordKey => recordKey(NAME, id);
/** The usage of all responses of a session: the product records only their sum. */
export const usage = (sessionId: string): RecordKey => recordKey(NAME, `usage of ${sessionId}`);
