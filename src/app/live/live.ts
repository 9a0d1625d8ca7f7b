import { plural } from "../../core/tools/format.ts";
import { ROOT_ITSELF } from "../../transports/files.ts";
import { privateFolder } from "../../transports/private.ts";
import { basename, dirname, join } from "../../transports/system/paths.ts";
import { type Watching, type WatchOptions, watchFolders } from "../../transports/watch.ts";
import { recordingsRoot } from "../home.ts";
import { bothChanges, type Changes, NO_CHANGES } from "../ingest/changes.ts";
import type { Library } from "../ingest/library.ts";
import { persistently } from "./retry.ts";
import { type AllOptions, FIRST_PAGE, type LiveOptions, Rounds } from "./rounds.ts";
import { Troubles } from "./troubles.ts";

export { FIRST_PAGE, type LiveOptions } from "./rounds.ts";

/** Size of the fact cache: enough for about twenty busy threads. */
const LIVE_BYTES = 64 << 20;

/**
 * Yields changes once the library has synced them; no threads if only time has passed for running ones.
 * Begins when the newest threads are up to date. The rest is read in between (`Library.reading`), followed by one more
 * yield. While nothing runs and nothing is written, there are only file system notifications and no timers, except one
 * after the last activity.
 * Never fails and never ends by itself: failed work is retried.
 */
export async function* live(
  library: Library,
  { notify = () => {}, troubles = new Troubles(), ...options }: LiveOptions,
): AsyncGenerator<Changes> {
  for (let isFirst = true; !options.signal.aborted; isFirst = false)
    yield* watchOn(library, { ...options, notify, troubles }, isFirst);
}

/** Watches until the list of root folders changes. */
async function* watchOn(library: Library, options: AllOptions, isFirst: boolean): AsyncGenerator<Changes> {
  const { signal, notify, troubles, onWatching } = options;
  let watching: Watching | null = null;
  const rounds = new Rounds(library, { ...options, watchNew: async () => watching?.watchNew() });
  const refresh = () => persistently(() => library.refresh(FIRST_PAGE), options);
  library.enableCaches(LIVE_BYTES);
  expectRecordings(library);
  // Which folders to watch is known only after discovery.
  const before = await refresh();
  if (before === null) return;
  watching = await watchLibrary(library, {
    onPaths: rounds.note,
    onError: (error) => notify(`watching: ${error.message}`),
    onPolled: (folders) => troubles.set("polling", pollingOf(folders)),
  });
  const onAbort = () => rounds.wake();
  signal.addEventListener("abort", onAbort);
  try {
    // Reads what was written before the watch began.
    const more = await refresh();
    if (more === null) return;
    rounds.begin();
    onWatching?.(rounds.note);
    const initial = isFirst ? NO_CHANGES : rounds.changedIn(bothChanges(before, more));
    rounds.settle();
    yield initial;
    yield* rounds.run();
  } finally {
    signal.removeEventListener("abort", onAbort);
    await watching.stop();
  }
}

/** Creates the folders for recordings of live sources, so that they can be watched. */
function expectRecordings({ env, providers }: Library): void {
  for (const { name, recorded } of providers) {
    if (recorded === undefined) continue;
    try {
      privateFolder(recordingsRoot(env, name));
    } catch {
      // If nothing can be written, nothing will be recorded either.
    }
  }
}

const pollingOf = (folders: number) =>
  folders === 0 ? null : `cannot watch ${plural(folders, "folder")}; they are polled, and changes there show later`;

/** The problem that watching the library would have now; null if all of it can be watched. */
export async function pollingNow(library: Library): Promise<string | null> {
  const watching = await watchLibrary(library, { onPaths: () => {}, onError: () => {} });
  const { polled } = watching;
  await watching.stop();
  return pollingOf(polled);
}

/** Watches the folders in which records are and will be written. */
function watchLibrary(library: Library, options: WatchOptions): Promise<Watching> {
  // A root with a wildcard that matches no folder yet is not waited for.
  const named = library.roots.filter((root) => !root.path.includes("*"));
  const folders = named.flatMap((root) =>
    root.folders.filter((folder) => folder !== ROOT_ITSELF).map((folder) => join(root.path, folder)),
  );
  const shallow = library.roots
    .filter((root) => root.provider.rootFiles === true || root.loose !== null)
    .map(({ path, folders, exists, provider }) =>
      folders.length === 0 || (!exists && provider.stream(basename(path)) !== null) ? dirname(path) : path,
    );
  return watchFolders(folders, [...shallow, dirname(library.decisions)], options);
}
