import type { RedactionRules } from "../../../core/redaction/redaction.ts";
import type { Env } from "../../home.ts";
import type { Destination } from "../destination.ts";

/** A kind of destination. Small, because hooks and the help load it; `open` loads the rest. */
export interface Manifest {
  /** Its name in `retinue export <format>`. */
  readonly format: string;
  /** Its name for people. */
  readonly title: string;
  /** The environment variable that turns on sending while agents work. */
  readonly switch: string;
  /** The environment variables that configure it, for the help. */
  readonly variables: string;
  /** Whether traces are sent while agents work. */
  readonly isTracing: (env: Env) => boolean;
  /** Whether it refuses old traces, so that `--old` can be used. */
  readonly refusesOld: boolean;
  /** The destinations that the environment configures. `isPreview`: nothing is sent, so no key is needed. */
  readonly open: (env: Env, redaction: RedactionRules, isPreview: boolean) => Promise<readonly Destination[]>;
}

export const isOn = (value: string | undefined) => value?.toLowerCase() === "true";
