import type { AgentKey } from "../core/ids.ts";
import { ROOT_ITSELF } from "../transports/files.ts";
import { basename, dirname, join } from "../transports/system/paths.ts";
import { watchFolders } from "../transports/watch.ts";
import type { Library } from "./library.ts";

export interface LiveOptions {
  readonly signal: AbortSignal;
  readonly onError?: (error: Error) => void;
  /** Given something to be told by that files have changed, by whoever knows before the operating system says so. */
  readonly onWatching?: (tell: (paths: readonly string[]) => void) => void;
}

/** A file that was just written to is looked at this often until it has been quiet for a while. */
const POLL_MS = 50;
const QUIET_MS = 2_000;
/** Trees are worked out anew at most this often, however fast files grow. */
const RELINK_MS = 100;
/** Those of a thread of a thousand agents, or of many smaller ones: each is asked for ten times a second. */
const LIVE_FACTS = 300_000;
/** The operating system keeps so many words for us at least, and drops what is more: then everything is looked at. */
const CROWD = 8_192;
/** A process that dies writes nothing: while something runs, it is looked after. */
const PULSE_MS = 1_000;

/**
 * Yields whenever something changed, once the library knows it: the threads concerned, or none when only time has passed over running ones.
 * While nothing runs and nothing is written there is no timer, only the operating system's word.
 */
export async function* live(library: Library, options: LiveOptions): AsyncGenerator<ReadonlySet<AgentKey>> {
  for (let isFirst = true; !options.signal.aborted; isFirst = false) yield* watchOn(library, options, isFirst);
}

/** Until there is somewhere else to look. */
async function* watchOn(library: Library, { signal, onError, onWatching }: LiveOptions, isFirst: boolean): AsyncGenerator<ReadonlySet<AgentKey>> {
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
      if (path !== decisions) growing.set(path, Date.now());
    }
    if (changed.size > 0) wake();
  };
  library.keepAtHand(LIVE_FACTS);
  library.expectRecordings();
  // Where to look is known only after a look around.
  const told = await library.refresh();
  // A root that stands for all folders of some name, none of which is there yet, is not waited for.
  const named = library.roots.filter((root) => !root.path.includes("*"));
  const folders = named.flatMap((root) => root.folders.filter((folder) => folder !== ROOT_ITSELF).map((folder) => join(root.path, folder)));
  const shallow = library.roots
    .filter((root) => root.provider.rootFiles === true || root.loose !== null)
    .map(({ path, folders, exists, provider }) => (folders.length === 0 || (!exists && provider.stream(basename(path)) !== null) ? dirname(path) : path));
  const watching = await watchFolders(folders, [...shallow, dirname(decisions)], { onPaths: note, onError: onError ?? (() => {}) });
  const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  try {
    let last = 0;
    // How long the last round took, with whoever was told of it: a huge tree must not keep the machine busy with itself.
    let took = 0;
    let rechecked = 0;
    let runs = true;
    // What was written between the last look and the beginning of the watch.
    const more = await library.refresh();
    onWatching?.(note);
    yield isFirst ? new Set() : told.union(more);
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const pause = changed.size > 0 ? 0 : growing.size > 0 ? POLL_MS : runs ? PULSE_MS : null;
      const timer = pause === null ? null : after(pause);
      await Promise.race([woken, aborted, ...(timer === null ? [] : [timer.over])]);
      timer?.cancel();
      if (signal.aborted || isElsewhere) return;
      const paths = new Set([...changed, ...growing.keys()]);
      changed.clear();
      const rest = last + Math.max(RELINK_MS, took) - Date.now();
      const resting = after(Math.max(0, rest));
      await Promise.race([resting.over, aborted]);
      resting.cancel();
      if (signal.aborted) return;
      const began = Date.now();
      const isCrowd = noted > CROWD;
      noted = 0;
      const threads = isCrowd ? await library.refresh() : await library.refreshPaths([...paths]);
      for (const path of library.grown.keys()) growing.set(path, Date.now());
      for (const [path, at] of growing) if (Date.now() - at > QUIET_MS) growing.delete(path);
      const isPulse: boolean = runs && Date.now() - rechecked >= Math.max(PULSE_MS, 4 * took);
      if (threads.size === 0 && !isPulse) continue;
      runs = isPulse ? library.recheck() : library.mayChange();
      last = Date.now();
      if (isPulse) rechecked = last;
      yield threads;
      took = Date.now() - began;
      if (took > RELINK_MS) last = Date.now();
    }
  } finally {
    await watching.stop();
  }
}

function after(ms: number): { readonly over: Promise<void>; readonly cancel: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return { over, cancel: () => clearTimeout(timer) };
}
