import { type Dirent, existsSync, type FSWatcher, lstatSync, readdirSync, type Stats, statSync, watch } from "node:fs";
import { breathe } from "./files.ts";
import { dirname, join } from "./system/paths.ts";

export interface Watching {
  stop(): Promise<void>;
}

export interface WatchOptions {
  readonly onPaths: (paths: readonly string[]) => void;
  readonly onError: (error: Error) => void;
  /** Whether the operating system can watch a folder with everything below it; for tests. */
  readonly isRecursive?: boolean;
}

/**
 * Tells which paths below the folders changed, were made or went. Folders that are not there yet are waited for.
 * Of `shallow` ones only what lies right in them is told: below may be whole copies of projects.
 * Nothing that happens after it resolved is missed: docs/adr/015-watching.md says why we do it ourselves.
 */
export async function watchFolders(folders: readonly string[], shallow: readonly string[], options: WatchOptions): Promise<Watching> {
  const watches = new Watches(options);
  for (const folder of new Set(folders)) {
    if (existsSync(folder)) await watches.below(folder);
    else watches.await(folder);
  }
  for (const folder of new Set(shallow)) {
    if (existsSync(folder)) watches.add(folder);
    else watches.await(folder, false);
  }
  return {
    stop: async () => watches.stop(),
  };
}

class Watches {
  readonly #watchers = new Map<string, { readonly watcher: FSWatcher; readonly identity: string }>();
  readonly #onPaths: WatchOptions["onPaths"];
  readonly #onError: WatchOptions["onError"];
  /** Linux has no word for "and everything below": each folder is watched by itself. */
  readonly #isRecursive: boolean;
  readonly #told = new Set<string>();
  #isStopped = false;

  constructor({ onPaths, onError, isRecursive = process.platform !== "linux" }: WatchOptions) {
    this.#onPaths = onPaths;
    this.#onError = onError;
    this.#isRecursive = isRecursive;
  }

  /** A folder with everything below it, as it lies there. What is in it already is not told. */
  async below(folder: string): Promise<void> {
    if (this.#isRecursive) return this.add(folder, { recursive: true });
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
    if (stat?.isDirectory() !== true || this.#watchers.get(path)?.identity === identityOf(stat)) return;
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

  /** Tells what happens right in a folder, or in all of it. */
  add(folder: string, { onNew, recursive = false }: { onNew?: (path: string) => void; recursive?: boolean } = {}): void {
    if (this.#isStopped || this.#watchers.has(folder)) return;
    this.#start(folder, folder, recursive, (is, name) => {
      if (name !== null) this.#onPaths([join(folder, name)]);
      if (is !== "rename") return;
      if (name !== null) onNew?.(join(folder, name));
      if (!existsSync(folder)) this.#end(folder);
    });
  }

  /** Until a folder is there, by way of the nearest one above it: a whole home is too much to watch for one folder that may come to be. */
  await(folder: string, isDeep = true): void {
    const above = nearestFolder(folder);
    if (above === folder) {
      if (!isDeep) this.add(folder);
      this.#onPaths(entriesIn(folder).map(({ name }) => join(folder, name)));
      if (isDeep && this.#isRecursive) this.add(folder, { recursive: true });
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

  #start(key: string, folder: string, recursive: boolean, onChange: (is: "rename" | "change", name: string | null) => void): void {
    try {
      const watcher = watch(folder, { recursive }, onChange).on("error", (error) => {
        this.#end(key);
        this.#fail(folder, error);
      });
      this.#watchers.set(key, { watcher, identity: identityOf(statSync(folder, { throwIfNoEntry: false })) });
    } catch (error) {
      this.#fail(folder, error as Error);
    }
  }

  /** A folder that is gone is not watched any more, and that is no failure. One reason is told once: there may be thousands of folders. */
  #fail(folder: string, error: NodeJS.ErrnoException): void {
    if (!existsSync(folder) || this.#told.has(error.code ?? error.message)) return;
    this.#told.add(error.code ?? error.message);
    this.#onError(error.code === "ENOSPC" ? new Error(`${folder}: the operating system watches no more folders (fs.inotify.max_user_watches)`) : error);
  }

  #end(key: string): void {
    this.#watchers.get(key)?.watcher.close();
    this.#watchers.delete(key);
  }

  stop(): void {
    this.#isStopped = true;
    for (const { watcher } of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
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
