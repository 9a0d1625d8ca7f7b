import { existsSync, watch } from "node:fs";
import { join } from "node:path";
import type { AsyncSubscription } from "@parcel/watcher";

export interface Watching {
  stop(): Promise<void>;
}

/**
 * Tells which paths below the folders changed, were made or went. Folders that are not there yet are looked at through the nearest one above them.
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
  const wanted = (path: string) => folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
  const subscriptions: AsyncSubscription[] = [];
  for (const folder of new Set(folders.map(nearestFolder))) {
    const subscription = await watcher.subscribe(folder, (error, events) => {
      if (error !== null) return onError(error);
      const paths = events.map((event) => event.path).filter(wanted);
      if (paths.length > 0) onPaths(paths);
    });
    subscriptions.push(subscription);
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
      for (const one of watchers) one.close();
      for (const subscription of subscriptions) await subscription.unsubscribe();
    },
  };
}

function nearestFolder(folder: string): string {
  let at = folder;
  while (!existsSync(at) && at.includes("/")) at = at.slice(0, at.lastIndexOf("/")) || "/";
  return at;
}
