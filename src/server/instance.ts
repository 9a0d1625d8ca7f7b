import { linkSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Env, madeHome, writePrivate } from "../app/home.ts";
import { type Instance, instanceNote, mayRun, notedInstance } from "../app/instance-note.ts";

export type { Instance };

const TIMEOUT_MS = 2_000;
const STALE_MS = 60_000;

/** Returns the running server of this home, or null. Removes the note of a killed server. */
export async function runningInstance(env: Env): Promise<Instance | null> {
  const noted = notedInstance(env);
  if (noted !== null && (await isResponding(noted))) return noted;
  // Notes are written atomically, so an unreadable one belongs to no running server.
  if (notedInstance(env)?.instance === noted?.instance) tryRemove(instanceNote(env));
  return null;
}

/** Writes the note of this server. Returns false if another server was faster. */
export function claim(env: Env, { instance, pid, host, port, url, token, traces }: Instance): boolean {
  const path = instanceNote(env);
  const draft = `${path}.${instance}`;
  try {
    madeHome(env);
    for (const drafted of [path, join(dirname(path), "token")]) clearDrafts(drafted);
    // Only this user can read the note, because it contains the token.
    writePrivate(draft, JSON.stringify({ instance, pid, host, port, url, token, traces }));
    // link() is atomic and fails if the file exists.
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    tryRemove(draft);
  }
}

/** Removes drafts of processes that were killed between writing a draft and removing it. */
function clearDrafts(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    const draft = join(dirname(path), name);
    if (
      name.startsWith(`${basename(path)}.`) &&
      Date.now() - (statSync(draft, { throwIfNoEntry: false })?.mtimeMs ?? 0) > STALE_MS
    )
      tryRemove(draft);
  }
}

/** Removes the note of this server, unless another server has replaced it. */
export function release(env: Env, { instance }: Instance): void {
  if (notedInstance(env)?.instance === instance) tryRemove(instanceNote(env));
}

function tryRemove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // On a read-only disk the note stays; it counts only if its server responds.
  }
}

/** Asks the server for a URL that gives a browser access. The URL may be valid once only. */
export async function addressFrom({ url, token }: Instance): Promise<string> {
  const init = {
    method: "POST",
    headers: authorized(token),
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  } as const;
  try {
    return ((await (await fetch(new URL("/api/address", url), init)).json()) as { address?: string }).address ?? url;
  } catch {
    // The server is busy or has ended; opening the URL will show which.
    return url;
  }
}

const authorized = (token: string | null): Record<string, string> =>
  token === null ? {} : { Authorization: `Bearer ${token}` };

/**
 * Checks the instance id, because another program may use the port now. A server that is too busy to respond counts as
 * running.
 */
async function isResponding(noted: Instance): Promise<boolean> {
  const { url, token, instance } = noted;
  try {
    const response = await fetch(new URL("/api/health", url), {
      headers: authorized(token),
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return ((await response.json()) as { instance?: unknown }).instance === instance;
  } catch (error) {
    return (error as Error).name === "TimeoutError" && mayRun(noted);
  }
}
