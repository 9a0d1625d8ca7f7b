import { existsSync, linkSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import type { ManualLink } from "../../core/link/parents.ts";
import type { Kept } from "../../core/ports/kept.ts";
import { faultKind } from "../../stores/fault.ts";
import { privateDatabase, writePrivate } from "../../transports/private.ts";
import { NotAFile } from "../../transports/regular.ts";
import { basename, dirname, join } from "../../transports/system/paths.ts";
import { exists } from "../../transports/system/system.ts";
import { type KeptFiles, keptFiles } from "../databases.ts";
import { asFailure, Failure } from "../failure.ts";
import { type Env, madeHome, retinueHome } from "../home.ts";
import { identityOf } from "../ingest/index-file.ts";

export const keptPath = (env: Env) => join(retinueHome(env), "kept.sqlite");

/** The last good copies, newest first. */
const copiesOf = (path: string) => [`${path}.copy`, `${path}.copy-before`] as const;
const COPY_AFTER_MS = 24 * 3_600_000;
/** Interval between attempts to make a copy, for example on a full disk. */
const TRY_AFTER_MS = 3_600_000;

type Notify = (text: string) => void;
/** Damage is always reported, also with --quiet. */
const toStderr: Notify = (text) => void process.stderr.write(`retinue: ${text}\n`);

/**
 * Opens kept.sqlite, creating it on first use. If it is damaged, moves it aside and restores what can be read before
 * the call returns. Opens it read-only if it cannot be written.
 */
export async function openKept(env: Env, notify: Notify = toStderr): Promise<Kept> {
  const handle = new KeptHandle(env, await keptFiles(), notify);
  try {
    handle.use(() => null);
  } catch (error) {
    throw error instanceof Failure
      ? error
      : new Failure("failed", `cannot open ${keptPath(env)}: ${(error as Error).message}`, [], error);
  }
  return {
    ...handle.proxied((kept) => kept),
    outbox: handle.proxied((kept) => kept.outbox),
    close: () => handle.close(),
  };
}

/** The open file. It is opened again after an error, and restored if it is damaged. */
class KeptHandle {
  readonly #env: Env;
  readonly #path: string;
  readonly #files: KeptFiles;
  readonly #notify: Notify;
  /** Identifies the file that was opened last. */
  #identity: string | null = null;
  #kept: Kept | null = null;

  constructor(env: Env, files: KeptFiles, notify: Notify) {
    this.#env = env;
    this.#path = keptPath(env);
    this.#files = files;
    this.#notify = notify;
  }

  /** Runs the work. If the file is damaged, restores it and runs the work again. */
  use<T>(work: (kept: Kept) => T): T {
    try {
      try {
        return this.#attempt(work);
      } catch (error) {
        if (faultKind(error) !== "damaged") throw error;
        restore(this.#path, this.#identity, error as Error, this.#files.copy, this.#notify);
        return this.#attempt(work);
      }
    } catch (error) {
      throw asFailure(error, `cannot use ${this.#path}`) ?? error;
    }
  }

  /** A copy of a part of the file's interface whose methods run with `use`. */
  proxied<T extends object>(part: (kept: Kept) => T): T {
    const methods = Object.keys(this.use(part)).map((name) => [
      name,
      (...args: unknown[]) =>
        this.use((kept) => Reflect.apply(Reflect.get(part(kept), name) as (...args: unknown[]) => unknown, null, args)),
    ]);
    return Object.fromEntries(methods) as T;
  }

  close(): void {
    this.use((kept) => copyDaily(kept, this.#path));
    close(this.#kept);
  }

  #attempt<T>(work: (kept: Kept) => T): T {
    try {
      this.#kept ??= this.#open();
      return work(this.#kept);
    } catch (error) {
      // Reopen the file for the next call.
      if (faultKind(error) !== null) {
        close(this.#kept);
        this.#kept = null;
      }
      throw error;
    }
  }

  #open(): Kept {
    try {
      madeHome(this.#env);
      privateDatabase(this.#path);
      return this.#files.open(this.#path);
    } catch (error) {
      if (error instanceof NotAFile || faultKind(error) !== "unwritable" || !existsSync(this.#path)) throw error;
      return this.#files.open(this.#path, { readOnly: true });
    } finally {
      this.#identity = identityOf(this.#path);
    }
  }
}

function close(kept: Kept | null): void {
  try {
    kept?.close();
  } catch {
    // Closed when the process ends.
  }
}

const triedAt = new Map<string, number>();

/** Makes a copy at most once a day. A copy that fails is tried again later; damage found during the copy is thrown. */
function copyDaily(kept: Kept, path: string): void {
  const [copy, before] = copiesOf(path);
  const made = modifiedAt(copy);
  const changed = Math.max(modifiedAt(path), modifiedAt(`${path}-wal`));
  if (made > changed || Date.now() - made < COPY_AFTER_MS || Date.now() - (triedAt.get(path) ?? 0) < TRY_AFTER_MS)
    return;
  triedAt.set(path, Date.now());
  const draft = `${copy}.${process.pid}`;
  try {
    removeDrafts(path);
    writePrivate(draft, "");
    kept.copyInto(draft);
    if (existsSync(copy)) renameSync(copy, before);
    renameSync(draft, copy);
  } catch (error) {
    rmSync(draft, { force: true });
    if (faultKind(error) === "damaged") throw error;
  }
}

const DRAFT = /^\.(?:copy\.|restored-)(\d+)(?:-journal)?$/;

/** Removes drafts of processes that were killed while they wrote them. The next copy is due then, so none stays. */
function removeDrafts(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    const pid = name.startsWith(basename(path)) ? DRAFT.exec(name.slice(basename(path).length))?.[1] : undefined;
    if (pid !== undefined && !exists(Number(pid))) rmSync(join(dirname(path), name), { force: true });
  }
}

const modifiedAt = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Moves the damaged file aside. Replaces it by its readable contents, else by the last good copy, else by nothing. */
function restore(
  path: string,
  identity: string | null,
  error: Error,
  save: (from: string, to: string) => boolean,
  notify: Notify,
): void {
  // Another process has already restored it.
  if (identityOf(path) !== identity) return;
  const draft = `${path}.restored-${process.pid}`;
  rmSync(draft, { force: true });
  writePrivate(draft, "");
  const from = [path, ...copiesOf(path)].find((one) => existsSync(one) && save(one, draft));
  const aside = `${path}.damaged-${Date.now()}`;
  // The path must always exist, because a process that opens it otherwise creates an empty file.
  linkOrMove(path, aside);
  for (const suffix of ["-wal", "-shm"]) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  if (from === undefined) for (const empty of [draft, path]) rmSync(empty, { force: true });
  else renameSync(draft, path);
  const outcome =
    from === undefined
      ? "no good copy exists, so links, cards and the outbox are empty"
      : from === path
        ? "all its data was saved"
        : `the copy of ${new Date(modifiedAt(from)).toISOString()} was restored; later changes are lost`;
  notify(`${path} was damaged (${error.message}); it was moved to ${aside}; ${outcome}`);
}

function linkOrMove(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    // The file system has no hard links.
    renameSync(from, to);
  }
}

/** File times may be this coarse, so a file that was just modified may change again without a new time. */
const TIME_RESOLUTION_MS = 2_000;

/** Changes with kept.sqlite. Null if it was modified so recently that the next change may not be visible. */
export function keptStamp(env: Env): string | null {
  const files = [keptPath(env), `${keptPath(env)}-wal`].map((path) => statSync(path, { throwIfNoEntry: false }));
  if (files.some((file) => file !== undefined && file.ctimeMs > Date.now() - TIME_RESOLUTION_MS)) return null;
  return files.map((file) => (file === undefined ? "-" : `${file.ino} ${file.size} ${file.ctimeMs}`)).join(" ");
}

/** The manual links; null if the file cannot be read. Does not create the file. */
export async function manualLinks(env: Env, notify?: Notify): Promise<readonly ManualLink[] | null> {
  if (!existsSync(keptPath(env))) return [];
  try {
    const kept = await openKept(env, notify);
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

/** The links that only one of the lists contains. */
export function linksChanged(before: readonly ManualLink[], now: readonly ManualLink[]): readonly ManualLink[] {
  // Links written by older versions have no call and no request.
  const nameOf = ({ child, parent, call, request }: ManualLink) =>
    JSON.stringify([child, parent, call ?? null, request ?? null]);
  const same = (a: ManualLink) => (b: ManualLink) => nameOf(a) === nameOf(b);
  return [...before.filter((link) => !now.some(same(link))), ...now.filter((link) => !before.some(same(link)))];
}
