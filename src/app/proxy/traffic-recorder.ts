import { randomBytes } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { EndedRow, OpenedRow, RequestRow } from "../../core/facts/traffic.ts";
import type { RedactionRules } from "../../core/redaction/redaction.ts";
import type { ExchangeObserver, RequestHead } from "../../transports/proxy.ts";
import { ownModule } from "../own-files.ts";
import type { MatchWindow } from "../settings/settings-table.ts";
import type { ExchangeEvent } from "./recording.ts";
import { Ring } from "./ring.ts";

export interface RecorderJob {
  readonly folder: string;
  /** Maximum time between a spawn call and an agent that is matched to it by its prompt. */
  readonly window: MatchWindow;
  readonly redaction: RedactionRules | null;
  /** Whether the recorder reports the rows that it writes. */
  readonly reportsRows: boolean;
}

/** What the recorder thread starts with: its job, and the memory in which chunks are passed to it. */
export interface RecorderStart extends RecorderJob {
  readonly memory: SharedArrayBuffer;
}

/** An entry for the recorder. Chunks are passed by their position in the shared memory. */
export type Passed = Exclude<ExchangeEvent, { bytes: Uint8Array }> | PassedChunks;

/** Consecutive chunks of an exchange. */
export interface PassedChunks {
  readonly is: "request-chunk" | "response-chunk";
  readonly id: string;
  readonly at: number;
  /** Where they are in the shared memory: start and end of each part. */
  readonly parts: number[];
  /** The state of the ring after the last of them. */
  end: number;
}

export type RecorderMessage =
  /** It is loaded: what it is sent from now on is recorded at once. */
  | { readonly is: "ready" }
  /** The number of entries read, and the bytes of the shared memory, up to position `end`. */
  | { readonly is: "done"; readonly entries: number; readonly bytes: number; readonly end: number }
  | { readonly is: "row"; readonly row: RequestRow | OpenedRow | EndedRow }
  | { readonly is: "trouble"; readonly text: string }
  | { readonly is: "closed" };

/** What the recorder receives. */
export type ToRecorder = readonly Passed[] | "reopen" | "close";

/** A worker thread, or what replaces it. */
export interface RecorderThread {
  postMessage(message: ToRecorder): void;
  ref(): void;
  unref(): void;
  on(event: "message", listener: (message: RecorderMessage) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "exit", listener: () => void): unknown;
}
export type StartRecorder = (start: RecorderStart) => RecorderThread;

export interface TrafficRecorderOptions extends RecorderJob {
  /** Starts the recorder; without it, a thread that runs the source or built file of this program. */
  readonly recorder?: StartRecorder;
  onRow(row: RequestRow | OpenedRow | EndedRow): void;
  onTrouble(text: string): void;
  /** Called when a bulk with a large body passes, and when it has passed. */
  onLargeBodies?(isLarge: boolean): void;
}

/** Maximum number of bytes that wait for the recorder. Above it, bodies are not recorded; forwarding continues. */
const MAX_WAITING = 64 << 20;
/** Maximum number of entries that wait. Above it, new requests are not recorded at all. */
const MAX_ENTRIES = 10_000;
/** How long chunks are collected before they are sent together. Too short to be noticed. */
const GATHER_MS = 5;
/**
 * More bytes than this in that time do not come from a model: a bulk. It is sent to the recorder when it has passed, so
 * that recording does not slow down forwarding.
 */
const BULK_BYTES = 64 << 10;
/** A bulk has passed after this time without one. */
const PAUSE_MS = 25;
const LARGE_BYTES = 1 << 20;
const LONGEST_WAIT_MS = 1_000;

/** Copies the proxy's traffic to the recorder thread, in batches. */
export class TrafficRecorder {
  readonly #options: TrafficRecorderOptions;
  #thread: RecorderThread | null = null;
  readonly #ring = new Ring(MAX_WAITING);
  #batch: Passed[] = [];
  /** Entries that the recorder has not read yet, including the current batch. */
  #entries = 0;
  /** Entries and batches so far, for tests. */
  readonly passed = { entries: 0, batches: 0 };
  #isPlanned = false;
  /** Bytes of chunks so far. */
  #copied = 0;
  /** Until when a bulk is expected to continue. */
  #bulkUntil = 0;
  /** Whether the current bulk has one. */
  #hasLargeBody = false;
  #isReported = false;
  #onReady: (() => void) | null = null;
  #onClosed: (() => void) | null = null;
  readonly #process = { pid: process.pid, startedAt: Math.round(Date.now() - performance.now()) };

  constructor(options: TrafficRecorderOptions) {
    this.#options = options;
  }

  /** What the recorder has not read yet. */
  get waiting(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#entries, bytes: this.#ring.waiting };
  }

  /**
   * Starts the recorder before the first request, because it takes seconds to load on a busy machine. Resolves when it
   * records, or when it failed, which is reported.
   */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#onReady = resolve;
      this.#thread ??= this.#start();
    });
  }

  begin(head: RequestHead): ExchangeObserver {
    if (this.#entries > MAX_ENTRIES) {
      this.#options.onTrouble("requests arrive faster than they can be recorded; some are not recorded");
      return UNRECORDED;
    }
    const exchange = { id: newId(), bytes: 0 };
    const { id } = exchange;
    const { method, path, headers, upstream } = head;
    this.#send({
      is: "began",
      id,
      at: Date.now(),
      head: { method, path, headers, upstream, windowMs: null, process: this.#process },
    });
    return {
      requestChunk: (chunk) => this.#copy("request-chunk", exchange, chunk),
      requestEnd: () => this.#send({ is: "request-end", id, at: Date.now() }),
      responseHead: (head) =>
        this.#send({ is: "response-head", id, at: Date.now(), status: head.status, headers: head.headers }),
      responseChunk: (chunk) => this.#copy("response-chunk", exchange, chunk),
      ended: (ending) =>
        this.#send({
          is: "ended",
          id,
          at: Date.now(),
          how: ending.how,
          error: "error" in ending ? ending.error : null,
        }),
    };
  }

  /** Recordings may have been deleted: starts new files. */
  reopen(): void {
    this.#thread?.postMessage("reopen");
  }

  /** Resolves when everything sent so far is recorded. */
  close(): Promise<void> {
    this.#flush();
    const thread = this.#thread;
    if (thread === null) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onClosed = resolve;
      thread.ref();
      thread.postMessage("close");
    });
  }

  #copy(is: "request-chunk" | "response-chunk", exchange: { readonly id: string; bytes: number }, chunk: Uint8Array) {
    const { id } = exchange;
    exchange.bytes += chunk.length;
    if (exchange.bytes > LARGE_BYTES) this.#hasLargeBody = true;
    const start = this.#ring.put(chunk);
    if (start === null) {
      this.#options.onTrouble("data arrives faster than it can be recorded; some bodies are not recorded");
      return;
    }
    this.#copied += chunk.length;
    const [end, last] = [this.#ring.written, this.#batch.at(-1)];
    if (last?.is !== is || last.id !== id) {
      this.#send({ is, id, at: Date.now(), parts: [start, start + chunk.length], end });
      return;
    }
    if (last.parts.at(-1) === start) last.parts[last.parts.length - 1] = start + chunk.length;
    else last.parts.push(start, start + chunk.length);
    last.end = end;
  }

  #send(event: Passed) {
    this.#batch.push(event);
    this.#entries += 1;
    this.passed.entries += 1;
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#plan(Date.now() + LONGEST_WAIT_MS);
  }

  #plan(latest: number) {
    const before = this.#copied;
    setTimeout(() => {
      const now = Date.now();
      if (this.#copied - before > BULK_BYTES) this.#bulkUntil = now + PAUSE_MS;
      const isBulk = now < this.#bulkUntil;
      this.#hasLargeBody &&= isBulk;
      this.#report(this.#hasLargeBody);
      if (isBulk && now < latest && this.#ring.waiting < MAX_WAITING / 2) this.#plan(latest);
      else this.#flush();
    }, GATHER_MS);
  }

  #report(isLarge: boolean) {
    if (isLarge === this.#isReported) return;
    this.#isReported = isLarge;
    this.#options.onLargeBodies?.(isLarge);
  }

  #flush() {
    this.#isPlanned = false;
    if (this.#batch.length === 0) return;
    const batch = this.#batch;
    this.#batch = [];
    this.#thread ??= this.#start();
    this.passed.batches += 1;
    this.#thread.postMessage(batch);
  }

  #start(): RecorderThread {
    const { folder, redaction, window, reportsRows, recorder = ownThread } = this.#options;
    const thread = recorder({ folder, redaction, window, reportsRows, memory: this.#ring.memory });
    thread.on("message", (message: RecorderMessage) => this.#receive(message, thread));
    thread.on("error", (error) => this.#options.onTrouble(`traffic is not recorded: ${error.message}`));
    thread.on("exit", () => {
      if (this.#thread === thread) this.#thread = null;
      this.#ring.clear();
      this.#entries = this.#batch.length;
      this.#onReady?.();
      this.#onClosed?.();
    });
    return thread;
  }

  #receive(message: RecorderMessage, thread: RecorderThread) {
    if (message.is === "done") {
      this.#ring.release(message.bytes, message.end);
      this.#entries -= message.entries;
    } else if (message.is === "ready") {
      // The thread alone must not keep the process alive.
      if (this.#onClosed === null) thread.unref();
      this.#onReady?.();
    } else if (message.is === "row") this.#options.onRow(message.row);
    else if (message.is === "trouble") this.#options.onTrouble(message.text);
    else this.#onClosed?.();
  }
}

export const threadOf =
  (file: string | URL): StartRecorder =>
  (start) =>
    new Worker(file, { workerData: start });
const ownThread: StartRecorder = (start) => threadOf(ownModule("app/proxy/recorder-thread"))(start);

const UNRECORDED: ExchangeObserver = {
  requestChunk() {},
  requestEnd() {},
  responseHead() {},
  responseChunk() {},
  ended() {},
};

/** Ids sort by time. The random part tells proxies apart; it is generated once, because that is expensive. */
const newId = () => {
  started += 1;
  return `req-${Date.now().toString(36)}-${OWN}${started.toString(36).padStart(COUNTER_DIGITS, "0")}`;
};
/** Equally long, so that ids of the same millisecond sort by their count. */
const COUNTER_DIGITS = 6;
const OWN = randomBytes(5).toString("hex");
let started = 0;
