import type { AgentKey } from "../../core/facts/ids.ts";
import { Failure } from "../failure.ts";
import type { Library } from "../ingest/library.ts";
import { Connection, type ConnectOptions } from "./connection.ts";
import { targetOf } from "./target.ts";

/** Minimum interval between two comparisons while agents write. */
const PAUSE_MS = 2_000;
/** After each comparison it pauses for this many times as long as it took. */
const REST_FACTOR = 4;
/** All threads are compared this long after the last change: the final order of their events is known then. */
const QUIET_MS = 30_000;
/** Or after this time, if something always runs. */
const LONGEST_QUIET_MS = 10 * 60_000;
const BUSY_MS = 5_000;

export interface LiveTimes {
  readonly pauseMs: number;
  readonly quietMs: number;
}

/** Ships while agents work, in the background of a server or of `retinue ship`. */
export class LiveShipping {
  readonly #library: Library;
  readonly #connection: Connection;
  readonly #notify: (text: string) => void;
  readonly #times: LiveTimes;
  readonly #stop: AbortController;
  #changed = new Set<AgentKey>();
  /** Compare all threads: after a start, a failure, and a while after changes. */
  #isEverywhere = true;
  #everywhereAt = 0;
  #changedAt = 0;
  #nextLook = 0;
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #lastText: string | null = null;
  /** Reported refusals: thread and reason. */
  readonly #refused = new Map<string, string>();

  constructor(
    library: Library,
    connection: Connection,
    stop: AbortController,
    notify: (text: string) => void,
    times: LiveTimes = { pauseMs: PAUSE_MS, quietMs: QUIET_MS },
  ) {
    this.#library = library;
    this.#connection = connection;
    this.#stop = stop;
    this.#notify = notify;
    this.#times = times;
  }

  /** These threads changed; an empty set means that only time has passed. */
  changed(threads: ReadonlySet<AgentKey>): void {
    for (const thread of threads.size > 0 ? threads : this.#library.unsettled()) this.#changed.add(thread);
    if (threads.size > 0) this.#changedAt = Date.now();
    this.#schedule();
  }

  #schedule(): void {
    if (this.#stop.signal.aborted || this.#running !== null) return;
    const at = this.#dueAt();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (at === null) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#running ??= this.#work()
          .catch((error: Error) => this.#report(`cannot ship: ${error.message}`))
          .finally(() => {
            this.#running = null;
            this.#schedule();
          });
      },
      Math.max(0, at - Date.now()),
    );
    // A pause must not keep a process alive that has nothing else to do.
    this.#timer.unref();
  }

  /** When to compare next; null if there is nothing to do. */
  #dueAt(): number | null {
    // Threads that are not read yet would be sent incompletely.
    if (this.#library.reading !== null) return null;
    const isDirty = this.#changedAt > this.#everywhereAt;
    const everywhereAt = isDirty
      ? Math.min(
          Math.max(this.#changedAt + this.#times.quietMs, this.#nextLook),
          Math.max(this.#everywhereAt, this.#nextLook) + LONGEST_QUIET_MS,
        )
      : null;
    const due = [
      ...(this.#isEverywhere || this.#changed.size > 0 ? [this.#nextLook] : []),
      ...(everywhereAt === null ? [] : [everywhereAt]),
      Math.max(this.#connection.contactDueAt, this.#nextLook),
    ];
    return Math.max(Math.min(...due), this.#connection.nextAt);
  }

  async #work(): Promise<void> {
    const began = Date.now();
    const isQuiet = this.#changedAt > this.#everywhereAt && began - this.#changedAt >= this.#times.quietMs;
    const isEverywhere = this.#isEverywhere || isQuiet || began - this.#everywhereAt > LONGEST_QUIET_MS;
    const changed = this.#changed;
    this.#changed = new Set();
    this.#isEverywhere = false;
    let isDone = false;
    try {
      isDone = await this.#connection.attempt(async (shipper) => {
        // What happens now comes before what waits from earlier.
        await shipper.shipChanged(changed);
        if (isEverywhere) await shipper.shipAll();
      });
    } finally {
      // What failed, or is sent by another process, is found again by comparing everything.
      if (!isDone) this.#isEverywhere = true;
      else if (isEverywhere) this.#everywhereAt = began;
      const pause = this.#connection.isBusy ? BUSY_MS : this.#times.pauseMs;
      this.#nextLook = Date.now() + Math.max(pause, REST_FACTOR * (Date.now() - began));
    }
    const { isBusy, reason } = this.#connection;
    if (isDone || isBusy) this.#report(null);
    // Without a reason, it was stopped.
    else if (reason !== null) this.#report(`waiting: ${reason}`);
    this.#reportRefused();
  }

  /** Each thread and reason once. */
  #reportRefused(): void {
    for (const { uri, reason } of this.#connection.refused) {
      if (this.#refused.get(uri) === reason) continue;
      this.#refused.set(uri, reason);
      this.#notify(`team: ${uri} is refused, everything else is sent: ${reason}`);
    }
  }

  /** Reports a problem once, and its end. */
  #report(text: string | null): void {
    if (text === this.#lastText) return;
    if (text !== null) this.#notify(`team: ${text}`);
    else if (this.#lastText !== null) this.#notify("team: sending again");
    this.#lastText = text;
  }

  /** Aborts a running shipment; it is sent again later. */
  async stop(): Promise<void> {
    this.#stop.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
    this.#connection.close();
  }
}

/**
 * The shipping of a server; null if no team server is set. A missing token or an address that cannot be used is
 * reported and does not stop the server.
 */
export async function openShipping(
  options: Omit<ConnectOptions, "target" | "signal">,
  times?: LiveTimes,
): Promise<LiveShipping | null> {
  const { env, settings, library, notify } = options;
  const stop = new AbortController();
  try {
    const target = targetOf(env, settings, undefined);
    if (target === null) return null;
    const connection = await Connection.open({ ...options, target, signal: stop.signal });
    return new LiveShipping(library, connection, stop, notify, times);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    notify(`nothing is sent to the team server: ${error.message}`);
    return null;
  }
}
