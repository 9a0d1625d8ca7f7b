import { existsSync, linkSync, renameSync, rmSync, statSync } from "node:fs";
import type { ManualLink } from "../core/parents.ts";
import { faultKind } from "../stores/fault.ts";
import type { Kept } from "../stores/sqlite/kept.ts";
import { privateDatabase, writePrivate } from "../transports/private.ts";
import { join } from "../transports/system/paths.ts";
import { asFailure, Failure } from "./failure.ts";
import { type Env, madeHome, retinueHome } from "./home.ts";
import { identityOf } from "./index-file.ts";

export const keptPath = (env: Env) => join(retinueHome(env), "kept.sqlite");

/** The last good copies, newest first. */
const copiesOf = (path: string) => [`${path}.copy`, `${path}.copy-before`] as const;
const COPY_AFTER_MS = 24 * 3_600_000;
/** On a full disk a copy is not tried at every look. */
const TRY_AFTER_MS = 3_600_000;

type Talk = (words: string) => void;
/** People must hear of it whatever the command; few commands come here otherwise. */
const toStderr: Talk = (words) => void process.stderr.write(`retinue: ${words}\n`);

/**
 * Opens what people decided; made on first use. Wherever damage is found, the file is set aside and what can be saved takes its place, before the call returns.
 * Where nothing can be written it can still be read.
 */
export async function keep(env: Env, talk: Talk = toStderr): Promise<Kept> {
  const path = keptPath(env);
  // Loaded on demand: most commands never need it.
  const [{ copyKept, keptIn }, { loadSqlite }] = await Promise.all([import("../stores/sqlite/kept.ts"), import("../stores/sqlite/load.ts")]);
  const sqlite = await loadSqlite();
  let identity: string | null = null;
  let kept: Kept | null = null;
  const open = (): Kept => {
    try {
      madeHome(env);
      privateDatabase(path);
      return keptIn(sqlite, path);
    } catch (error) {
      if (faultKind(error) !== "unwritable" || !existsSync(path)) throw error;
      return keptIn(sqlite, path, { readOnly: true });
    } finally {
      identity = identityOf(path);
    }
  };
  const tried = <T>(ask: (kept: Kept) => T): T => {
    try {
      kept ??= open();
      return ask(kept);
    } catch (error) {
      // What is asked next gets a file that was opened anew.
      if (faultKind(error) !== null) {
        close(kept);
        kept = null;
      }
      throw error;
    }
  };
  const mended = <T>(ask: (kept: Kept) => T): T => {
    try {
      try {
        return tried(ask);
      } catch (error) {
        if (faultKind(error) !== "damaged") throw error;
        restore(path, identity, error as Error, (from, to) => copyKept(sqlite, from, to), talk);
        return tried(ask);
      }
    } catch (error) {
      throw asFailure(error, `cannot use ${path}`) ?? error;
    }
  };
  try {
    mended(() => null);
  } catch (error) {
    throw error instanceof Failure ? error : new Failure("failed", `cannot open ${path}: ${(error as Error).message}`, [], error);
  }
  // Every method of a part, on whichever file is open when it is called.
  const mending = <T extends object>(part: (kept: Kept) => T): T => {
    const methods = Object.keys(mended(part)).map((name) => [
      name,
      (...args: unknown[]) => mended((now) => Reflect.apply(Reflect.get(part(now), name) as (...args: unknown[]) => unknown, null, args)),
    ]);
    return Object.fromEntries(methods) as T;
  };
  return {
    ...mending((now) => now),
    outbox: mending((now) => now.outbox),
    close: () => {
      mended((now) => copyDaily(now, path));
      close(kept);
    },
  };
}

function close(kept: Kept | null): void {
  try {
    kept?.close();
  } catch {
    // What cannot be closed in order is left to the end of the process.
  }
}

const triedAt = new Map<string, number>();

/** Keeps a good copy, a day old at most when it is needed. One that cannot be made now is made later; damage found on the way is thrown. */
function copyDaily(kept: Kept, path: string): void {
  const [copy, before] = copiesOf(path);
  const made = modifiedAt(copy);
  const changed = Math.max(modifiedAt(path), modifiedAt(`${path}-wal`));
  if (made > changed || Date.now() - made < COPY_AFTER_MS || Date.now() - (triedAt.get(path) ?? 0) < TRY_AFTER_MS) return;
  triedAt.set(path, Date.now());
  const draft = `${copy}.${process.pid}`;
  try {
    writePrivate(draft, "");
    kept.copyInto(draft);
    if (existsSync(copy)) renameSync(copy, before);
    renameSync(draft, copy);
  } catch (error) {
    rmSync(draft, { force: true });
    if (faultKind(error) === "damaged") throw error;
  }
}

const modifiedAt = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Sets the damaged file aside, for good. In its place comes all that was in it where that can still be read, else the last good copy, else nothing. */
function restore(path: string, identity: string | null, error: Error, save: (from: string, to: string) => boolean, talk: Talk): void {
  // Another process may have come first: then its file is used.
  if (identityOf(path) !== identity) return;
  const draft = `${path}.restored-${process.pid}`;
  rmSync(draft, { force: true });
  writePrivate(draft, "");
  const from = [path, ...copiesOf(path)].find((one) => existsSync(one) && save(one, draft));
  const aside = `${path}.damaged-${Date.now()}`;
  // The name is never free: whoever opened it then would begin with nothing.
  linkOrMove(path, aside);
  for (const suffix of ["-wal", "-shm"]) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  if (from === undefined) for (const empty of [draft, path]) rmSync(empty, { force: true });
  else renameSync(draft, path);
  const outcome =
    from === undefined
      ? "there is no good copy, so links, cards and the outbox begin empty"
      : from === path
        ? "everything in it could be saved"
        : `the copy of ${new Date(modifiedAt(from)).toISOString()} takes its place; what was decided since is lost`;
  talk(`${path} was damaged (${error.message}); it is now ${aside}, and ${outcome}`);
}

function linkOrMove(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    // A file system without hard links.
    renameSync(from, to);
  }
}

/** Looking leaves no trace: nothing is created where nobody decided anything yet. Null where it cannot be read. */
export async function manualLinks(env: Env, talk?: Talk): Promise<readonly ManualLink[] | null> {
  if (!existsSync(keptPath(env))) return [];
  try {
    const kept = await keep(env, talk);
    try {
      return kept.links();
    } finally {
      kept.close();
    }
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

export function linksChanged(before: readonly ManualLink[], now: readonly ManualLink[]): readonly ManualLink[] {
  // Links that an older version noted have no call and no request.
  const nameOf = ({ child, parent, call, request }: ManualLink) => JSON.stringify([child, parent, call ?? null, request ?? null]);
  const same = (a: ManualLink) => (b: ManualLink) => nameOf(a) === nameOf(b);
  return [...before.filter((link) => !now.some(same(link))), ...now.filter((link) => !before.some(same(link)))];
}
