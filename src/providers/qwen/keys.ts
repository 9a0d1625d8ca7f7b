import { agentKey, type RecordKey, recordKey, threadKey } from "../../core/facts/ids.ts";
import type { Tokens } from "../../core/facts/usage.ts";
import { callKeysOf } from "../kit/keys.ts";
import { NAME } from "./manifest.ts";

/** Builds keys from Qwen Code's ids. */
export const thread = (session: string) => threadKey(NAME, session);
export const agent = (session: string, id: string) => agentKey(NAME, session, id);
export const call = callKeysOf(NAME);
/** A forked session copies records with their ids. */
export const record = (uuid: string): RecordKey => recordKey(NAME, uuid);
/**
 * A response of an agent. Its transcript names neither the response nor the model, but the transcript of its session
 * repeats its usage with the model: equal usage of one agent is the same response.
 */
export const response = (session: string, id: string, t: Tokens): RecordKey =>
  recordKey(NAME, [session, id, t.inputTokens, t.cacheReadTokens, t.outputTokens, t.reasoningTokens].join(" "));
