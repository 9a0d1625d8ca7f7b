import type { Acknowledged, AgentShipped, ThreadComplete } from "../../core/ports/shipped.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Draft } from "./agent-diff.ts";

/** Maximum of one shipment before compression. A single document may be larger. */
export interface BatchLimit {
  readonly bytes: number;
  readonly documents: number;
}

export const BATCH_LIMIT: BatchLimit = { bytes: 2 << 20, documents: 4_000 };

/** Documents that are sent together, and what is to be recorded when they are acknowledged. */
export class Batch {
  /** JSON objects without a revision. */
  readonly lines: string[] = [];
  #bytes = 0;
  readonly #limit: BatchLimit;
  readonly #agents = new Map<string, { thread: string; uri: string; state: () => AgentShipped | null }>();
  readonly #threads: { uri: string; state: ThreadComplete | null }[] = [];

  constructor(limit: BatchLimit) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#limit.bytes || this.lines.length >= this.#limit.documents;
  }

  /** Nothing to send or to record. */
  get isEmpty(): boolean {
    return this.lines.length === 0 && this.#threads.length === 0;
  }

  add(draft: Draft): void {
    const line = printJson(draft);
    this.lines.push(line);
    this.#bytes += line.length;
  }

  /** `state` is called when the batch is complete. */
  touch(thread: string, uri: string, state: () => AgentShipped | null): void {
    this.#agents.set(`${thread} ${uri}`, { thread, uri, state });
  }

  /** The thread was sent completely with this batch and the ones before; null: it is gone. */
  finish(uri: string, state: ThreadComplete | null): void {
    this.#threads.push({ uri, state });
  }

  /** Call it before anything else is compared, because the states change then. */
  acknowledged(): Pick<Acknowledged, "agents" | "threads"> {
    return {
      agents: [...this.#agents.values()].map(({ thread, uri, state }) => ({ thread, uri, state: state() })),
      threads: [...this.#threads],
    };
  }
}
