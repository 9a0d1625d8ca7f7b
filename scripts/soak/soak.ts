import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Load, type LoadOptions, type Written, writeLong } from "./load.ts";
import { cpuOf, peakOf, type Sample, sample } from "./sample.ts";

const ROOT = join(import.meta.dirname, "../..");
const PROGRAM = join(ROOT, "bin/retinue.js");
const INSIDE = join(import.meta.dirname, "inside.ts");
const UPSTREAM = join(ROOT, "scripts/bench/proxy/parts.ts");
const TICK_MS = 100;

export interface SoakOptions extends LoadOptions {
  readonly seconds: number;
  /** Records per second, of all threads together. */
  readonly rate: number;
  readonly sampleSeconds: number;
  /** Duration of the idle phase at the end. */
  readonly idleSeconds: number;
  /** How long to wait after that until memory is released; 0 if this is not measured. */
  readonly releaseSeconds: number;
  readonly notify?: (text: string) => void;
}

export interface Soaked {
  readonly samples: readonly Sample[];
  readonly written: Written;
  /** The same numbers as reported by the server at the end. */
  readonly found: Omit<Written, "records">;
  readonly messages: number;
  readonly requests: number;
  /** Time from the last record until the server reported all records. */
  readonly caughtUpSeconds: number;
  /** Share of a core used while idle. */
  readonly idleShare: number;
  readonly peak: number;
  /** Heap in use after a garbage collection, at the start and when idle. Null if not measured. */
  readonly released: { readonly before: number; readonly after: number } | null;
}

/** A busy machine: growing threads and agents, a server with a live client, and requests through the proxy. */
export async function soak(folder: string, options: SoakOptions): Promise<Soaked> {
  const { idleSeconds, releaseSeconds } = options;
  const machine = new Machine(folder);
  try {
    const load = new Load(machine.home, options);
    load.flush();
    const { url, child } = await machine.start([
      "--expose-gc",
      "--import",
      INSIDE,
      PROGRAM,
      "serve",
      "--port",
      "0",
      "--no-open",
    ]);
    await until(async () => (await json<{ watching: boolean }>(new URL("/api/health", url))).watching);
    const upstream = await machine.start([UPSTREAM, "upstream"]);
    const proxy = await machine.start([PROGRAM, "proxy", "--port", "0", "--upstream", upstream.url, "--quiet"]);
    const { client, followSpans } = await openThreadPage(url, `claude://${load.first}`);

    const before = (await sample(child, 0, 0, "collect")).heap;
    const began = performance.now();
    const elapsed = () => (performance.now() - began) / 1_000;
    let requests = 0;
    const samples = await writeAndSample(load, child, options, elapsed, async () => {
      requests += 1;
      await Promise.all([sendRequest(proxy.url, requests), followSpans()]);
    });
    load.end();
    const ended = elapsed();
    const wanted = load.written;
    const found = () => sumsOf(url, new Set(load.ids));
    // A busy machine may be slow; data that is missing after this time is lost.
    await until(async () => isAll(await found(), wanted), 600_000).catch(() => {});
    const caughtUpSeconds = elapsed() - ended;
    samples.push(await sample(child, elapsed(), wanted.records));
    await until(async () => (await cpuIn(child, 1)) < 0.01, 120_000).catch(() => {});
    const idleShare = await cpuIn(child, idleSeconds);
    samples.push(await sample(child, elapsed(), wanted.records));
    const sums = await found();
    client.stop();
    const peak = peakOf(child.pid ?? 0);
    if (releaseSeconds > 0) await wait(1_000 * releaseSeconds);
    const released =
      releaseSeconds > 0 ? { before, after: (await sample(child, elapsed(), wanted.records, "collect")).heap } : null;
    return {
      samples,
      written: wanted,
      found: sums,
      messages: client.messages,
      requests,
      caughtUpSeconds,
      idleShare,
      peak,
      released,
    };
  } finally {
    await machine.stop();
  }
}

/** Subscribes like the dashboard on the page of a thread: `followSpans` requests all spans once, then only changes. */
async function openThreadPage(url: string, uri: string) {
  const name = encodeURIComponent(uri);
  await until(async () => (await fetch(new URL(`/api/agents/${name}`, url))).ok);
  const client = new Client(new URL(`/api/live?threads=true&cards=true&tree=${name}&log=${name}`, url));
  const spans = new URL(`/api/agents/${name}/spans`, url);
  const followSpans = async () => spans.searchParams.set("after", (await json<{ next: string }>(spans)).next);
  return { client, followSpans };
}

/** Writes records at the given rate; calls `sendRequests` with each sample. */
async function writeAndSample(
  load: Load,
  child: ChildProcess,
  { seconds, rate, sampleSeconds, notify = () => {} }: SoakOptions,
  elapsed: () => number,
  sendRequests: () => Promise<void>,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let at = elapsed(); at < seconds; at = elapsed()) {
    load.write(Math.max(0, Math.round(rate * at) - load.written.records), at / seconds);
    if (at >= samples.length * sampleSeconds) {
      const last = await sample(child, at, load.written.records);
      samples.push(last);
      await sendRequests();
      notify(
        `${at.toFixed(0)} s: ${(last.rss / 1e6).toFixed(0)} MB, heap ${(last.heap / 1e6).toFixed(0)} MB, ${last.records} records`,
      );
    }
    await wait(TICK_MS);
  }
  return samples;
}

export interface LongRead {
  readonly what: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peak: number;
  readonly isRight: boolean;
}

/** The first read of a transcript with this many lines, by commands and by a server. */
export async function readLong(folder: string, lines: number): Promise<readonly LongRead[]> {
  const machine = new Machine(folder);
  const reads: LongRead[] = [];
  try {
    const written = writeLong(machine.home, lines);
    const isRight = (calls: number | undefined) => calls === written.calls;
    for (const args of [
      ["ls", "--json"],
      ["tree", "latest", "--json"],
    ]) {
      const { text, ...took } = await machine.run([PROGRAM, ...args]);
      const sent = JSON.parse(text) as SentRecord | SentRecord[];
      reads.push({
        what: `\`retinue ${args[0]}\``,
        ...took,
        isRight: isRight((Array.isArray(sent) ? sent[0] : sent)?.usage.subtree.calls),
      });
    }
    rmSync(machine.data, { recursive: true });
    const began = performance.now();
    const { url, child } = await machine.start([PROGRAM, "serve", "--port", "0", "--no-open"]);
    const list = async () => (await json<{ items: SentRecord[] }>(new URL("/api/threads", url))).items?.[0];
    await until(async () => isRight((await list())?.usage.subtree.calls), 1_200_000).catch(() => {});
    const seconds = (performance.now() - began) / 1_000;
    const tree = await json<SentRecord>(
      new URL(`/api/agents/${encodeURIComponent((await list())?.uri ?? "")}`, url),
    ).catch(() => null);
    const pid = child.pid ?? 0;
    reads.push({
      what: "`retinue serve`, list and tree",
      seconds,
      cpuSeconds: cpuOf(pid),
      peak: peakOf(pid),
      isRight: isRight(tree?.usage.subtree.calls),
    });
    return reads;
  } finally {
    await machine.stop();
  }
}

interface SentRecord {
  readonly uri: string;
  readonly sessionId: string;
  readonly usage: { readonly subtree: { readonly calls: number; readonly outputTokens: number } };
  readonly counts: { readonly descendants: number };
}

async function sumsOf(url: string, ids: ReadonlySet<string>): Promise<Soaked["found"]> {
  const { items } = await json<{ items: readonly SentRecord[] }>(new URL("/api/threads?limit=200", url));
  const threads = items.filter(({ sessionId }) => ids.has(sessionId));
  const sum = (of: (record: SentRecord) => number) => threads.reduce((total, record) => total + of(record), 0);
  return {
    threads: threads.length,
    agents: sum(({ counts }) => counts.descendants),
    calls: sum(({ usage }) => usage.subtree.calls),
    outputTokens: sum(({ usage }) => usage.subtree.outputTokens),
  };
}

export const isAll = (found: Soaked["found"], { records: _, ...written }: Written) =>
  JSON.stringify(found) === JSON.stringify(written);

async function cpuIn(child: ChildProcess, seconds: number): Promise<number> {
  const before = cpuOf(child.pid ?? 0);
  await wait(seconds * 1_000);
  return (cpuOf(child.pid ?? 0) - before) / seconds;
}

/** Retries once, because the server may close a reused connection just as the request is sent. */
const json = async <T>(url: URL): Promise<T> => (await (await fetch(url).catch(() => fetch(url))).json()) as T;

async function until(what: () => Promise<boolean>, limitMs = 120_000): Promise<void> {
  for (const end = Date.now() + limitMs; Date.now() < end; await wait(100)) if (await what().catch(() => false)) return;
  throw new Error(`timed out waiting for: ${what.toString()}`);
}

/** Receives the live stream like a browser and counts its messages. */
class Client {
  readonly #abort = new AbortController();
  messages = 0;

  constructor(url: URL) {
    this.#read(url).catch(() => {});
  }

  async #read(url: URL): Promise<void> {
    const { body } = await fetch(url, { signal: this.#abort.signal });
    for await (const piece of body ?? [])
      this.messages += Buffer.from(piece).toString("latin1").split("\nid: ").length - 1;
  }

  stop(): void {
    this.#abort.abort();
  }
}

function sendRequest(url: string, number: number): Promise<void> {
  const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: `Request ${number}` }] });
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "x-claude-code-session-id": "soak",
    };
    const outgoing = request(`${url}/v1/messages?bytes=2000`, { method: "POST", headers }, (response) =>
      response.resume().on("end", resolve).on("error", reject),
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** A separate home folder, and the processes started in it. */
class Machine {
  readonly home: string;
  readonly data: string;
  readonly #children: ChildProcess[] = [];

  constructor(folder: string) {
    this.home = join(folder, "home");
    this.data = join(folder, "data");
    mkdirSync(this.home, { recursive: true });
  }

  #spawn(args: readonly string[]): ChildProcess {
    const env = { PATH: process.env.PATH ?? "", HOME: this.home, RETINUE_HOME: this.data, NO_COLOR: "1" };
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit", "ipc"] });
    this.#children.push(child);
    return child;
  }

  /** Resolves when the process prints its address. */
  start(args: readonly string[]): Promise<{ readonly url: string; readonly child: ChildProcess }> {
    const child = this.#spawn(args);
    return new Promise((resolve, reject) => {
      child.stdout?.once("data", (line) => resolve({ url: String(line).trim(), child }));
      child.once("exit", (code) => reject(new Error(`retinue ended with ${code}`)));
    });
  }

  /** Runs a command to its end and samples its CPU time and memory. */
  async run(
    args: readonly string[],
  ): Promise<{ readonly text: string; readonly seconds: number; readonly cpuSeconds: number; readonly peak: number }> {
    const began = performance.now();
    const child = this.#spawn(args);
    let text = "";
    child.stdout?.on("data", (piece) => {
      text += piece;
    });
    let [isOver, cpuSeconds, peak] = [false, 0, 0];
    const over = new Promise<void>((resolve) => child.once("close", () => resolve())).then(() => {
      isOver = true;
    });
    while (!isOver) {
      await Promise.race([over, wait(20)]);
      try {
        [cpuSeconds, peak] = [cpuOf(child.pid ?? 0), Math.max(peak, peakOf(child.pid ?? 0)) || peak];
      } catch {
        // The process has ended.
      }
    }
    return { text, seconds: (performance.now() - began) / 1_000, cpuSeconds, peak };
  }

  async stop(): Promise<void> {
    const running = this.#children.filter((child) => child.exitCode === null && child.signalCode === null);
    const over = running.map((child) => new Promise((resolve) => child.once("exit", resolve)));
    for (const child of running) child.kill("SIGTERM");
    await Promise.all(over);
  }
}
