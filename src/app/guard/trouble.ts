/** The last error of the guard. Agents do not notice it, `retinue doctor` shows it. */
import { MAX_NOTE } from "../../core/tools/limits.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { readText } from "../../transports/regular.ts";
import { join } from "../../transports/system/paths.ts";
import type { Env } from "../home.ts";
import { guardFolder } from "./limits-file.ts";

export interface GuardTrouble {
  readonly at: number;
  readonly error: string;
}

const troublePath = (env: Env) => join(guardFolder(env), "trouble.json");

/** Never throws. */
export function noteTrouble(env: Env, { message }: Error): void {
  try {
    privateFolder(guardFolder(env));
    writePrivate(troublePath(env), JSON.stringify({ at: Date.now(), error: message } satisfies GuardTrouble));
  } catch {
    // The disk is full or not writable, which doctor reports on its own.
  }
}

export function lastTrouble(env: Env): GuardTrouble | null {
  try {
    return JSON.parse(readText(troublePath(env), MAX_NOTE)) as GuardTrouble;
  } catch {
    // None.
    return null;
  }
}
