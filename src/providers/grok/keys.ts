import { type AgentKey, type MatchKey, matchKey, type RecordKey, recordKey, threadKey } from "../../core/facts/ids.ts";
import { callKeysOf } from "../kit/keys.ts";
import { NAME } from "./manifest.ts";

/** Every session is a thread here; those that a call of another one spawned become its children when linked. */
export const session = (id: string): AgentKey => threadKey(NAME, id);
export const call = callKeysOf(NAME);
/** Forked and resumed sessions copy records with ids and times. Ids alone repeat after a restart. */
export const record = (id: string, at: number | null): RecordKey => recordKey(NAME, `${id}@${at ?? ""}`);
/** The log names responses only by their session and time. */
export const response = (sessionId: string, at: string, loop: number): RecordKey =>
  recordKey(NAME, `response/${sessionId}/${at}/${loop}`);
/** A proxy knows the API's id. */
export const wireResponse = (sessionId: string, id: string): RecordKey => recordKey(NAME, `answer/${sessionId}/${id}`);
/** The root's record of a spawn and the spawn call share the id of the prompt that the parent worked on. */
export const spawnMatch = (promptId: string, description: string): MatchKey =>
  matchKey(NAME, "spawn", `${promptId}:${description.trim()}`);
/** In API traffic: all sessions of a tree name the same group. */
export const wirePromptMatch = (group: string, prompt: string): MatchKey =>
  matchKey(NAME, "wire-prompt", `${group}:${prompt.trim()}`);
