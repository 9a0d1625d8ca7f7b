import { existsSync, type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import type { AsyncSubscription } from "@parcel/watcher";

export interface Watching {
  stop(): Promise<void>;
}

/**
 * Tells which paths below the folders changed, were made or went. Folders that are not there yet are waited for.
 * Of `shallow` ones only what lies right in them is told: below may be whole copies of projects.
 */
export async function watchFolders(
  folders: readonly string[],
  shallow: readonly string[],
  onPaths: (paths: readonly string[]) => void,
  onError: (error: Error) => void,
): Promise<Watching> {
  // Native, and only ever needed by those who follow along.
  const { default: watcher } = await import("@parcel/watcher");
  const subscriptions: AsyncSubscription[] = [];
  const near = new NearWatch(onPaths, onError);
  let isStopped = false;
  const subscribe = async (folder: string) => {
    const subscription = await watcher.subscribe(folder, (error, events) => {
      if (error !== null) onError(error);
      for (const { type, path } of events) if (type === "create") near.enter(path);
      if (events.length > 0) onPaths(events.map((event) => event.path));
    });
    if (isStopped) await subscription.unsubscribe();
    else subscriptions.push(subscription);
  };
  for (const folder of new Set(folders)) {
    if (existsSync(folder)) await subscribe(folder);
    else
      near.await(folder, () => {
        subscribe(folder).catch(onError);
        near.enter(folder);
      });
  }
  for (const folder of shallow) if (existsSync(folder)) near.add(folder);
  return {
    stop: async () => {
      isStopped = true;
      near.stop();
      // A folder that is gone is not watched any more, and says so.
      for (const subscription of subscriptions) await subscription.unsubscribe().catch(() => {});
    },
  };
}

/**
 * Looks at single folders, itself. The recursive watcher of Linux misses what is made in a new folder before it has noticed the folder,
 * and folders in it for good; and a whole home is too much to watch for one folder that may come to be.
 */
class NearWatch {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #onPaths: (paths: readonly string[]) => void;
  readonly #onError: (error: Error) => void;

  constructor(onPaths: (paths: readonly string[]) => void, onError: (error: Error) => void) {
    this.#onPaths = onPaths;
    this.#onError = onError;
  }

  /** Tells what happens right in a folder. */
  add(folder: string, onName: (path: string) => void = (path) => this.#onPaths([path])): void {
    const gone = () => {
      this.#watchers.get(folder)?.close();
      this.#watchers.delete(folder);
    };
    try {
      gone();
      const watching = watch(folder, (_, name) => {
        if (name !== null) onName(join(folder, name));
        if (!existsSync(folder)) gone();
      });
      this.#watchers.set(
        folder,
        watching.on("error", (error) => {
          gone();
          if (existsSync(folder)) this.#onError(error);
        }),
      );
    } catch (error) {
      if (existsSync(folder)) this.#onError(error as Error);
    }
  }

  /** A path that is new: if it is a folder, all that is in it already, and from now on what happens there. */
  enter(path: string): void {
    if (this.#watchers.has(path) || statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return;
    // First look after it, then look into it: what comes meanwhile is told twice, not never.
    this.add(path, (inside) => {
      this.#onPaths([inside]);
      this.enter(inside);
    });
    const inside = namesIn(path).map((name) => join(path, name));
    if (inside.length > 0) this.#onPaths(inside);
    for (const one of inside) this.enter(one);
  }

  /** Until a folder is there, by way of the nearest one above it. */
  await(folder: string, onThere: () => void): void {
    const above = nearestFolder(folder);
    if (above === folder) {
      onThere();
      return;
    }
    const look = () => {
      if (!existsSync(folder) && nearestFolder(folder) === above) return;
      this.#watchers.get(key)?.close();
      this.#watchers.delete(key);
      this.await(folder, onThere);
    };
    const key = `${above} for ${folder}`;
    try {
      this.#watchers.set(key, watch(above, look).on("error", look));
    } catch (error) {
      this.#onError(error as Error);
      return;
    }
    look();
  }

  stop(): void {
    for (const one of this.#watchers.values()) one.close();
    this.#watchers.clear();
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
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
