import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { cpuOf } from "../soak/sample.ts";

const PROGRAM = join(import.meta.dirname, "../../bin/retinue.js");
const PATIENCE_MS = 10 * 60_000;
/** Minimum interval between two requests for spans by the waterfall page. */
const SPANS_MS = 400;

/** `retinue serve` on a home, with its CPU time and memory. Linux only, because it reads /proc. */
export class Serving {
  readonly #child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Resolves once everything is read and watched. */
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
    await serving.until(async () => {
      const health = (await (await fetch(new URL("/api/health", url))).json()) as {
        readonly reading: unknown;
        readonly watching: boolean;
      };
      return health.reading === null && health.watching;
    });
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
    const follower = new Follower(new URL(`/api/live?threads=true&cards=true&tree=${id}&log=${id}`, this.url));
    if (waterfall) await follower.followSpans(new URL(`/api/agents/${id}/spans`, this.url));
    await this.until(async () => follower.messages > 0);
    return follower;
  }

  async stop(): Promise<void> {
    const over = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await over;
  }
}

/** Reads a live stream like a browser. */
export class Follower {
  readonly #abort = new AbortController();
  messages = 0;
  bytes = 0;

  constructor(url: URL) {
    this.#read(url).catch(() => {});
  }

  async #read(url: URL): Promise<void> {
    const { body } = await fetch(url, { signal: this.#abort.signal });
    for await (const piece of body ?? []) {
      this.bytes += piece.length;
      this.messages += Buffer.from(piece).toString("latin1").split("\nid: ").length - 1;
    }
  }

  /** Requests all spans once, then changes after new messages, at most every `SPANS_MS`. */
  async followSpans(url: URL): Promise<void> {
    let after = ((await (await fetch(url)).json()) as { readonly next: string }).next;
    const poll = async () => {
      for (let seen = this.messages; !this.#abort.signal.aborted; await wait(SPANS_MS)) {
        if (seen === this.messages) continue;
        seen = this.messages;
        const response = await (
          await fetch(new URL(`?after=${encodeURIComponent(after)}`, url), { signal: this.#abort.signal })
        ).text();
        this.bytes += response.length;
        after = (JSON.parse(response) as { readonly next: string }).next;
      }
    };
    poll().catch(() => {});
  }

  stop(): void {
    this.#abort.abort();
  }
}
