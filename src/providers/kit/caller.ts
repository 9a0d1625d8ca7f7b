import type { Caller } from "../../core/ports/dialect.ts";

/** Default fields of a caller whose requests name only its session. */
export const UNKNOWN_CALLER = {
  parent: null,
  rule: null,
  kind: null,
  name: null,
  path: null,
  agentType: null,
  isAgent: false,
} as const satisfies Partial<Caller>;
