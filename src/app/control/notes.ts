import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { asNonBlank, asNumber, asObject, parseJson } from "../../core/tools/json.ts";
import { MAX_NOTE } from "../../core/tools/limits.ts";
import { readText } from "../../transports/regular.ts";
import { exists } from "../../transports/system/system.ts";
import { type Env, retinueHome } from "../home.ts";

/** How to reach a process that controls agents. Only this user can read the note, because it contains the token. */
export interface OwnerNote {
  readonly pid: number;
  readonly url: string;
  readonly token: string;
}

export const controlFolder = (env: Env) => join(retinueHome(env), "control");

/** The notes of running processes, by their names. Those of processes that were killed are removed. */
export function ownerNotes(env: Env): ReadonlyMap<string, OwnerNote> {
  const found = new Map<string, OwnerNote>();
  for (const file of filesIn(controlFolder(env))) {
    const path = join(controlFolder(env), file);
    const note = readNote(path);
    if (note !== null && exists(note.pid)) found.set(file.replace(/\.json$/, ""), note);
    else if (note !== null) rmSync(path, { force: true });
  }
  return found;
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^[a-f\d]+\.json$/.test(name));
  } catch {
    // No process has controlled agents yet.
    return [];
  }
}

function readNote(path: string): OwnerNote | null {
  try {
    const note = asObject(parseJson(readText(path, MAX_NOTE))?.value);
    const [pid, url, token] = [asNumber(note?.pid), asNonBlank(note?.url), asNonBlank(note?.token)];
    const isLocal = url !== null && /^http:\/\/127\.0\.0\.1:\d+\/$/.test(url);
    return pid === null || !isLocal || token === null ? null : { pid, url, token };
  } catch {
    // Removed in the meantime.
    return null;
  }
}
