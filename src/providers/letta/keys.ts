import { keysOf } from "../kit/pi/keys.ts";
import { NAME } from "./manifest.ts";

/** Builds keys from Letta's ids. */
export const key = keysOf(NAME);

const DEFAULT = "default";

/**
 * The id of a conversation. Every agent has one conversation with the id `default`, which is named after the agent: a
 * sub-agent works in it. Others have ids of their own.
 */
export const idOf = (agent: string, conversation: string | null) =>
  conversation === null || conversation === DEFAULT ? agent : conversation;
