import { linkSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Env, madeHome, writePrivate } from "../app/home.ts";
import { type Instance, instanceNote, mayRun, notedInstance } from "../app/instance-note.ts";

export type { Instance };

const ANSWER_MS = 2_000;
const STALE_MS = 60_000;

/** The server that already runs for this home; null if there is none. What a killed one left behind is cleared away. */
export async function runningInstance(env: Env): Promise<Instance | null> {
  const noted = notedInstance(env);
  if (noted !== null && (await answers(noted))) return noted;
  // Notes appear whole or not at all: one that cannot be read is nobody's.
  if (notedInstance(env)?.instance === noted?.instance) removed(instanceNote(env));
  return null;
}

/** Notes down that we run. False if another one was faster. */
export function claim(env: Env, { instance, pid, host, port, url, token, traces }: Instance): boolean {
  const path = instanceNote(env);
  const draft = `${path}.${instance}`;
  try {
    madeHome(env);
    clearDrafts(path);
    // The token is for those who may read this home.
    writePrivate(draft, JSON.stringify({ instance, pid, host, port, url, token, traces }));
    // Fails where the name is taken, and nobody ever sees half a file.
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    removed(draft);
  }
}

/** A server that was killed between writing its draft and removing it leaves it there. */
function clearDrafts(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    const draft = join(dirname(path), name);
    if (name.startsWith(`${basename(path)}.`) && Date.now() - (statSync(draft, { throwIfNoEntry: false })?.mtimeMs ?? 0) > STALE_MS) removed(draft);
  }
}

export function release(env: Env, { instance }: Instance): void {
  if (notedInstance(env)?.instance === instance) removed(instanceNote(env));
}

function removed(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // On a read-only disk it stays; a note counts only if its server answers.
  }
}

/** An address that lets a browser in, asked of the server itself: it may have to work once only. */
export async function addressFrom({ url, token }: Instance): Promise<string> {
  const init = { method: "POST", headers: authorized(token), redirect: "error", signal: AbortSignal.timeout(ANSWER_MS) } as const;
  try {
    return ((await (await fetch(new URL("/api/address", url), init)).json()) as { address?: string }).address ?? url;
  } catch {
    // Too busy, or gone: whoever opens it sees which.
    return url;
  }
}

const authorized = (token: string | null): Record<string, string> => (token === null ? {} : { Authorization: `Bearer ${token}` });

/** Another program may have its port by now. One that is too busy to answer at once is there all the same. */
async function answers(noted: Instance): Promise<boolean> {
  const { url, token, instance } = noted;
  try {
    const answer = await fetch(new URL("/api/health", url), { headers: authorized(token), redirect: "error", signal: AbortSignal.timeout(ANSWER_MS) });
    return ((await answer.json()) as { instance?: unknown }).instance === instance;
  } catch (error) {
    return (error as Error).name === "TimeoutError" && mayRun(noted);
  }
}
