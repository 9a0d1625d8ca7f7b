import { createParser } from "eventsource-parser";
import type { Card } from "./board.ts";
import type { SpansChange } from "./span-set.ts";
import type { AgentEvent, AgentRecord, Trouble } from "./types.ts";

/** `idle`: the page follows nothing. `waiting`: between two attempts to connect. */
export type Connection = "idle" | "connecting" | "open" | "waiting";

export interface LiveHandlers {
  agent(record: AgentRecord): void;
  event(event: AgentEvent): void;
  removed(uri: string): void;
  spans(change: SpansChange): void;
  card(card: Card): void;
  cardRemoved(id: string): void;
  /** All current troubles of the server. */
  troubles(troubles: readonly Trouble[]): void;
  /** Missed changes are no longer available: fetch everything again. */
  reset(): void;
  connection(state: Connection): void;
}

export interface LiveOptions {
  readonly handlers: LiveHandlers;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;

/**
 * A client for the server's event stream that reconnects with backoff and resumes after the last message received. Not
 * an `EventSource`, which cannot resume after a deliberate pause, as in a hidden tab.
 */
export class LiveStream {
  readonly #options: LiveOptions;
  #lastId: string | null = null;
  #stopping: AbortController | null = null;
  #url: string | null = null;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  get isStarted(): boolean {
    return this.#stopping !== null;
  }

  /** Switches to another stream, starting after the given message. A null URL stops. */
  follow(url: string | null, after: string | null): void {
    if (url === this.#url) return;
    this.#url = url;
    this.#lastId = after;
    this.stop();
    if (url === null) this.#options.handlers.connection("idle");
    this.start();
  }

  /** Resumes after a stop. */
  start(): void {
    if (this.#stopping !== null || this.#url === null) return;
    const stopping = new AbortController();
    this.#stopping = stopping;
    void this.#run(this.#url, stopping.signal);
  }

  stop(): void {
    this.#stopping?.abort();
    this.#stopping = null;
  }

  async #run(url: string, signal: AbortSignal): Promise<void> {
    const { handlers, wait } = this.#options;
    let pause = FIRST_WAIT_MS;
    while (!signal.aborted) {
      handlers.connection("connecting");
      let received = false;
      try {
        await this.#listen(url, signal, () => {
          received = true;
        });
      } catch {
        // A network error or a server restart: reconnect.
      }
      if (signal.aborted) return;
      // A stream that ends without a message counts as a failure.
      pause = received ? FIRST_WAIT_MS : Math.min(pause * 2, LONGEST_WAIT_MS);
      handlers.connection("waiting");
      await wait(pause, signal);
    }
  }

  async #listen(url: string, signal: AbortSignal, onMessage: () => void): Promise<void> {
    const { handlers, fetch } = this.#options;
    const headers: Record<string, string> = {
      accept: "text/event-stream",
      ...(this.#lastId === null ? {} : { "last-event-id": this.#lastId }),
    };
    const response = await fetch(url, { headers, signal, cache: "no-store" });
    if (!response.ok || response.body === null) throw new Error(`the live stream returned ${response.status}`);
    handlers.connection("open");
    const parser = createParser({
      onEvent: ({ event, data, id }) => {
        this.#dispatch(event ?? "message", data);
        if (id !== undefined) this.#lastId = id;
        onMessage();
      },
    });
    const text = response.body.pipeThrough(new TextDecoderStream());
    const reader = text.getReader();
    for (let chunk = await reader.read(); !chunk.done && !signal.aborted; chunk = await reader.read())
      parser.feed(chunk.value);
  }

  #dispatch(name: string, data: string): void {
    const { handlers } = this.#options;
    if (name === "agent") handlers.agent(JSON.parse(data) as AgentRecord);
    else if (name === "event") handlers.event(JSON.parse(data) as AgentEvent);
    else if (name === "removed") handlers.removed((JSON.parse(data) as { uri: string }).uri);
    else if (name === "spans") handlers.spans(JSON.parse(data) as SpansChange);
    else if (name === "card") handlers.card(JSON.parse(data) as Card);
    else if (name === "card-removed") handlers.cardRemoved((JSON.parse(data) as { id: string }).id);
    else if (name === "troubles") handlers.troubles((JSON.parse(data) as { troubles: readonly Trouble[] }).troubles);
    else if (name === "reset") {
      this.#lastId = null;
      handlers.reset();
    }
  }
}

/**
 * The earliest of several positions, by the number at their end. The server answers a position of an earlier server run
 * with `reset`.
 */
export function earliest(ids: readonly (string | null)[]): string | null {
  const known = ids.filter((id) => id !== null);
  const number = (id: string) => Number(id.slice(id.lastIndexOf("-") + 1));
  return known.reduce<string | null>((least, id) => (least === null || number(id) < number(least) ? id : least), null);
}
