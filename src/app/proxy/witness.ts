import { randomBytes } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { RedactionRules } from "../../core/redaction.ts";
import type { AskedRow, EndedRow, OpenedRow } from "../../core/traffic.ts";
import type { AskedHead, ExchangeWitness } from "../../transports/proxy.ts";
import type { MatchWindow } from "../settings-table.ts";
import type { Told } from "./recording.ts";

export interface RecorderJob {
  readonly folder: string;
  /** How long after a call an agent may begin and still be matched to it by its prompt. */
  readonly window: MatchWindow;
  readonly redaction: RedactionRules | null;
  /** Somebody counts along. */
  readonly tellsRows: boolean;
}

export type RecorderSays =
  | { readonly is: "done"; readonly bytes: number }
  | { readonly is: "row"; readonly row: AskedRow | OpenedRow | EndedRow }
  | { readonly is: "trouble"; readonly words: string }
  | { readonly is: "closed" };

export interface WitnessOptions extends RecorderJob {
  onRow(row: AskedRow | OpenedRow | EndedRow): void;
  onTrouble(words: string): void;
}

/** More than this does not wait to be written down: then bodies are left out, and the agents go on. */
const MAX_WAITING = 64 << 20;
/** Long enough that many chunks go together, and short enough that nobody waits to see them. */
const GATHER_MS = 5;
const THREAD_FILE = new URL(import.meta.url.endsWith(".ts") ? "./recorder-thread.ts" : "./recorder-thread.js", import.meta.url);

/** Hands copies of what goes by to the thread that writes it down, many at a time. */
export class Witness {
  readonly #options: WitnessOptions;
  #thread: Worker | null = null;
  #batch: Told[] = [];
  #buffers: ArrayBuffer[] = [];
  #waiting = 0;
  #isPlanned = false;
  #onClosed: (() => void) | null = null;
  readonly #process = { pid: process.pid, startedAt: Math.round(Date.now() - performance.now()) };

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  begin(head: AskedHead): ExchangeWitness {
    const id = newId();
    const { method, path, headers, upstream } = head;
    this.#tell({ is: "begun", id, at: Date.now(), question: { method, path, headers, upstream, windowMs: null, process: this.#process } });
    return {
      asked: (chunk) => this.#copy("asked", id, chunk),
      askedAll: () => this.#tell({ is: "asked-all", id, at: Date.now() }),
      answered: (head) => this.#tell({ is: "answered", id, at: Date.now(), status: head.status, headers: head.headers }),
      answer: (chunk) => this.#copy("answer", id, chunk),
      ended: (ending) => this.#tell({ is: "ended", id, at: Date.now(), how: ending.how, error: "error" in ending ? ending.error : null }),
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
    if (this.#waiting > MAX_WAITING) {
      this.#options.onTrouble("more goes by than can be written down: some bodies are left out");
      return;
    }
    this.#waiting += chunk.length;
    const bytes = new Uint8Array(chunk);
    this.#buffers.push(bytes.buffer);
    this.#tell({ is, id, at: Date.now(), bytes });
  }

  #tell(told: Told) {
    this.#batch.push(told);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setTimeout(() => this.#flush(), GATHER_MS);
  }

  #flush() {
    this.#isPlanned = false;
    if (this.#batch.length === 0) return;
    const [batch, buffers] = [this.#batch, this.#buffers];
    this.#batch = [];
    this.#buffers = [];
    this.#thread ??= this.#start();
    this.#thread.postMessage(batch, buffers);
  }

  #start(): Worker {
    const { folder, redaction, window, tellsRows } = this.#options;
    const thread = new Worker(THREAD_FILE, { workerData: { folder, redaction, window, tellsRows } satisfies RecorderJob });
    // It must not keep a process alive that has nothing else to do.
    thread.unref();
    thread.on("message", (says: RecorderSays) => this.#hear(says));
    thread.on("error", (error) => this.#options.onTrouble(`what goes by is not written down: ${error.message}`));
    thread.on("exit", () => {
      if (this.#thread === thread) this.#thread = null;
      this.#waiting = 0;
      this.#onClosed?.();
    });
    return thread;
  }

  #hear(says: RecorderSays) {
    if (says.is === "done") this.#waiting -= says.bytes;
    else if (says.is === "row") this.#options.onRow(says.row);
    else if (says.is === "trouble") this.#options.onTrouble(says.words);
    else this.#onClosed?.();
  }
}

/** By time, so that names sort as they were made. */
const newId = () => `req-${Date.now().toString(36)}-${randomBytes(5).toString("hex")}`;
