import { plural } from "../core/format.ts";
import type { AgentKey } from "../core/ids.ts";
import { ROOT_ITSELF } from "../transports/files.ts";
import { basename, dirname, join } from "../transports/system/paths.ts";
import { type Watching, type WatchOptions, watchFolders } from "../transports/watch.ts";
import type { Library } from "./library.ts";
import { persistently, type RetryOptions } from "./retry.ts";
import { Troubles } from "./troubles.ts";

export interface LiveOptions {
  readonly signal: AbortSignal;
  /** Hears once of each thing that cannot be done for the moment, and once when it is over. */
  readonly talk?: (words: string) => void;
  /** What cannot be done at the moment. */
  readonly troubles?: Troubles;
  /** Given something to be told by that files have changed, by whoever knows before the operating system says so; with no files: to look at the index. */
  readonly onWatching?: (tell: (paths: readonly string[]) => void) => void;
}

/** A file that was just written to is looked at this often until it has been quiet for a while. */
const POLL_MS = 50;
const QUIET_MS = 2_000;
/** Trees are worked out anew at most this often, however fast files grow. */
const RELINK_MS = 100;
/** Enough for the facts of some twenty busy threads: each is asked for ten times a second. */
const LIVE_BYTES = 64 << 20;
/** The operating system keeps so many words for us at least, and drops what is more: then everything is looked at. */
const CROWD = 8_192;
/** While answers come from memory, the index is tried again after this long, then after twice as long, and so on. */
const FIRST_RETURN_MS = 1_000;
const LONGEST_RETURN_MS = 60_000;
/** What was written while the index was replaced may have been read already. */
const SLACK_MS = 60_000;
/** A process that dies writes nothing: while something runs, it is looked after. */
const PULSE_MS = 1_000;

/**
 * Yields whenever something changed, once the library knows it: the threads concerned, or none when only time has passed over running ones.
 * While nothing runs and nothing is written there is no timer, only the operating system's word.
 * Never fails and never ends by itself: what cannot be done now is tried again until it can.
 */
export async function* live(library: Library, { talk = () => {}, troubles = new Troubles(), ...options }: LiveOptions): AsyncGenerator<ReadonlySet<AgentKey>> {
  for (let isFirst = true; !options.signal.aborted; isFirst = false) yield* watchOn(library, { ...options, talk, troubles }, isFirst);
}

type AllOptions = LiveOptions & RetryOptions;

/** Until there is somewhere else to look. */
async function* watchOn(library: Library, options: AllOptions, isFirst: boolean): AsyncGenerator<ReadonlySet<AgentKey>> {
  const { signal, talk, troubles, onWatching } = options;
  const changed = new Set<string>();
  const growing = new Map<string, number>();
  let isElsewhere = false;
  let noted = 0;
  let wake: () => void = () => {};
  const { decisions } = library;
  const note = (paths: readonly string[]) => {
    for (const path of paths) {
      // Of what we keep ourselves, people's decisions alone may come from elsewhere; they are written at once.
      if (dirname(path) === dirname(decisions) && path !== decisions) continue;
      isElsewhere ||= library.isListOfRoots(path);
      noted += 1;
      changed.add(path);
      if (path !== decisions) growing.set(path, performance.now());
    }
    if (changed.size > 0 || paths.length === 0) wake();
  };
  let { replaced } = library.index;
  let goodAt = library.now();
  // After the store was replaced, all of it was read anew; most of that is no news.
  const newsIn = (found: ReadonlySet<AgentKey>): ReadonlySet<AgentKey> =>
    library.index.replaced === replaced ? found : new Set(Array.from(library.threadRows({ since: goodAt - SLACK_MS }), ({ place }) => place.key));
  const lookAround = () => persistently(() => library.refresh(), options);
  library.keepAtHand(LIVE_BYTES);
  library.expectRecordings();
  // Where to look is known only after a look around.
  const told = await lookAround();
  if (told === null) return;
  const watching = await watchLibrary(library, {
    onPaths: note,
    onError: (error) => talk(`watching: ${error.message}`),
    onPolled: (folders) => troubles.set("polling", pollingOf(folders)),
  });
  const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  try {
    let last = 0;
    // How long the last round took, with whoever was told of it: a huge tree must not keep the machine busy with itself.
    let took = 0;
    let rechecked = 0;
    let runs = true;
    let [returnAt, returnPause] = [0, FIRST_RETURN_MS];
    // What was written between the last look and the beginning of the watch.
    const more = await lookAround();
    if (more === null) return;
    onWatching?.(note);
    const news = isFirst ? new Set<AgentKey>() : newsIn(told.union(more));
    ({ replaced } = library.index);
    goodAt = library.now();
    yield news;
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const isAway = library.index.mayReturn;
      troubles.set("index-unusable", library.index.trouble);
      if (!isAway) [returnAt, returnPause] = [0, FIRST_RETURN_MS];
      else if (returnAt === 0) returnAt = performance.now() + returnPause;
      const idle = isAway ? Math.max(0, returnAt - performance.now()) : null;
      const pause = changed.size > 0 ? 0 : growing.size > 0 ? POLL_MS : runs ? Math.min(PULSE_MS, idle ?? PULSE_MS) : idle;
      const timer = pause === null ? null : after(pause);
      await Promise.race([woken, aborted, ...(timer === null ? [] : [timer.over])]);
      timer?.cancel();
      if (signal.aborted || isElsewhere) return;
      const paths = new Set([...changed, ...growing.keys()]);
      changed.clear();
      const rest = last + Math.max(RELINK_MS, took) - performance.now();
      const resting = after(Math.max(0, rest));
      await Promise.race([resting.over, aborted]);
      resting.cancel();
      if (signal.aborted) return;
      const began = performance.now();
      const isCrowd = noted > CROWD;
      noted = 0;
      if (isAway && began >= returnAt) {
        returnPause = Math.min(2 * returnPause, LONGEST_RETURN_MS);
        returnAt = 0;
        await persistently(() => library.returnToFile(), options);
      }
      const isPulse: boolean = runs && began - rechecked >= Math.max(PULSE_MS, 4 * took);
      const round = await persistently(async (): Promise<{ readonly threads: ReadonlySet<AgentKey>; readonly runsNow: boolean }> => {
        const found = isCrowd ? await library.refresh() : await library.refreshPaths([...paths]);
        const runsNow: boolean = isPulse ? await library.recheck() : found.size > 0 ? library.mayChange() : runs;
        return { threads: newsIn(found), runsNow };
      }, options);
      if (round === null) return;
      const { threads, runsNow } = round;
      for (const path of library.grown.keys()) growing.set(path, performance.now());
      for (const [path, at] of growing) if (performance.now() - at > QUIET_MS) growing.delete(path);
      const isReplaced = library.index.replaced !== replaced;
      ({ replaced } = library.index);
      goodAt = library.now();
      runs = runsNow;
      if (threads.size === 0 && !isPulse && !isReplaced) continue;
      last = performance.now();
      if (isPulse) rechecked = last;
      yield threads;
      took = performance.now() - began;
      if (took > RELINK_MS) last = performance.now();
    }
  } finally {
    await watching.stop();
  }
}

const pollingOf = (folders: number) => (folders === 0 ? null : `cannot watch ${plural(folders, "folder")}; they are polled, and changes there show later`);

/** What there would be to say if the library were watched now; null where all of it can be. */
export async function pollingNow(library: Library): Promise<string | null> {
  const watching = await watchLibrary(library, { onPaths: () => {}, onError: () => {} });
  const { polled } = watching;
  await watching.stop();
  return pollingOf(polled);
}

/** Where records are and will be written, watched. */
function watchLibrary(library: Library, options: WatchOptions): Promise<Watching> {
  // A root that stands for all folders of some name, none of which is there yet, is not waited for.
  const named = library.roots.filter((root) => !root.path.includes("*"));
  const folders = named.flatMap((root) => root.folders.filter((folder) => folder !== ROOT_ITSELF).map((folder) => join(root.path, folder)));
  const shallow = library.roots
    .filter((root) => root.provider.rootFiles === true || root.loose !== null)
    .map(({ path, folders, exists, provider }) => (folders.length === 0 || (!exists && provider.stream(basename(path)) !== null) ? dirname(path) : path));
  return watchFolders(folders, [...shallow, dirname(library.decisions)], options);
}

function after(ms: number): { readonly over: Promise<void>; readonly cancel: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return { over, cancel: () => clearTimeout(timer) };
}
