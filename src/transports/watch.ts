import { type Dirent, existsSync, type FSWatcher, lstatSync, readdirSync, type Stats, statSync, watch } from "node:fs";
import { yieldToEventLoop } from "./files.ts";
import { dirname, join } from "./system/paths.ts";

export interface Watching {
  /** Number of folders that cannot be watched and are polled. */
  readonly polled: number;
  /** Watches folders whose creation was not reported, because the system dropped notifications. */
  watchNew(): Promise<void>;
  stop(): Promise<void>;
}

export interface WatchOptions {
  readonly onPaths: (paths: readonly string[]) => void;
  readonly onError: (error: Error) => void;
  /** Called with the number of polled folders whenever it changes. */
  readonly onPolled?: (folders: number) => void;
  /** Whether the system can watch recursively; for tests. */
  readonly isRecursive?: boolean;
  /** Replaces fs.watch; for tests. */
  readonly watch?: typeof watch;
}

/** inotify limits: number of watches, and number of instances. */
const LIMITS: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EMFILE"]);
/** Minimum poll interval of folders that cannot be watched; polling takes at most one twentieth of the time. */
const POLL_MS = 1_000;
const POLL_SHARE = 20;

/**
 * Reports paths below the folders that were changed, created or deleted, and waits for folders that do not exist yet.
 * For `shallow` folders only direct entries are reported, because they may contain copies of whole projects. No change
 * after it resolves is missed; see docs/adr/015-watch-with-fs-watch.md.
 */
export async function watchFolders(
  folders: readonly string[],
  shallow: readonly string[],
  options: WatchOptions,
): Promise<Watching> {
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
    watchNew: () => watches.watchNew(),
    stop: async () => watches.stop(),
  };
}

type OnChange = (is: "rename" | "change", name: string | null) => void;

/** A watched folder. */
interface Watched {
  readonly folder: string;
  readonly recursive: boolean;
  readonly onChange: OnChange;
}

/** A polled folder with the last stamps of its entries. */
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
  /** Linux has no recursive watches: each folder is watched separately. */
  readonly #isRecursive: boolean;
  readonly #reported = new Set<string>();
  /** The given folders, and whether recursively: if one is deleted, it is waited for again. */
  readonly #given = new Map<string, boolean>();
  #isStopped = false;

  constructor({
    onPaths,
    onError,
    onPolled = () => {},
    isRecursive = process.platform !== "linux",
    watch: own = watch,
  }: WatchOptions) {
    this.#onPaths = onPaths;
    this.#onError = onError;
    this.#onPolled = onPolled;
    this.#isRecursive = isRecursive;
    this.#watch = own;
  }

  get polled(): number {
    return this.#polled.size;
  }

  /** Adds one of the given folders. A folder given both shallow and deep counts as deep. */
  beginAt(folder: string, isDeep: boolean): void {
    this.#given.set(folder, isDeep || this.#given.get(folder) === true);
  }

  /** Watches a folder recursively. Existing entries are not reported. */
  async below(folder: string): Promise<void> {
    if (this.#isRecursive) return this.#addTree(folder);
    // Watch first, then list, so that nothing in between is missed.
    for (const left = [folder]; left.length > 0 && !this.#isStopped; await yieldToEventLoop()) {
      const path = left.pop() as string;
      this.#enterable(path);
      for (const entry of entriesIn(path)) if (entry.isDirectory()) left.push(join(path, entry.name));
    }
  }

  async watchNew(): Promise<void> {
    if (this.#isRecursive) return;
    for (const [folder, isDeep] of this.#given) if (isDeep && existsSync(folder)) await this.below(folder);
  }

  /**
   * A new path: if it is a folder, reports its entries and watches it. Links are not followed, except for the given
   * folders.
   */
  #enter(path: string, isBeginning = false): void {
    const stat = (isBeginning ? statSync : lstatSync)(path, { throwIfNoEntry: false });
    if (
      stat?.isDirectory() !== true ||
      (this.#watchers.get(path) ?? this.#polled.get(path))?.identity === identityOf(stat)
    )
      return;
    // A folder that was deleted and created again is another one.
    this.#end(path);
    this.#enterable(path);
    const inside = entriesIn(path);
    if (inside.length > 0) this.#onPaths(inside.map(({ name }) => join(path, name)));
    for (const one of inside) if (one.isDirectory()) this.#enter(join(path, one.name));
  }

  #enterable(folder: string): void {
    this.add(folder, { onNew: (path) => this.#enter(path) });
  }

  /** macOS and Windows do not report the contents of a folder that is moved into a tree. */
  #addTree(folder: string): void {
    this.add(folder, { recursive: true, onNew: (path) => this.#reportBelow(path) });
  }

  #reportBelow(folder: string): void {
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

  /** Watches a folder, optionally recursively. */
  add(
    folder: string,
    { onNew, recursive = false }: { onNew?: (path: string) => void; recursive?: boolean } = {},
  ): void {
    if (this.#isStopped || this.#watchers.has(folder) || this.#polled.has(folder)) return;
    this.#start(folder, folder, recursive, (is, name) => {
      if (name !== null) this.#onPaths([join(folder, name)]);
      // On overflow Windows names no file: anything may have changed.
      else if (recursive) this.#reportBelow(folder);
      else this.#onPaths(entriesIn(folder).map((entry) => join(folder, entry.name)));
      if (is !== "rename") return;
      if (name !== null) onNew?.(join(folder, name));
      if (this.#isAnother(folder)) this.#lose(folder);
    });
  }

  /** Waits for a folder by watching the nearest existing ancestor; watching a whole home would be too expensive. */
  await(folder: string, isDeep = true): void {
    const above = nearestFolder(folder);
    if (above === folder) {
      if (!isDeep) this.add(folder);
      else if (this.#isRecursive) this.#addTree(folder);
      this.#onPaths(entriesIn(folder).map(({ name }) => join(folder, name)));
      if (isDeep && this.#isRecursive) this.#reportBelow(folder);
      else if (isDeep) this.#enter(folder, true);
      return;
    }
    const key = `${above} for ${isDeep ? "all of " : ""}${folder}`;
    const check = () => {
      if (this.#isStopped || (!existsSync(folder) && nearestFolder(folder) === above)) return;
      this.#end(key);
      this.await(folder, isDeep);
    };
    this.#start(key, above, false, check);
    check();
  }

  /** The folder was deleted, or deleted and created again; the watch is dead. */
  #isAnother(folder: string): boolean {
    const watched = this.#watchers.get(folder) ?? this.#polled.get(folder);
    const stat = statSync(folder, { throwIfNoEntry: false });
    return stat === undefined || (watched !== undefined && watched.identity !== identityOf(stat));
  }

  #lose(folder: string): void {
    this.#end(folder);
    const isDeep = this.#given.get(folder);
    if (isDeep !== undefined && !this.#isStopped) this.await(folder, isDeep);
  }

  #start(key: string, folder: string, recursive: boolean, onChange: OnChange): void {
    const watched = { folder, recursive, onChange };
    const error = this.#begin(key, watched);
    if (error !== null) this.#fail(key, watched, error);
  }

  /** Starts a watch; returns the error if it fails. */
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

  /** A deleted folder is no failure. Each reason is reported once, because there may be thousands of folders. */
  #fail(key: string, watched: Watched, error: NodeJS.ErrnoException): void {
    const { folder, recursive } = watched;
    if (this.#isStopped) return;
    // Windows reports a deleted folder as an error.
    if (!existsSync(folder)) {
      watched.onChange("rename", null);
      return;
    }
    if (LIMITS.has(error.code)) {
      this.#polled.set(key, {
        ...watched,
        identity: identityOf(statSync(folder, { throwIfNoEntry: false })),
        stamps: stampsIn(folder, recursive),
      });
      this.#onPolled(this.polled);
      this.#pollSoon(POLL_MS);
    }
    if (this.#reported.has(error.code ?? error.message)) return;
    this.#reported.add(error.code ?? error.message);
    this.#onError(
      LIMITS.has(error.code)
        ? new Error(`${limitOf(error)}; other folders are polled, so changes there are noticed later`)
        : error,
    );
  }

  #pollSoon(ms: number): void {
    if (this.#polled.size === 0 || this.#isStopped) return;
    this.#poll ??= setTimeout(() => void this.#pollAll(), ms);
  }

  async #pollAll(): Promise<void> {
    const began = performance.now();
    let hasRoom = true;
    for (const [key, polled] of this.#polled) {
      // Watches may have become available: watch this folder again and check it a last time.
      hasRoom &&= this.#begin(key, polled) === null;
      if (hasRoom) this.#polled.delete(key);
      this.#compare(polled);
      await yieldToEventLoop();
      if (this.#isStopped) return;
    }
    if (hasRoom) this.#reported.clear();
    this.#onPolled(this.polled);
    this.#poll = null;
    this.#pollSoon(Math.max(POLL_MS, POLL_SHARE * (performance.now() - began)));
  }

  #compare(polled: Polled): void {
    const { folder, recursive, onChange } = polled;
    const before = polled.stamps;
    polled.stamps = stampsIn(folder, recursive);
    for (const [name, stamp] of polled.stamps)
      if (before.get(name) !== stamp) onChange(before.has(name) ? "change" : "rename", name);
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
    ? "the limit of watched folders is reached (fs.inotify.max_user_watches)"
    : "the limit of inotify instances is reached (fs.inotify.max_user_instances)";

/** Stamps of a folder's entries: size and time of files, existence of folders. */
function stampsIn(folder: string, recursive: boolean): ReadonlyMap<string, string> {
  const stamps = new Map<string, string>();
  for (const name of namesIn(folder, recursive)) {
    const stat = lstatSync(join(folder, name), { throwIfNoEntry: false });
    if (stat !== undefined)
      stamps.set(name, stat.isDirectory() ? identityOf(stat) : `${stat.ino} ${stat.size} ${stat.mtimeMs}`);
  }
  return stamps;
}

function namesIn(folder: string, recursive: boolean): readonly string[] {
  try {
    return readdirSync(folder, { recursive, encoding: "utf8" });
  } catch {
    // Deleted; noticed by its absence.
    return [];
  }
}

/** Inodes of deleted folders are reused at once; the creation time distinguishes them. */
const identityOf = (stat: Stats | undefined) => `${stat?.ino} ${stat?.birthtimeMs}`;

function entriesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Deleted again; this will be reported.
    return [];
  }
}

function nearestFolder(folder: string): string {
  let at = folder;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return at;
}
