import { threadOf } from "../../core/facts/ids.ts";
import { dirname } from "../../transports/system/paths.ts";
import { followedRoots } from "../home.ts";
import { type Changes, NO_CHANGES } from "../ingest/changes.ts";
import type { Library } from "../ingest/library.ts";
import { Alarm } from "./alarm.ts";
import { GrowingFiles } from "./growing-files.ts";
import { persistently, type RetryOptions } from "./retry.ts";
import type { Troubles } from "./troubles.ts";

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

export type AllOptions = LiveOptions & RetryOptions;
/** `watchNew`: watches folders whose creation was not reported. */
export type RoundsOptions = AllOptions & { readonly watchNew: () => Promise<void> };

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
/**
 * The operating system queues at least this many notifications and drops the rest. If more arrive in one turn of the
 * event loop, everything is checked.
 */
const MAX_NOTIFICATIONS = 8_192;
/** While notifications are dropped again and again, everything is checked for at most this share of the time. */
const CHECK_SHARE = 3;
/**
 * While the memory store is used, the index file is tried again after this time, then after twice as long, and so on.
 */
const FIRST_RETURN_MS = 1_000;
const LONGEST_RETURN_MS = 60_000;
/** Records written while the index was replaced may have been read already. */
const SLACK_MS = 60_000;
/** Memory that only busy threads need is released after this time without activity. */
const RELEASE_MS = 150_000;
const CATCHING_UP =
  "many files, or large ones, appeared at once; they are read newest first, and threads may be missing";
/** While something runs, its process is checked this often, because a killed process writes nothing. */
const PULSE_MS = 1_000;

/** Reads what was reported as changed, round by round, while the root folders stay the same. */
export class Rounds {
  readonly #library: Library;
  readonly #options: RoundsOptions;
  readonly #growing: GrowingFiles;
  /** Files that list further root folders. */
  readonly #listsOfRoots: ReadonlySet<string>;
  /** The wait for work; a notification ends it. */
  readonly #alarm = new Alarm();
  /** The pause between two rounds; only an abort ends it early. */
  readonly #rest = new Alarm();
  readonly #changed = new Set<string>();
  readonly #returning = new ReturnTimer();
  /** In this turn of the event loop. */
  #notifications = 0;
  /** When everything is to be checked, because notifications may have been dropped; null if none were. */
  #checkAt: number | null = null;
  #lastCheck = { endedAt: 0, tookMs: 0 };
  /** A round was requested without a path. */
  #isRequested = false;
  /** The list of root folders has changed. */
  #areRootsChanged = false;
  #isReleased = false;
  /** Something may be running. */
  #runs = true;
  /** Everything was read once. */
  #wasComplete = false;
  #nextRoundAt = 0;
  #nextPulseAt = 0;
  /** How often the store had been replaced by the last round, and the time of that round. */
  #replaced: number;
  #settledAt: number;

  constructor(library: Library, options: RoundsOptions) {
    this.#library = library;
    this.#options = options;
    this.#growing = new GrowingFiles((path) => library.stampOf(path));
    this.#listsOfRoots = new Set(library.providers.map(({ name }) => followedRoots(library.env, name)));
    this.#replaced = library.index.replaced;
    this.#settledAt = library.now();
  }

  /** Notes changed files; without files: check the index. */
  note = (paths: readonly string[]): void => {
    const { decisions } = this.#library;
    for (const path of paths) {
      // Of retinue's own files, only manual links and cards may be changed by other processes.
      if (path !== decisions && dirname(path) === dirname(decisions)) continue;
      this.#areRootsChanged ||= this.#listsOfRoots.has(path);
      this.#countNotification();
      this.#changed.add(path);
      if (path !== decisions) this.#growing.notified(path);
    }
    this.#isRequested ||= paths.length === 0;
    if (!this.#isQuiet) this.#alarm.ring();
  };

  #countNotification(): void {
    if (this.#notifications === 0) setImmediate(() => (this.#notifications = 0));
    this.#notifications += 1;
    if (this.#notifications > MAX_NOTIFICATIONS)
      this.#checkAt ??= this.#lastCheck.endedAt + CHECK_SHARE * this.#lastCheck.tookMs;
  }

  /** Ends all waiting. */
  wake(): void {
    this.#alarm.ring();
    this.#rest.ring();
  }

  /** Starts the intervals; call it after everything was read. */
  begin(): void {
    this.#nextRoundAt = performance.now() + RELINK_MS;
    this.#nextPulseAt = performance.now() + PULSE_MS;
  }

  /** The changes to report. After the store was replaced, everything was read again, and most of it has not changed. */
  changedIn(changes: Changes): Changes {
    if (this.#library.index.replaced === this.#replaced) return changes;
    const recent = this.#library.threadRows({ since: this.#settledAt - SLACK_MS });
    return { ...changes, threads: new Set(Array.from(recent, ({ place }) => place.key)) };
  }

  /** Marks the changes as reported. Returns whether the store was replaced since the last call. */
  settle(): boolean {
    const isReplaced = this.#library.index.replaced !== this.#replaced;
    this.#replaced = this.#library.index.replaced;
    this.#settledAt = this.#library.now();
    return isReplaced;
  }

  async *run(): AsyncGenerator<Changes> {
    const [library, options] = [this.#library, this.#options];
    const { signal } = options;
    while (!signal.aborted) {
      const [wasBehind, wasReading] = [library.isBehind, library.reading !== null];
      this.#reportTroubles();
      const returnAt = this.#returning.next(library.index.mayReturn);
      const isAwake = await this.#sleep(wasBehind, returnAt);
      if (signal.aborted || this.#areRootsChanged) return;
      if (!isAwake) continue;
      const late = wasBehind ? await persistently(() => caughtUp(library), options) : NO_CHANGES;
      if (late === null) return;
      this.#poll();
      const mayReturn = returnAt !== null && performance.now() >= returnAt;
      if (this.#isQuiet && !wasBehind && !mayReturn && !this.#isPulseDue && !this.#isCheckDue) continue;
      // After postponed work, requests are handled before the round.
      if (!signal.aborted && (wasBehind || this.#nextRoundAt > performance.now()))
        await this.#rest.wait(Math.max(0, this.#nextRoundAt - performance.now()));
      if (signal.aborted) return;
      const [cpuBefore, isPulse] = [process.cpuUsage(), this.#isPulseDue];
      const changes = await this.#read(late, isPulse, mayReturn);
      if (changes === null) return;
      this.#reportTroubles();
      const isReplaced = this.settle();
      const isDone = wasReading && library.reading === null;
      if (changes.threads.size === 0 && !isPulse && !isReplaced && !isDone) continue;
      const known = performance.now();
      yield changes;
      const restMs = Math.min(REST_FACTOR * cpuMsSince(cpuBefore), LONGEST_REST_MS);
      this.#nextRoundAt = Math.max(known + RELINK_MS, performance.now() + restMs);
      if (isPulse) this.#nextPulseAt = Math.max(known + PULSE_MS, this.#nextRoundAt);
    }
  }

  #reportTroubles(): void {
    const [{ index, reading }, { troubles }] = [this.#library, this.#options];
    troubles.set("index-unusable", index.trouble);
    this.#wasComplete ||= reading === null;
    troubles.set("catching-up", reading !== null && this.#wasComplete ? CATCHING_UP : null);
  }

  get #isQuiet(): boolean {
    return this.#changed.size === 0 && !this.#isRequested;
  }

  get #isCheckDue(): boolean {
    return this.#checkAt !== null && performance.now() >= this.#checkAt;
  }

  get #isPulseDue(): boolean {
    return this.#runs && performance.now() >= this.#nextPulseAt;
  }

  /** Waits until there is something to do. Returns false if there is nothing, and memory was released. */
  async #sleep(wasBehind: boolean, returnAt: number | null): Promise<boolean> {
    const { signal, onRelease, releaseMs = RELEASE_MS } = this.#options;
    const times = [
      ...(returnAt === null ? [] : [returnAt]),
      ...(this.#checkAt === null ? [] : [this.#checkAt]),
      ...(this.#runs ? [this.#nextPulseAt] : []),
      ...(this.#growing.size > 0 ? [this.#growing.nextPollAt] : []),
    ];
    // While there is postponed work, requests are handled in between.
    const pause = wasBehind ? 0 : times.length === 0 ? null : Math.max(0, Math.min(...times) - performance.now());
    if (this.#isQuiet || wasBehind)
      await this.#alarm.wait(pause ?? (this.#isReleased ? null : releaseMs), pause === null);
    if (signal.aborted || this.#areRootsChanged) return true;
    this.#isReleased = pause === null && this.#isQuiet;
    if (!this.#isReleased) return true;
    this.#library.release();
    onRelease?.();
    return false;
  }

  /** Adds files that grow without notifications. */
  #poll(): void {
    if (this.#growing.size > 0 && performance.now() >= this.#growing.nextPollAt)
      for (const path of this.#growing.poll(this.#changed)) this.#changed.add(path);
  }

  /** Reads the files that were noted. Null if the signal is aborted. */
  async #read(late: Changes, isPulse: boolean, mayReturn: boolean): Promise<Changes | null> {
    const [library, options] = [this.#library, this.#options];
    const paths = [...this.#changed];
    this.#changed.clear();
    this.#isRequested = false;
    this.#growing.reading(paths);
    const isCheck = this.#isCheckDue;
    if (mayReturn) {
      this.#returning.tried();
      await persistently(() => library.returnToFile(), options);
    }
    const round = await persistently(async (): Promise<{ readonly changes: Changes; readonly runs: boolean }> => {
      const found = isCheck ? await this.#checkAll() : await library.refreshChanged(paths);
      const mayChange = () => (found.threads.size > 0 ? library.mayChange() : this.#runs);
      const runs = isPulse ? await library.recheck() : mayChange();
      return { changes: this.changedIn({ ...found, threads: late.threads.union(found.threads) }), runs };
    }, options);
    if (round === null) return null;
    this.#growing.changed(round.changes.files.keys());
    if (round.runs && !this.#runs) this.#nextPulseAt = performance.now() + PULSE_MS;
    this.#runs = round.runs;
    return round.changes;
  }

  /** Reads what is new anywhere, also in folders whose creation was not reported. */
  async #checkAll(): Promise<Changes> {
    const began = performance.now();
    this.#checkAt = null;
    await this.#options.watchNew();
    const changes = await this.#library.findMore();
    this.#lastCheck = { endedAt: performance.now(), tookMs: performance.now() - began };
    return changes;
  }
}

/** When to try the index file again while everything is in memory. */
class ReturnTimer {
  #at = 0;
  #pauseMs = FIRST_RETURN_MS;

  /** Null if the file is used. */
  next(isInMemory: boolean): number | null {
    if (!isInMemory) {
      [this.#at, this.#pauseMs] = [0, FIRST_RETURN_MS];
      return null;
    }
    if (this.#at === 0) this.#at = performance.now() + this.#pauseMs;
    return this.#at;
  }

  tried(): void {
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_RETURN_MS);
    this.#at = 0;
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
