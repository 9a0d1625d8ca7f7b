import { randomBytes } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { EndedRow, OpenedRow, RequestRow } from "../../core/facts/traffic.ts";
import type { RedactionRules } from "../../core/redaction/redaction.ts";
import type { AskedHead, ExchangeWitness } from "../../transports/proxy.ts";
import { ownModule } from "../own-files.ts";
import type { MatchWindow } from "../settings/settings-table.ts";
import type { Told } from "./recording.ts";
import { Ring } from "./ring.ts";

export interface RecorderJob {
  readonly folder: string;
  /** How long after a call an agent may begin and still be matched to it by its prompt. */
  readonly window: MatchWindow;
  readonly redaction: RedactionRules | null;
  /** Somebody counts along. */
  readonly tellsRows: boolean;
}

/** What the recorder thread starts with: its job, and the memory in which chunks are passed to it. */
export interface RecorderStart extends RecorderJob {
  readonly memory: SharedArrayBuffer;
}

/** What is passed to the recorder: chunks by their place in the shared memory. */
export type Passed = Exclude<Told, { bytes: Uint8Array }> | PassedChunk;

/** One or more chunks of an exchange that came one after the other. */
interface PassedChunk {
  readonly is: "asked" | "answer";
  readonly id: string;
  readonly at: number;
  readonly start: number;
  length: number;
  end: number;
}

export type RecorderSays =
  /** So many entries were read, with so many bytes of the shared memory, up to this position. */
  | { readonly is: "done"; readonly entries: number; readonly bytes: number; readonly end: number }
  | { readonly is: "row"; readonly row: RequestRow | OpenedRow | EndedRow }
  | { readonly is: "trouble"; readonly words: string }
  | { readonly is: "closed" };

export interface WitnessOptions extends RecorderJob {
  /** The file that the recorder thread runs; without it, the source or built file of this program. */
  readonly recorder?: string | URL;
  onRow(row: RequestRow | OpenedRow | EndedRow): void;
  onTrouble(words: string): void;
}

/** More than this does not wait to be written down: then bodies are left out, and the agents go on. */
const MAX_WAITING = 64 << 20;
/** While more entries than this wait, new requests are not recorded at all. */
const MAX_ENTRIES = 10_000;
/** Long enough that many chunks go together, and short enough that nobody waits to see them. */
const GATHER_MS = 5;
/**
 * More than this in that time is no answer that a model writes: recording it waits, so that it does not slow the
 * forwarding down.
 */
const BULK_BYTES = 512 << 10;
const LONGEST_WAIT_MS = 1_000;

/** Hands copies of what goes by to the thread that writes it down, many at a time. */
export class Witness {
  readonly #options: WitnessOptions;
  #thread: Worker | null = null;
  readonly #ring = new Ring(MAX_WAITING);
  #batch: Passed[] = [];
  /** Entries that were passed on and not read yet, with those of the batch. */
  #entries = 0;
  /** Entries and batches so far, for tests. */
  readonly passed = { entries: 0, batches: 0 };
  #isPlanned = false;
  #onClosed: (() => void) | null = null;
  readonly #process = { pid: process.pid, startedAt: Math.round(Date.now() - performance.now()) };

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** What the recorder has not read yet. */
  get waiting(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#entries, bytes: this.#ring.waiting };
  }

  begin(head: AskedHead): ExchangeWitness {
    if (this.#entries > MAX_ENTRIES) {
      this.#options.onTrouble("more requests go by than can be written down: some are left out");
      return UNRECORDED;
    }
    const id = newId();
    const { method, path, headers, upstream } = head;
    this.#tell({
      is: "begun",
      id,
      at: Date.now(),
      question: { method, path, headers, upstream, windowMs: null, process: this.#process },
    });
    return {
      asked: (chunk) => this.#copy("asked", id, chunk),
      askedAll: () => this.#tell({ is: "asked-all", id, at: Date.now() }),
      answered: (head) =>
        this.#tell({ is: "answered", id, at: Date.now(), status: head.status, headers: head.headers }),
      answer: (chunk) => this.#copy("answer", id, chunk),
      ended: (ending) =>
        this.#tell({
          is: "ended",
          id,
          at: Date.now(),
          how: ending.how,
          error: "error" in ending ? ending.error : null,
        }),
    };
  }

  /** Files may have been thrown away: what comes is written into new ones. */
  reopen(): void {
    this.#thread?.postMessage("reopen");
  }

  /** Everything told so far is written down when it resolves. */
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

  #copy(is: "asked" | "answer", id: string, chunk: Uint8Array) {
    const start = this.#ring.put(chunk);
    if (start === null) {
      this.#options.onTrouble("more goes by than can be written down: some bodies are left out");
      return;
    }
    const end = this.#ring.written;
    const last = this.#batch.at(-1);
    if (last?.is === is && last.id === id && last.start + last.length === start) {
      last.length += chunk.length;
      last.end = end;
    } else this.#tell({ is, id, at: Date.now(), start, length: chunk.length, end });
  }

  #tell(told: Passed) {
    this.#batch.push(told);
    this.#entries += 1;
    this.passed.entries += 1;
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#plan(Date.now() + LONGEST_WAIT_MS);
  }

  #plan(latest: number) {
    const before = this.#ring.waiting;
    setTimeout(() => {
      const isBulk = this.#ring.waiting - before > BULK_BYTES;
      if (isBulk && this.#ring.waiting < MAX_WAITING / 2 && Date.now() < latest) this.#plan(latest);
      else this.#flush();
    }, GATHER_MS);
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

  #start(): Worker {
    const { folder, redaction, window, tellsRows } = this.#options;
    const thread = new Worker(this.#options.recorder ?? ownModule("app/proxy/recorder-thread"), {
      workerData: { folder, redaction, window, tellsRows, memory: this.#ring.memory } satisfies RecorderStart,
    });
    // It must not keep a process alive that has nothing else to do.
    thread.unref();
    thread.on("message", (says: RecorderSays) => this.#hear(says));
    thread.on("error", (error) => this.#options.onTrouble(`what goes by is not written down: ${error.message}`));
    thread.on("exit", () => {
      if (this.#thread === thread) this.#thread = null;
      this.#ring.clear();
      this.#entries = this.#batch.length;
      this.#onClosed?.();
    });
    return thread;
  }

  #hear(says: RecorderSays) {
    if (says.is === "done") {
      this.#ring.release(says.bytes, says.end);
      this.#entries -= says.entries;
    } else if (says.is === "row") this.#options.onRow(says.row);
    else if (says.is === "trouble") this.#options.onTrouble(says.words);
    else this.#onClosed?.();
  }
}

const UNRECORDED: ExchangeWitness = { asked() {}, askedAll() {}, answered() {}, answer() {}, ended() {} };

/** By time, so that names sort as they were made. */
const newId = () => `req-${Date.now().toString(36)}-${randomBytes(5).toString("hex")}`;
