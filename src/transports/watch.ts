import { existsSync, type FSWatcher, readdirSync, watch } from "node:fs";
import { join } from "node:path";
import type { AsyncSubscription } from "@parcel/watcher";

export interface Watching {
  stop(): Promise<void>;
}

/**
 * Tells which paths below the folders changed, were made or went. For folders that are not there yet the nearest one above them is watched, and nothing
 * else in it: that may be somebody's whole home.
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
  const awaited = new Set<FSWatcher>();
  let isStopped = false;
  const subscribe = async (folder: string) => {
    const subscription = await watcher.subscribe(folder, (error, events) => {
      if (error !== null) onError(error);
      else onPaths(events.map((event) => event.path));
    });
    if (isStopped) await subscription.unsubscribe();
    else subscriptions.push(subscription);
  };
  const awaitFolder = (folder: string) => {
    const above = nearestFolder(folder);
    const waiting = watch(above, () => {
      if (isStopped || nearestFolder(folder) === above) return;
      waiting.close();
      awaited.delete(waiting);
      if (!existsSync(folder)) return awaitFolder(folder);
      // Whatever was written before it was watched is told now.
      subscribe(folder).then(() => onPaths(filesBelow(folder)), onError);
    }).on("error", onError);
    awaited.add(waiting);
    // It may have come in between.
    if (nearestFolder(folder) !== above) waiting.emit("change", "rename", null);
  };
  for (const folder of new Set(folders)) {
    if (existsSync(folder)) await subscribe(folder);
    else awaitFolder(folder);
  }
  const watchers = shallow
    .filter((folder) => existsSync(folder))
    .map((folder) =>
      watch(folder, (_, name) => {
        if (name !== null) onPaths([join(folder, name)]);
      }).on("error", onError),
    );
  return {
    stop: async () => {
      isStopped = true;
      for (const one of [...watchers, ...awaited]) one.close();
      // A folder that is gone is not watched any more, and says so.
      for (const subscription of subscriptions) await subscription.unsubscribe().catch(() => {});
    },
  };
}

function nearestFolder(folder: string): string {
  let at = folder;
  while (!existsSync(at) && at.includes("/")) at = at.slice(0, at.lastIndexOf("/")) || "/";
  return at;
}

function filesBelow(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  } catch {
    // It is gone again.
    return [];
  }
}
