import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import { SpanSet, type SpansChange, type SpansResponse } from "../../web/src/data/span-set.ts";
import { cpuOf } from "../soak/sample.ts";

const PROGRAM = join(import.meta.dirname, "../../bin/retinue.js");
const PATIENCE_MS = 10 * 60_000;

/** `retinue serve` on a home, with its CPU time and memory. Linux only, because it reads /proc. */
export class Serving {
  readonly #child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Resolves once everything is read and watched, and all text is indexed. */
  static async start(home: string): Promise<Serving> {
    const env = { PATH: process.env.PATH ?? "", HOME: home, RETINUE_HOME: join(home, "data"), NO_COLOR: "1" };
    const child = spawn(process.execPath, [PROGRAM, "serve", "--port", "0", "--no-open"], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout?.once("data", (line) => resolve(String(line).trim()));
      child.once("exit", (code) => reject(new Error(`retinue serve ended with ${code}`)));
    });
    const serving = new Serving(child, url);
    const json = async (path: string) => (await fetch(new URL(path, url))).json() as Promise<Record<string, unknown>>;
    await serving.until(async () => {
      const { reading, watching } = await json("/api/health");
      return reading === null && watching === true;
    });
    await serving.until(async () => (await json("/api/search?q=word")).incomplete === null);
    return serving;
  }

  async until(what: () => Promise<boolean>): Promise<void> {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await wait(100))
      if (await what().catch(() => false)) return;
    throw new Error("retinue serve was not ready in time");
  }

  /** CPU seconds so far, user and system, of all its threads. */
  get cpuSeconds(): number {
    return cpuOf(this.#child.pid ?? 0);
  }

  /** Resident memory. */
  get bytes(): number {
    return 1_024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#child.pid}/status`, "utf8"))?.[1]);
  }

  /**
   * Subscribes like the dashboard on the page of a thread: to the list, the tree and the log, and with `waterfall` to
   * its spans.
   */
  async follow(uri: string, waterfall: boolean): Promise<Follower> {
    const id = encodeURIComponent(uri);
    await this.until(async () => (await fetch(new URL(`/api/agents/${id}`, this.url))).ok);
    const live = `/api/live?threads=true&cards=true&tree=${id}&log=${id}${waterfall ? `&spans=${id}` : ""}`;
    const follower = new Follower(
      new URL(live, this.url),
      waterfall ? new URL(`/api/agents/${id}/spans`, this.url) : null,
    );
    await this.until(async () => follower.messages > 0);
    return follower;
  }

  async stop(): Promise<void> {
    const over = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await over;
  }
}

/** Reads a live stream like a browser, and keeps a waterfall up to date like the dashboard. */
export class Follower {
  readonly #abort = new AbortController();
  readonly #waterfall = new SpanSet();
  readonly #spans: URL | null;
  messages = 0;
  bytes = 0;
  /** Requests for spans, the first one included. */
  requests = 0;

  constructor(live: URL, spans: URL | null) {
    this.#spans = spans;
    this.#read(live).catch(() => {});
  }

  async #read(live: URL): Promise<void> {
    await this.#request();
    const parser = createParser({
      onEvent: ({ event, data }) => {
        this.messages += 1;
        if (event === "spans" && !this.#waterfall.applyChange(JSON.parse(data) as SpansChange)) void this.#request();
      },
    });
    const { body } = await fetch(live, { signal: this.#abort.signal });
    for await (const text of (body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream())) {
      this.bytes += text.length;
      parser.feed(text);
    }
  }

  async #request(): Promise<void> {
    if (this.#spans === null) return;
    this.requests += 1;
    const url = new URL(this.#spans);
    if (this.#waterfall.next !== undefined) url.searchParams.set("after", this.#waterfall.next);
    this.#waterfall.apply((await (await fetch(url, { signal: this.#abort.signal })).json()) as SpansResponse);
  }

  /** Number of spans in the waterfall. */
  get spans(): number {
    return this.#waterfall.count;
  }

  stop(): void {
    this.#abort.abort();
  }
}
