import type { AgentKey } from "../../core/facts/ids.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import type { Outbox } from "../../core/ports/outbox.ts";
import type { RedactionRules } from "../../core/redaction/redaction.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { openKept } from "../kept/kept-file.ts";
import { redactionOf, type SettingsFile } from "../settings/settings.ts";
import { deliver, hold, release, stateOf } from "./deliver.ts";
import type { Destination } from "./destination.ts";
import { DESTINATIONS, isTracing } from "./destinations/index.ts";
import { Endings } from "./endings.ts";
import type { OldTraces } from "./formats.ts";
import { exportLog, type Log } from "./log.ts";
import { putInto, rootOf, storyFor } from "./put.ts";

/**
 * Turns that ended less than this before tracing was enabled are included: the hook at the end of a turn is often the
 * first sign of it.
 */
const GRACE_MS = 60_000;
/** Records may be written later than their time. */
const SLACK_MS = 15 * 60_000;
/** Minimum interval between two collections while agents write. */
const PAUSE_MS = 2_000;

/** The destinations to send to while agents work. */
export async function tracedDestinations(env: Env, redaction: RedactionRules): Promise<readonly Destination[]> {
  const opened = await Promise.all(
    DESTINATIONS.filter((kind) => kind.isTracing(env)).map((kind) => kind.open(env, redaction, false)),
  );
  return opened.flat();
}

export interface Watched {
  readonly library: Library;
  readonly outbox: Outbox;
  readonly endings: Endings;
  readonly log: Log;
  readonly old: OldTraces | null;
  /** Send turns only when they have ended; otherwise spans are sent as soon as they end. */
  readonly wholeTurns?: boolean;
  /** Receives messages for the user. */
  readonly report?: (text: string) => void;
  /** State of each thread at the last check, if checks are repeated. */
  readonly seen?: Map<string, string>;
  /** Only turns active after this time, whenever tracing to the destination began. */
  readonly since?: number;
  /** Only this thread; default: all. */
  readonly thread?: AgentKey;
  /** Only this agent of the thread, with its subtree and ancestors. */
  readonly below?: string;
}

/** Records when tracing to the destination began; turns that ended before are not sent. */
export function openDestination(outbox: Outbox, { name }: Destination): void {
  outbox.open(name, Date.now() - GRACE_MS);
}

/** If more threads than this have changed, it is the first pass over all of them, and their activity decides. */
const MANY_THREADS = 200;

/**
 * Threads active since the last pass, and changed threads even if their last activity is old, because an agent's file
 * may appear late.
 */
function recentThreads(library: Library, since: number, changed: ReadonlySet<AgentKey>): AgentKey[] {
  const recent = [...library.threadRows({ since })].map(({ place }) => place.key);
  return changed.size > MANY_THREADS ? recent : [...recent, ...changed];
}

/** The result of a pass over the threads of a destination. */
export interface CollectResult {
  /** False if the outbox became full. */
  readonly hadRoom: boolean;
  /** An agent ended, and its records may not be complete: another pass is needed even if nothing changes. */
  readonly isSettling: boolean;
  /** Threads with unsent work in which an agent with a live process is running. */
  readonly running: readonly AgentKey[];
}

/**
 * Adds new work of the changed threads to the outbox; if `isFullPass`, of all threads active since the last pass.
 * `syncedAt`: when the last sync of the library began.
 */
export async function collect(
  watched: Watched,
  destination: Destination,
  changed: ReadonlySet<AgentKey>,
  isFullPass: boolean,
  syncedAt: number,
): Promise<CollectResult> {
  const { library, outbox, log, thread } = watched;
  const running: AgentKey[] = [];
  let isSettling = false;
  const state = stateOf(outbox, destination);
  if (state === undefined) return { hadRoom: true, isSettling, running };
  const oldest = watched.since ?? state.since ?? syncedAt;
  const since = Math.max(oldest, state.lookedTo - SLACK_MS);
  const recent = isFullPass ? recentThreads(library, since, changed) : changed;
  const keys = thread === undefined ? [...recent, ...(outbox.unfinished(destination.name) as AgentKey[])] : [thread];
  const seen = new Set<AgentKey>();
  for (const key of keys) {
    const forest = library.forestOf([key]);
    const root = rootOf(forest, key);
    // The thread turned out to be part of another one and is handled there.
    if (key !== root) outbox.moved(destination.name, key, root);
    if (seen.has(root)) continue;
    seen.add(root);
    if (!forest.agents.has(root)) {
      log(`${root}: its records are gone`);
      outbox.setUnfinished(destination.name, root, false);
      continue;
    }
    const one = await collectTree(watched, destination, forest, root, oldest, syncedAt);
    isSettling ||= one.isSettling;
    if (!one.hadRoom) return { hadRoom: false, isSettling, running };
    if (one.isRunning) running.push(root);
  }
  if (isFullPass) outbox.setLookedTo(destination.name, syncedAt);
  return { hadRoom: true, isSettling, running };
}

/** `isRunning`: with unsent work. */
async function collectTree(
  { library, outbox, endings, log, old, wholeTurns = false, below, report = log, seen: known }: Watched,
  destination: Destination,
  forest: Forest,
  root: AgentKey,
  since: number,
  syncedAt: number,
): Promise<{ readonly hadRoom: boolean; readonly isSettling: boolean; readonly isRunning: boolean }> {
  const { isSettling, isRunning, isOver } = endings.check(forest, root, syncedAt);
  const [name, fingerprint] = [`${destination.name} ${root}`, fingerprintOf(forest, root)];
  if (!isSettling && known?.get(name) === fingerprint) return { hadRoom: true, isSettling, isRunning };
  const story = await storyFor(destination, library, forest, root, log, isOver);
  const options = {
    old,
    since,
    mentionedAt: mentionedAt(agentOf(forest, root)),
    wholeTurns,
    ...(below === undefined ? {} : { below }),
  };
  const { put, plan } = putInto(outbox, destination, { key: root, story }, options, log);
  if (put === null) {
    log(`${destination.name}: the outbox is full; the rest follows later`);
    return { hadRoom: false, isSettling, isRunning };
  }
  if (put > 0) log(`${story.record.uri}: added ${put} to the outbox of ${destination.name}`);
  if (plan.tooOld > 0)
    report(`${story.record.uri}: ${plan.tooOld} turns are too old for ${destination.name} and were skipped`);
  if (isSettling) known?.delete(name);
  else known?.set(name, fingerprint);
  if (!plan.isOpen) endings.forget(root);
  // Extend the lease: reading may take long.
  hold(outbox, destination);
  return { hadRoom: true, isSettling, isRunning: isRunning && plan.isOpen };
}

/** When the thread was last mentioned, by its records or by a hook. */
const mentionedAt = ({ statements, lastAt }: LinkedAgent) =>
  statements.reduce((latest, { at }) => Math.max(latest, at ?? 0), lastAt ?? 0);

/** Differs whenever there may be something new to send. */
function fingerprintOf(forest: Forest, root: AgentKey): string {
  return subtreeOf(forest, root)
    .map((key) => {
      const { verdict, lastAt, calls, records, files } = agentOf(forest, key);
      return [key, verdict.status, lastAt, calls.length, records, ...files.map(({ bytes }) => bytes)].join(" ");
    })
    .join("\n");
}

/** The tracer of a server; null if tracing is off. Invalid variables are reported and do not stop the server. */
export async function openTracer(
  env: Env,
  settings: SettingsFile,
  library: Library,
  notify: (text: string) => void,
): Promise<Tracer | null> {
  if (!isTracing(env)) return null;
  try {
    const destinations = await tracedDestinations(env, redactionOf(settings));
    const kept = await openKept(env);
    for (const destination of destinations) openDestination(kept.outbox, destination);
    return new Tracer(
      { library, outbox: kept.outbox, endings: new Endings(library), log: exportLog(env, false), old: null },
      destinations,
      notify,
      () => kept.close(),
    );
  } catch (error) {
    notify(`tracing is off: ${(error as Error).message}`);
    return null;
  }
}

/** Sends traces while agents work: collects changed threads into the outbox and delivers it. */
export class Tracer {
  readonly #watched: Watched;
  readonly #destinations: readonly Destination[];
  readonly #notify: (text: string) => void;
  readonly #onStop: () => void;
  readonly #stop = new AbortController();
  #changed = new Set<AgentKey>();
  /** The next pass covers all recent threads, because it is unknown which ones changed. */
  #isFullPass = true;
  #isDue = false;
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #nextPassAt = 0;
  #lastText = "";

  constructor(
    watched: Watched,
    destinations: readonly Destination[],
    notify: (text: string) => void,
    onStop: () => void = () => {},
  ) {
    this.#watched = { seen: new Map(), report: (text) => this.#report(text), ...watched };
    this.#destinations = destinations;
    this.#notify = notify;
    this.#onStop = onStop;
    for (const { name } of destinations) watched.outbox.open(name, null);
  }

  /** The formats it sends. */
  get formats(): readonly string[] {
    return [...new Set(this.#destinations.map(({ format }) => format))];
  }

  /** These threads changed; an empty set means that only time has passed. */
  changed(threads: ReadonlySet<AgentKey>): void {
    this.#isDue = true;
    for (const thread of threads) this.#changed.add(thread);
    this.#schedule(Math.max(0, this.#nextPassAt - Date.now()));
  }

  #schedule(ms: number) {
    if (this.#stop.signal.aborted || this.#running !== null) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#running ??= this.#work()
        .catch((error: Error) => {
          this.#report(`tracing: ${error.message}`);
          this.#requestFullPass();
        })
        .finally(() => {
          this.#running = null;
          this.#scheduleNext();
        });
    }, ms);
  }

  async #work() {
    const began = Date.now();
    const [isDue, isFullPass, changed] = [this.#isDue, this.#isFullPass, this.#changed];
    this.#isDue = false;
    this.#isFullPass = false;
    this.#changed = new Set();
    this.#nextPassAt = began + PAUSE_MS;
    const { outbox, log } = this.#watched;
    for (const destination of this.#destinations) {
      // If another process holds the destination, request another pass from it.
      const isOurs = hold(outbox, destination);
      const collected = isOurs && isDue ? await collect(this.#watched, destination, changed, isFullPass, began) : null;
      if (collected?.isSettling) this.#isDue = true;
      const isAll = isOurs && (collected?.hadRoom ?? true);
      if (isOurs) await deliver(outbox, destination, { log, patienceMs: 0, signal: this.#stop.signal });
      // Released between passes, so that another command can send.
      const isRequestedAgain = isOurs && !release(outbox, destination, began);
      if (!isAll || isRequestedAgain) this.#requestFullPass();
    }
    this.#nextPassAt = Date.now() + Math.max(PAUSE_MS, 4 * (Date.now() - began));
  }

  #requestFullPass() {
    this.#isFullPass = true;
    this.#isDue = true;
  }

  /** Schedules the next pass, after a failed delivery or for changes since. */
  #scheduleNext() {
    if (this.#stop.signal.aborted) return;
    const states = this.#destinations.flatMap((destination) => stateOf(this.#watched.outbox, destination) ?? []);
    const waiting = states.filter((state) => state.waiting > 0);
    for (const { name, reason } of waiting) if (reason !== null) this.#report(`${name}: waiting: ${reason}`);
    const next = Math.min(...waiting.map((state) => state.nextAt), ...(this.#isDue ? [this.#nextPassAt] : []));
    if (next !== Number.POSITIVE_INFINITY) this.#schedule(Math.max(50, next - Date.now()));
  }

  /** Reports each message once. */
  #report(text: string) {
    if (text !== this.#lastText) this.#notify(text);
    this.#lastText = text;
    this.#watched.log(text);
  }

  /** Aborts a running delivery; its items stay in the outbox. */
  async stop(): Promise<void> {
    this.#stop.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
    for (const destination of this.#destinations) release(this.#watched.outbox, destination, Number.MAX_SAFE_INTEGER);
    this.#onStop();
  }
}
