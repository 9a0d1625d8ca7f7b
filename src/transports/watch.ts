import { type Dirent, existsSync, type FSWatcher, lstatSync, readdirSync, type Stats, statSync, watch } from "node:fs";
import { breathe } from "./files.ts";
import { dirname, join } from "./system/paths.ts";

export interface Watching {
  /** How many folders the operating system does not watch, so that they are polled. */
  readonly polled: number;
  stop(): Promise<void>;
}

export interface WatchOptions {
  readonly onPaths: (paths: readonly string[]) => void;
  readonly onError: (error: Error) => void;
  /** Told how many folders are polled, because the operating system watches no more, whenever that changes. */
  readonly onPolled?: (folders: number) => void;
  /** Whether the operating system can watch a folder with everything below it; for tests. */
  readonly isRecursive?: boolean;
  /** Instead of the operating system; for tests. */
  readonly watch?: typeof watch;
}

/** The limits that `fs.watch` runs into: of all watches, and of all watching processes. */
const LIMITS: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EMFILE"]);
/** Folders that are not watched are looked at this often, and not for more than a twentieth of the time. */
const POLL_MS = 1_000;
const POLL_SHARE = 20;

/**
 * Tells which paths below the folders changed, were made or went. Folders that are not there yet are waited for.
 * Of `shallow` ones only what lies right in them is told: below may be whole copies of projects.
 * Nothing that happens after it resolved is missed: docs/adr/015-watching.md says why we do it ourselves.
 */
export async function watchFolders(folders: readonly string[], shallow: readonly string[], options: WatchOptions): Promise<Watching> {
  const watches = new Watches(options);
  for (const folder of new Set(folders)) {
    watches.beginAt(folder, true);
    if (existsSync(folder)) await watches.below(folder);
    else watches.await(folder);
  }
  for (const folder of new Set(shallow)) {
    watches.beginAt(folder, false);
    if (existsSync(folder)) watches.add(folder);
    else watches.await(folder, false);
  }
  return {
    get polled() {
      return watches.polled;
    },
    stop: async () => watches.stop(),
  };
}

type OnChange = (is: "rename" | "change", name: string | null) => void;

/** A folder to be watched. */
interface Watched {
  readonly folder: string;
  readonly recursive: boolean;
  readonly onChange: OnChange;
}

/** One that is polled, and how what lies in it looked last. */
interface Polled extends Watched {
  readonly identity: string;
  stamps: ReadonlyMap<string, string>;
}

class Watches {
  readonly #watchers = new Map<string, { readonly watcher: FSWatcher; readonly identity: string }>();
  readonly #polled = new Map<string, Polled>();
  readonly #onPolled: (folders: number) => void;
  readonly #watch: typeof watch;
  #poll: NodeJS.Timeout | null = null;
  readonly #onPaths: WatchOptions["onPaths"];
  readonly #onError: WatchOptions["onError"];
  /** Linux has no word for "and everything below": each folder is watched by itself. */
  readonly #isRecursive: boolean;
  readonly #told = new Set<string>();
  /** The folders we were given, and whether with everything below: when one goes, it is waited for again. */
  readonly #beginnings = new Map<string, boolean>();
  #isStopped = false;

  constructor({ onPaths, onError, onPolled = () => {}, isRecursive = process.platform !== "linux", watch: own = watch }: WatchOptions) {
    this.#onPaths = onPaths;
    this.#onError = onError;
    this.#onPolled = onPolled;
    this.#isRecursive = isRecursive;
    this.#watch = own;
  }

  get polled(): number {
    return this.#polled.size;
  }

  /** A folder that is given both alone and with everything below counts as the latter. */
  beginAt(folder: string, isDeep: boolean): void {
    this.#beginnings.set(folder, isDeep || this.#beginnings.get(folder) === true);
  }

  /** A folder with everything below it, as it lies there. What is in it already is not told. */
  async below(folder: string): Promise<void> {
    if (this.#isRecursive) return this.#addTree(folder);
    // First look after it, then look into it: what comes meanwhile is told.
    for (const left = [folder]; left.length > 0 && !this.#isStopped; await breathe()) {
      const path = left.pop() as string;
      this.#enterable(path);
      for (const entry of entriesIn(path)) if (entry.isDirectory()) left.push(join(path, entry.name));
    }
  }

  /** A path that is new: if it is a folder, all that is in it already is told, and from now on what happens there. Links are not followed, except to where we begin. */
  #enter(path: string, isBeginning = false): void {
    const stat = (isBeginning ? statSync : lstatSync)(path, { throwIfNoEntry: false });
    if (stat?.isDirectory() !== true || (this.#watchers.get(path) ?? this.#polled.get(path))?.identity === identityOf(stat)) return;
    // One of the same name that went and came back is another one.
    this.#end(path);
    this.#enterable(path);
    const inside = entriesIn(path).map(({ name }) => join(path, name));
    if (inside.length > 0) this.#onPaths(inside);
    for (const one of inside) this.#enter(one);
  }

  #enterable(folder: string): void {
    this.add(folder, { onNew: (path) => this.#enter(path) });
  }

  /** Of a folder that is moved into a tree, macOS and Windows do not tell what is in it. */
  #addTree(folder: string): void {
    this.add(folder, { recursive: true, onNew: (path) => this.#tellBelow(path) });
  }

  #tellBelow(folder: string): void {
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return;
    const paths: string[] = [];
    for (const left = [folder]; left.length > 0; ) {
      const path = left.pop() as string;
      for (const entry of entriesIn(path)) {
        paths.push(join(path, entry.name));
        if (entry.isDirectory()) left.push(join(path, entry.name));
      }
    }
    if (paths.length > 0) this.#onPaths(paths);
  }

  /** Tells what happens right in a folder, or in all of it. */
  add(folder: string, { onNew, recursive = false }: { onNew?: (path: string) => void; recursive?: boolean } = {}): void {
    if (this.#isStopped || this.#watchers.has(folder) || this.#polled.has(folder)) return;
    this.#start(folder, folder, recursive, (is, name) => {
      if (name !== null) this.#onPaths([join(folder, name)]);
      // Windows names nothing when more happened than it could note down: anything may have changed.
      else if (recursive) this.#tellBelow(folder);
      else this.#onPaths(entriesIn(folder).map((entry) => join(folder, entry.name)));
      if (is !== "rename") return;
      if (name !== null) onNew?.(join(folder, name));
      if (this.#isAnother(folder)) this.#lose(folder);
    });
  }

  /** Until a folder is there, by way of the nearest one above it: a whole home is too much to watch for one folder that may come to be. */
  await(folder: string, isDeep = true): void {
    const above = nearestFolder(folder);
    if (above === folder) {
      if (!isDeep) this.add(folder);
      else if (this.#isRecursive) this.#addTree(folder);
      this.#onPaths(entriesIn(folder).map(({ name }) => join(folder, name)));
      if (isDeep && this.#isRecursive) this.#tellBelow(folder);
      else if (isDeep) this.#enter(folder, true);
      return;
    }
    const key = `${above} for ${isDeep ? "all of " : ""}${folder}`;
    const look = () => {
      if (this.#isStopped || (!existsSync(folder) && nearestFolder(folder) === above)) return;
      this.#end(key);
      this.await(folder, isDeep);
    };
    this.#start(key, above, false, look);
    look();
  }

  /** Gone, or gone and made anew: then nothing more is told of it. */
  #isAnother(folder: string): boolean {
    const watched = this.#watchers.get(folder) ?? this.#polled.get(folder);
    const stat = statSync(folder, { throwIfNoEntry: false });
    return stat === undefined || (watched !== undefined && watched.identity !== identityOf(stat));
  }

  #lose(folder: string): void {
    this.#end(folder);
    const isDeep = this.#beginnings.get(folder);
    if (isDeep !== undefined && !this.#isStopped) this.await(folder, isDeep);
  }

  #start(key: string, folder: string, recursive: boolean, onChange: OnChange): void {
    const watched = { folder, recursive, onChange };
    const error = this.#begin(key, watched);
    if (error !== null) this.#fail(key, watched, error);
  }

  /** Has the operating system watch a folder; the error where it does not. */
  #begin(key: string, watched: Watched): NodeJS.ErrnoException | null {
    const { folder, recursive, onChange } = watched;
    try {
      const watcher = this.#watch(folder, { recursive }, onChange).on("error", (error) => {
        this.#end(key);
        this.#fail(key, watched, error);
      });
      this.#watchers.set(key, { watcher, identity: identityOf(statSync(folder, { throwIfNoEntry: false })) });
      return null;
    } catch (error) {
      return error as NodeJS.ErrnoException;
    }
  }

  /** A folder that is gone is not watched any more, and that is no failure. One reason is told once: there may be thousands of folders. */
  #fail(key: string, watched: Watched, error: NodeJS.ErrnoException): void {
    const { folder, recursive } = watched;
    if (this.#isStopped) return;
    // Windows tells by an error that a watched folder was deleted.
    if (!existsSync(folder)) {
      watched.onChange("rename", null);
      return;
    }
    if (LIMITS.has(error.code)) {
      this.#polled.set(key, { ...watched, identity: identityOf(statSync(folder, { throwIfNoEntry: false })), stamps: stampsIn(folder, recursive) });
      this.#onPolled(this.polled);
      this.#pollSoon(POLL_MS);
    }
    if (this.#told.has(error.code ?? error.message)) return;
    this.#told.add(error.code ?? error.message);
    this.#onError(LIMITS.has(error.code) ? new Error(`${limitOf(error)}; other folders are polled instead, so that changes there show later`) : error);
  }

  #pollSoon(ms: number): void {
    if (this.#polled.size === 0 || this.#isStopped) return;
    this.#poll ??= setTimeout(() => void this.#lookAround(), ms);
  }

  async #lookAround(): Promise<void> {
    const began = performance.now();
    let hasRoom = true;
    for (const [key, polled] of this.#polled) {
      // Others may have stopped watching: then this folder is watched from here on, and looked at a last time.
      hasRoom &&= this.#begin(key, polled) === null;
      if (hasRoom) this.#polled.delete(key);
      this.#compare(polled);
      await breathe();
      if (this.#isStopped) return;
    }
    if (hasRoom) this.#told.clear();
    this.#onPolled(this.polled);
    this.#poll = null;
    this.#pollSoon(Math.max(POLL_MS, POLL_SHARE * (performance.now() - began)));
  }

  #compare(polled: Polled): void {
    const { folder, recursive, onChange } = polled;
    const before = polled.stamps;
    polled.stamps = stampsIn(folder, recursive);
    for (const [name, stamp] of polled.stamps) if (before.get(name) !== stamp) onChange(before.has(name) ? "change" : "rename", name);
    for (const name of before.keys()) if (!polled.stamps.has(name)) onChange("rename", name);
    if (!existsSync(folder)) onChange("rename", null);
  }

  #end(key: string): void {
    this.#watchers.get(key)?.watcher.close();
    this.#watchers.delete(key);
    this.#polled.delete(key);
  }

  stop(): void {
    this.#isStopped = true;
    for (const { watcher } of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    this.#polled.clear();
    if (this.#poll !== null) clearTimeout(this.#poll);
  }
}

const limitOf = ({ code }: NodeJS.ErrnoException) =>
  code === "ENOSPC"
    ? "the system watches no more folders (fs.inotify.max_user_watches)"
    : "the system lets no more processes watch (fs.inotify.max_user_instances)";

/** How what lies in a folder looks: of files what changes when they are written, of folders only that they are there. */
function stampsIn(folder: string, recursive: boolean): ReadonlyMap<string, string> {
  const stamps = new Map<string, string>();
  for (const name of namesIn(folder, recursive)) {
    const stat = lstatSync(join(folder, name), { throwIfNoEntry: false });
    if (stat !== undefined) stamps.set(name, stat.isDirectory() ? identityOf(stat) : `${stat.ino} ${stat.size} ${stat.mtimeMs}`);
  }
  return stamps;
}

function namesIn(folder: string, recursive: boolean): readonly string[] {
  try {
    return readdirSync(folder, { recursive, encoding: "utf8" });
  } catch {
    // Gone; that is told by its absence.
    return [];
  }
}

/** Numbers of folders that went are given to new ones at once; when they were made tells them apart. */
const identityOf = (stat: Stats | undefined) => `${stat?.ino} ${stat?.birthtimeMs}`;

function entriesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Gone again; that will be told.
    return [];
  }
}

function nearestFolder(folder: string): string {
  let at = folder;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return at;
}
