import { type CallKey, callKey } from "../../core/facts/ids.ts";

/** Builds the keys of tool calls from ids that models make: they are unique only in their session. */
export const callKeysOf =
  (name: string) =>
  (session: string, id: string): CallKey =>
    callKey(name, `${session}/${id}`);
