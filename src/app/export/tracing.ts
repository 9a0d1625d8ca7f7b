import type { AgentKey } from "../../core/ids.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link.ts";
import type { RedactionRules } from "../../core/redaction.ts";
import type { Outbox } from "../../stores/sqlite/outbox.ts";
import type { Env } from "../home.ts";
import { keep } from "../kept-file.ts";
import type { Library } from "../library.ts";
import { redactionOf, type SettingsFile } from "../settings.ts";
import { deliver, hold, release, stateOf } from "./deliver.ts";
import type { Destination } from "./destination.ts";
import { Endings } from "./endings.ts";
import type { OldTraces } from "./formats.ts";
import { langSmithDestinations, tracesToLangSmith } from "./langsmith.ts";
import { exportLog, type Log } from "./log.ts";
import { otlpDestination, tracesToOtlp } from "./otlp.ts";
import { putInto, rootOf, storyFor } from "./put.ts";

/** A turn that ended this long before tracing was switched on still counts: the first to tell of it is the hook at its end. */
const GRACE_MS = 60_000;
/** Records may be written a little later than they say. */
const SLACK_MS = 15 * 60_000;
/** While agents write, what they did is put together at most this often. */
const PAUSE_MS = 2_000;

/** Whether anything is to be sent as it happens. Cheap: hooks ask this. */
export const isTracing = (env: Env) => tracesToLangSmith(env) || tracesToOtlp(env);

/** Where everything is to be sent as it happens. */
export function tracedDestinations(env: Env, redaction: RedactionRules): Destination[] {
  return [...(tracesToLangSmith(env) ? langSmithDestinations(env, redaction) : []), ...(tracesToOtlp(env) ? [otlpDestination(env, redaction)] : [])];
}

export interface Watched {
  readonly library: Library;
  readonly outbox: Outbox;
  readonly endings: Endings;
  readonly log: Log;
  readonly old: OldTraces | null;
  /** Turns are sent as a whole when they have ended; otherwise what has ended is sent while the rest goes on. */
  readonly wholeTurns?: boolean;
  /** Told what the user should know. */
  readonly tell?: (words: string) => void;
  /** How threads stood when they were last looked at, for those who look again and again. */
  readonly seen?: Map<string, string>;
  /** Only turns that went on after this, whenever the destination was first traced to. */
  readonly since?: number;
  /** Only this thread; all of them otherwise. */
  readonly thread?: AgentKey;
  /** Of it, only this agent with everybody below and above it. */
  readonly below?: string;
}

/** From when on a destination is told everything; what ended before is history. */
export function openDestination(outbox: Outbox, { name }: Destination): void {
  outbox.open(name, Date.now() - GRACE_MS);
}

/** A look around that finds more than this is a first one. */
const MANY_THREADS = 200;

/** Threads in which something happened since the last look; of those that were told something just now, also what happened long ago: an agent's file may come late. */
function recentThreads(library: Library, since: number, told: ReadonlySet<AgentKey>): AgentKey[] {
  const recent = [...library.threadRows({ since })].map(({ place }) => place.key);
  return told.size > MANY_THREADS ? recent : [...recent, ...told];
}

/** What a look at the threads of a destination came to. */
export interface Looked {
  /** False: the outbox was full before everything was put in. */
  readonly hadRoom: boolean;
  /** An agent ended and its records may not be complete yet: another look is needed, though nothing may be written any more. */
  readonly isSettling: boolean;
  /** Threads with something left to send, in which an agent works in a process that is alive. */
  readonly running: readonly AgentKey[];
}

/**
 * Puts into the outbox what happened in the threads that changed; in all of them, where `isEverywhere`, since the last look.
 * `lookedAt`: when the library began to read what it knows.
 */
export async function lookAfter(
  { library, outbox, endings, log, old, wholeTurns = false, thread, below, since: from, tell = log, seen: known }: Watched,
  destination: Destination,
  changed: ReadonlySet<AgentKey>,
  isEverywhere: boolean,
  lookedAt: number,
): Promise<Looked> {
  const running: AgentKey[] = [];
  let isSettling = false;
  const state = stateOf(outbox, destination);
  if (state === undefined) return { hadRoom: true, isSettling, running };
  const oldest = from ?? state.since ?? lookedAt;
  const since = Math.max(oldest, state.lookedTo - SLACK_MS);
  const recent = isEverywhere ? recentThreads(library, since, changed) : changed;
  const keys = thread === undefined ? [...recent, ...(outbox.unfinished(destination.name) as AgentKey[])] : [thread];
  const seen = new Set<AgentKey>();
  for (const key of keys) {
    const forest = library.forestOf([key]);
    const root = rootOf(forest, key);
    // A thread that was found to belong to another one is looked after there.
    if (key !== root) outbox.moved(destination.name, key, root);
    if (seen.has(root)) continue;
    seen.add(root);
    if (!forest.agents.has(root)) {
      log(`${root}: its records are gone`);
      outbox.setUnfinished(destination.name, root, false);
      continue;
    }
    const look = endings.look(forest, root, lookedAt);
    isSettling ||= look.isSettling;
    const standing = standingOf(forest, root);
    if (!look.isSettling && known?.get(`${destination.name} ${root}`) === standing) {
      if (look.isRunning) running.push(root);
      continue;
    }
    const story = await storyFor(destination, library, forest, root, log, look.isOver);
    const options = { old, since: oldest, heardAt: heardAt(agentOf(forest, root)), wholeTurns, ...(below === undefined ? {} : { below }) };
    const { put, plan } = putInto(outbox, destination, { key: root, story }, options, log);
    if (put === null) {
      log(`${destination.name}: the outbox is full; the rest follows when there is room`);
      return { hadRoom: false, isSettling, running };
    }
    if (put > 0) log(`${story.record.uri}: ${put} put into the outbox for ${destination.name}`);
    if (plan.tooOld > 0) tell(`${story.record.uri}: ${plan.tooOld} turns began too long ago for ${destination.name}, and are not sent`);
    if (look.isRunning && plan.isOpen) running.push(root);
    if (look.isSettling) known?.delete(`${destination.name} ${root}`);
    else known?.set(`${destination.name} ${root}`, standing);
    if (!plan.isOpen) endings.forget(root);
    // Others must not take over only because there is much to read.
    hold(outbox, destination);
  }
  if (isEverywhere) outbox.lookedTo(destination.name, lookedAt);
  return { hadRoom: true, isSettling, running };
}

/** When anything was last said of a thread, by its own records or by a hook. */
const heardAt = ({ statements, lastAt }: LinkedAgent) => statements.reduce((latest, { at }) => Math.max(latest, at ?? 0), lastAt ?? 0);

/** Changes whenever there may be something to send. */
function standingOf(forest: Forest, root: AgentKey): string {
  return subtreeOf(forest, root)
    .map((key) => {
      const { verdict, lastAt, calls, records, files } = agentOf(forest, key);
      return [key, verdict.status, lastAt, calls.length, records, ...files.map(({ bytes }) => bytes)].join(" ");
    })
    .join("\n");
}

/** For whoever watches agents all the time; null where nothing is to be sent. What is wrong with the variables is said, and keeps nobody from working. */
export async function openTracer(env: Env, settings: SettingsFile, library: Library, talk: (words: string) => void): Promise<Tracer | null> {
  if (!isTracing(env)) return null;
  try {
    const destinations = tracedDestinations(env, redactionOf(settings));
    const kept = await keep(env);
    for (const destination of destinations) openDestination(kept.outbox, destination);
    return new Tracer({ library, outbox: kept.outbox, endings: new Endings(library), log: exportLog(env, false), old: null }, destinations, talk, () =>
      kept.close(),
    );
  } catch (error) {
    talk(`nothing is traced: ${(error as Error).message}`);
    return null;
  }
}

/** Looks after destinations as long as agents work: what changed is put into the outbox, and what waits there is sent. */
export class Tracer {
  readonly #watched: Watched;
  readonly #destinations: readonly Destination[];
  readonly #talk: (words: string) => void;
  readonly #onStop: () => void;
  readonly #stop = new AbortController();
  #changed = new Set<AgentKey>();
  /** Nobody knows where something happened, as at the beginning. */
  #isEverywhere = true;
  #isAsked = false;
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #nextLook = 0;
  #lastTold = "";

  constructor(watched: Watched, destinations: readonly Destination[], talk: (words: string) => void, onStop: () => void = () => {}) {
    this.#watched = { seen: new Map(), tell: (words) => this.#tell(words), ...watched };
    this.#destinations = destinations;
    this.#talk = talk;
    this.#onStop = onStop;
    for (const { name } of destinations) watched.outbox.open(name, null);
  }

  /** Which services it sends to. */
  get formats(): readonly string[] {
    return [...new Set(this.#destinations.map(({ format }) => format))];
  }

  /** Something happened in these threads; in none by name: only time has passed. */
  changed(threads: ReadonlySet<AgentKey>): void {
    this.#isAsked = true;
    for (const thread of threads) this.#changed.add(thread);
    this.#soon(Math.max(0, this.#nextLook - Date.now()));
  }

  #soon(ms: number) {
    if (this.#stop.signal.aborted || this.#running !== null) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#running ??= this.#work()
        .catch((error: Error) => {
          this.#tell(`tracing: ${error.message}`);
          this.#lookEverywhere();
        })
        .finally(() => {
          this.#running = null;
          this.#again();
        });
    }, ms);
  }

  async #work() {
    const began = Date.now();
    const [isAsked, isEverywhere, changed] = [this.#isAsked, this.#isEverywhere, this.#changed];
    this.#isAsked = false;
    this.#isEverywhere = false;
    this.#changed = new Set();
    this.#nextLook = began + PAUSE_MS;
    const { outbox, log } = this.#watched;
    for (const destination of this.#destinations) {
      // Somebody else is at it at this moment; what we know of may be news to them.
      const isOurs = hold(outbox, destination);
      const looked = isOurs && isAsked ? await lookAfter(this.#watched, destination, changed, isEverywhere, began) : null;
      if (looked?.isSettling) this.#isAsked = true;
      const isAll = isOurs && (looked?.hadRoom ?? true);
      if (isOurs) await deliver(outbox, destination, { log, patienceMs: 0, signal: this.#stop.signal });
      // Between two rounds others may have it: a command that sends something by itself.
      const isAskedAgain = isOurs && !release(outbox, destination, began);
      if (!isAll || isAskedAgain) this.#lookEverywhere();
    }
    this.#nextLook = Date.now() + Math.max(PAUSE_MS, 4 * (Date.now() - began));
  }

  #lookEverywhere() {
    this.#isEverywhere = true;
    this.#isAsked = true;
  }

  /** Goes on when somebody may be reached again, or wrote meanwhile. */
  #again() {
    if (this.#stop.signal.aborted) return;
    const states = this.#destinations.flatMap((destination) => stateOf(this.#watched.outbox, destination) ?? []);
    const waiting = states.filter((state) => state.waiting > 0);
    for (const { name, reason } of waiting) if (reason !== null) this.#tell(`${name}: waiting: ${reason}`);
    const next = Math.min(...waiting.map((state) => state.nextAt), ...(this.#isAsked ? [this.#nextLook] : []));
    if (next !== Number.POSITIVE_INFINITY) this.#soon(Math.max(50, next - Date.now()));
  }

  /** A thing that lasts is said once. */
  #tell(words: string) {
    if (words !== this.#lastTold) this.#talk(words);
    this.#lastTold = words;
    this.#watched.log(words);
  }

  /** What is under way is broken off: it is in the outbox, and sent next time. */
  async stop(): Promise<void> {
    this.#stop.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
    for (const destination of this.#destinations) release(this.#watched.outbox, destination, Number.MAX_SAFE_INTEGER);
    this.#onStop();
  }
}
