import { setTimeout as wait } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import { holdsInTime } from "../process.ts";

interface Listed {
  readonly uri: string;
  readonly owner?: string;
  readonly lastActivityAt: string | null;
  readonly status: string;
}

/**
 * Follows the list of threads like a dashboard. When a server is killed, it continues at another one after the last
 * message, and fetches the list again only if the server says so.
 */
export class Follower {
  readonly #address: string;
  readonly #token: string;
  readonly #stop = new AbortController();
  readonly #reading: Promise<void>;
  #threads = new Map<string, string>();
  reconnects = 0;

  constructor(address: string, token: string) {
    this.#address = address;
    this.#token = token;
    this.#reading = this.#read();
  }

  async #get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(new URL(path, this.#address), {
      headers: { Authorization: `Bearer ${this.#token}`, ...headers },
      signal: this.#stop.signal,
    });
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
    return response;
  }

  async #list(): Promise<{ readonly threads: Map<string, string>; readonly position: string }> {
    const threads = new Map<string, string>();
    let [cursor, position]: [string | null, string] = ["", ""];
    while (cursor !== null) {
      const response = await this.#get(`/api/threads?limit=500${cursor === "" ? "" : `&cursor=${cursor}`}`);
      if (position === "") position = response.headers.get("retinue-live") ?? "";
      const page = (await response.json()) as { items: Listed[]; next: string | null };
      for (const one of page.items) threads.set(keyOf(one), stateOf(one));
      cursor = page.next;
    }
    return { threads, position };
  }

  async #read(): Promise<void> {
    let position = "";
    while (!this.#stop.signal.aborted) {
      try {
        if (position === "") {
          const list = await this.#list();
          this.#threads = list.threads;
          position = list.position;
        }
        const parser = createParser({
          onEvent: ({ event, data, id }) => {
            // The new servers of an old database do not know every position.
            position = event === "reset" ? "" : (id ?? position);
            const one = JSON.parse(data) as Listed;
            if (event === "agent") this.#threads.set(keyOf(one), stateOf(one));
            if (event === "removed") this.#threads.delete(keyOf(one));
          },
        });
        const { body } = await this.#get("/api/live?threads=true", { "Last-Event-ID": position });
        for await (const part of (body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream())) {
          parser.feed(part);
          if (position === "") break;
        }
      } catch {
        // The server was killed, or no server or database is there.
      }
      this.reconnects += 1;
      await wait(50);
    }
  }

  /** Threads whose last state did not arrive. Waits for it. */
  async missing(): Promise<string[]> {
    const { threads } = await this.#list();
    const different = () =>
      [...new Set([...threads.keys(), ...this.#threads.keys()])].filter(
        (key) => threads.get(key) !== this.#threads.get(key),
      );
    await holdsInTime(() => different().length === 0);
    return different().map((key) => `live: ${key}: ${this.#threads.get(key)} instead of ${threads.get(key)}`);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#reading;
  }
}

const keyOf = ({ owner, uri }: Listed) => `${owner} ${uri}`;
const stateOf = ({ status, lastActivityAt }: Listed) => `${status} ${lastActivityAt}`;
