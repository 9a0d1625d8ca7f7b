import { threadOf } from "../../core/facts/ids.ts";
import { plural } from "../../core/tools/format.ts";
import { ROOT_ITSELF } from "../../transports/files.ts";
import { basename, dirname, join } from "../../transports/system/paths.ts";
import { type Watching, type WatchOptions, watchFolders } from "../../transports/watch.ts";
import { bothChanges, type Changes, NO_CHANGES } from "../ingest/changes.ts";
import type { Library } from "../ingest/library.ts";
import { Alarm } from "./alarm.ts";
import { GrowingFiles } from "./growing-files.ts";
import { persistently, type RetryOptions } from "./retry.ts";
import { Troubles } from "./troubles.ts";

export interface LiveOptions {
  readonly signal: AbortSignal;
  /** Receives one message when a problem begins, and one when it has ended. */
  readonly notify?: (text: string) => void;
  /** Current problems. */
  readonly troubles?: Troubles;
  /** Cached facts are dropped after this time without activity. */
  readonly releaseMs?: number;
  /** Called when they were dropped. */
  readonly onRelease?: () => void;
  /**
   * Receives a function for reporting changed files earlier than the operating system does; without files: check the
   * index.
   */
  readonly onWatching?: (report: (paths: readonly string[]) => void) => void;
}

/** The threads that are shown before the rest is read. */
export const FIRST_PAGE = { limit: 50 } as const;
/** Minimum interval between two links, however fast files grow. */
const RELINK_MS = 100;
/**
 * After each round it pauses for this many times the CPU time of the round, which bounds the share of a core that
 * rounds take.
 */
const REST_FACTOR = 3;
const LONGEST_REST_MS = 2_000;
/** Size of the fact cache: enough for about twenty busy threads. */
const LIVE_BYTES = 64 << 20;
/** The operating system queues at least this many notifications and drops the rest; above it, everything is checked. */
const MAX_NOTIFICATIONS = 8_192;
/**
 * While the memory store is used, the index file is tried again after this time, then after twice as long, and so on.
 */
const FIRST_RETURN_MS = 1_000;
const LONGEST_RETURN_MS = 60_000;
/** Records written while the index was replaced may have been read already. */
const SLACK_MS = 60_000;
/** Memory that only busy threads need is released after this time without activity. */
const RELEASE_MS = 150_000;
/** While something runs, its process is checked this often, because a killed process writes nothing. */
const PULSE_MS = 1_000;

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

type AllOptions = LiveOptions & RetryOptions;

/** Until the list of root folders changes. */
async function* watchOn(library: Library, options: AllOptions, isFirst: boolean): AsyncGenerator<Changes> {
  const { signal, notify, troubles, onWatching, onRelease, releaseMs = RELEASE_MS } = options;
  const changed = new Set<string>();
  const growing = new GrowingFiles((path) => library.stampOf(path));
  let [isElsewhere, isAsked] = [false, false];
  let noted = 0;
  // A notification ends the first; only the end of the program ends the second.
  const [alarm, rest] = [new Alarm(), new Alarm()];
  const { decisions } = library;
  const own = dirname(decisions);
  const note = (paths: readonly string[]) => {
    for (const path of paths) {
      // Of retinue's own files, only manual links and cards may be changed by other processes.
      if (path !== decisions && dirname(path) === own) continue;
      isElsewhere ||= library.isListOfRoots(path);
      noted += 1;
      changed.add(path);
      if (path !== decisions) growing.notified(path);
    }
    isAsked ||= paths.length === 0;
    if (changed.size > 0 || isAsked) alarm.ring();
  };
  let { replaced } = library.index;
  let goodAt = library.now();
  // After the store was replaced, everything was read again, and most of it has not changed.
  const changedIn = (changes: Changes): Changes =>
    library.index.replaced === replaced
      ? changes
      : {
          ...changes,
          threads: new Set(Array.from(library.threadRows({ since: goodAt - SLACK_MS }), ({ place }) => place.key)),
        };
  const refresh = () => persistently(() => library.refresh(FIRST_PAGE), options);
  library.keepAtHand(LIVE_BYTES);
  library.expectRecordings();
  // Which folders to watch is known only after discovery.
  const before = await refresh();
  if (before === null) return;
  const watching = await watchLibrary(library, {
    onPaths: note,
    onError: (error) => notify(`watching: ${error.message}`),
    onPolled: (folders) => troubles.set("polling", pollingOf(folders)),
  });
  const onAbort = () => {
    alarm.ring();
    rest.ring();
  };
  signal.addEventListener("abort", onAbort);
  try {
    let isReleased = false;
    let runs = true;
    let [returnAt, returnPause] = [0, FIRST_RETURN_MS];
    // Reads what was written before the watch began.
    const more = await refresh();
    if (more === null) return;
    let nextRoundAt = performance.now() + RELINK_MS;
    let nextPulseAt = performance.now() + PULSE_MS;
    onWatching?.(note);
    const initial = isFirst ? NO_CHANGES : changedIn(bothChanges(before, more));
    ({ replaced } = library.index);
    goodAt = library.now();
    yield initial;
    while (!signal.aborted) {
      const isInMemory = library.index.mayReturn;
      const [wasBehind, wasReading] = [library.isBehind, library.reading !== null];
      troubles.set("index-unusable", library.index.trouble);
      if (!isInMemory) [returnAt, returnPause] = [0, FIRST_RETURN_MS];
      else if (returnAt === 0) returnAt = performance.now() + returnPause;
      const times = [
        ...(isInMemory ? [returnAt] : []),
        ...(runs ? [nextPulseAt] : []),
        ...(growing.size > 0 ? [growing.nextPollAt] : []),
      ];
      // While there is postponed work, requests are handled in between.
      const pause = wasBehind ? 0 : times.length === 0 ? null : Math.max(0, Math.min(...times) - performance.now());
      if ((changed.size === 0 && !isAsked) || wasBehind)
        await alarm.wait(pause ?? (isReleased ? null : releaseMs), pause === null);
      if (signal.aborted || isElsewhere) return;
      if (pause === null && !isAsked && changed.size === 0) {
        library.release();
        onRelease?.();
        isReleased = true;
        continue;
      }
      isReleased = false;
      const late = wasBehind ? await persistently(() => caughtUp(library), options) : NO_CHANGES;
      if (late === null) return;
      if (growing.size > 0 && performance.now() >= growing.nextPollAt)
        for (const path of growing.poll(changed)) changed.add(path);
      const mayReturn = isInMemory && performance.now() >= returnAt;
      let isPulse: boolean = runs && performance.now() >= nextPulseAt;
      if (changed.size === 0 && !isAsked && !wasBehind && !mayReturn && !isPulse) continue;
      // After postponed work, requests are handled before the round.
      if (!signal.aborted && (wasBehind || nextRoundAt > performance.now()))
        await rest.wait(Math.max(0, nextRoundAt - performance.now()));
      if (signal.aborted) return;
      const [began, cpuBefore] = [performance.now(), process.cpuUsage()];
      isPulse = runs && began >= nextPulseAt;
      const paths = [...changed];
      changed.clear();
      isAsked = false;
      growing.reading(paths);
      const isOverflow = noted > MAX_NOTIFICATIONS;
      noted = 0;
      if (mayReturn) {
        returnPause = Math.min(2 * returnPause, LONGEST_RETURN_MS);
        returnAt = 0;
        await persistently(() => library.returnToFile(), options);
      }
      const round = await persistently(async (): Promise<{ readonly changes: Changes; readonly runsNow: boolean }> => {
        const found = isOverflow ? await library.refresh(FIRST_PAGE) : await library.refreshPaths(paths);
        const runsNow: boolean = isPulse
          ? await library.recheck()
          : found.threads.size > 0
            ? library.mayChange()
            : runs;
        return { changes: changedIn({ ...found, threads: late.threads.union(found.threads) }), runsNow };
      }, options);
      if (round === null) return;
      const { changes, runsNow } = round;
      growing.changed(changes.files.keys());
      const isReplaced = library.index.replaced !== replaced;
      ({ replaced } = library.index);
      goodAt = library.now();
      if (runsNow && !runs) nextPulseAt = performance.now() + PULSE_MS;
      runs = runsNow;
      const isDone = wasReading && library.reading === null;
      if (changes.threads.size === 0 && !isPulse && !isReplaced && !isDone) continue;
      const known = performance.now();
      yield changes;
      const restMs = Math.min(REST_FACTOR * cpuMsSince(cpuBefore), LONGEST_REST_MS);
      nextRoundAt = Math.max(known + RELINK_MS, performance.now() + restMs);
      if (isPulse) nextPulseAt = Math.max(known + PULSE_MS, nextRoundAt);
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    await watching.stop();
  }
}

/** Postponed files are old: of the threads that they changed, only those on the first page are reported. */
async function caughtUp(library: Library): Promise<Changes> {
  const changes = await library.catchUp();
  if (changes.threads.size === 0) return NO_CHANGES;
  const shown = library.store.roots({ under: library.under, ...FIRST_PAGE }).map(({ key }) => threadOf(key));
  return { ...changes, threads: changes.threads.intersection(new Set(shown)) };
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
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
