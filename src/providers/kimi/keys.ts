import { agentKey, type RecordKey, recordKey, threadKey } from "../../core/facts/ids.ts";
import { callKeysOf } from "../kit/keys.ts";
import { NAME } from "./manifest.ts";

/** The name of a session's own agent; the others are `agent-0`, `agent-1`, …, unique only in their session. */
export const MAIN = "main";
export const agent = (session: string, id: string) =>
  id === MAIN ? threadKey(NAME, session) : agentKey(NAME, session, id);
export const call = callKeysOf(NAME);
export const record = (session: string, agent: string, id: string): RecordKey =>
  recordKey(NAME, `${session}/${agent}/${id}`);
