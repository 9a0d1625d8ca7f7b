/**
 * The overhead of the API proxy, compared with no proxy and with a plain pipe. Prints a section for
 * docs/benchmarks.md.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cpuOf, rssOf } from "../../soak/sample.ts";
import { bytes, held, markdownTable, ratio, thousands } from "../format.ts";
import { Recorded } from "./recorded.ts";

const ROOT = join(import.meta.dirname, "../../..");
const PARTS = join(import.meta.dirname, "parts.ts");
const STREAMS = 50;
const RUNS = 5;
/**
 * Short and alternating, so that other load on the machine affects all variants equally. A slice fits into the memory
 * in which the proxy passes data to its recorder.
 */
const SLICES = 16;
const SLICE = { streams: 4, bytes: 6e6 };
/** Before each slice and not measured, because all processes were idle while the recorder worked. */
const WARM_UP_BYTES = 1e6;
/** Requests after which memory is measured. */
const MARKS = [1_000, 10_000, 50_000, 100_000];
/** Requests after which heaps and compiled code have their final size. */
const WARM = 10_000;
/** Minimum rate in every run, relative to the plain pipe. */
const RATE_LIMIT = 0.9;
/** Maximum growth of memory after `WARM` requests. */
const GROWTH_LIMIT = 1.1;
const requests = Number(process.argv[2] ?? 100_000);
const data = mkdtempSync(join(tmpdir(), "retinue-bench-proxy-"));
const children: ChildProcess[] = [];
let sent = 0;
/** Responses of each server so far. */
const received = new Map<string, { responses: number; bytes: number }>();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(data, { recursive: true, force: true });
});

const upstream = await start([PARTS, "upstream"]);
const variants = [
  { name: "no proxy", ...upstream },
  { name: "a bare pipe", ...(await start([PARTS, "pipe", upstream.url])) },
  { name: "`retinue proxy`", ...(await startRetinue("rates")) },
];
const recorded = new Recorded(join(data, "rates/recordings/proxy"));
const agent = new Agent({ keepAlive: true });

const { runs, cpu } = await rates();
const firsts = await firstBytes();
const memory = await memories();

const [, pipeFirst = Number.NaN] = firsts;
const runRows = runs.map(([direct = 0, pipe = 0, ours = 0], i) => [
  `run ${i + 1}`,
  ...[direct, pipe, ours].map((rate) => `${bytes(rate)}/s`),
  ratio(ours, pipe),
  held(`at least ${RATE_LIMIT.toFixed(2)}×`, ours / pipe >= RATE_LIMIT),
]);
const firstRow = [
  "first byte",
  ...firsts.map((ms) => `${ms.toFixed(2)} ms`),
  `${(firsts.at(-1) ?? 0) - pipeFirst > 0 ? "+" : ""}${((firsts.at(-1) ?? 0) - pipeFirst).toFixed(2)} ms`,
  "",
];
const warm = memory.find(({ after }) => after >= Math.min(WARM, requests))?.size ?? Number.NaN;
const memoryRows = memory.map(({ after, size }) => [
  thousands(after),
  bytes(size),
  after <= WARM ? "" : ratio(size, warm),
  after <= WARM ? "" : held(`at most ${GROWTH_LIMIT.toFixed(2)}×`, size / warm <= GROWTH_LIMIT),
]);
const cpuSeconds = ({ seconds: used, bytes: passed }: CpuTime) => `${((1e9 * used) / passed).toFixed(1)} s`;

console.log(`## The API proxy

Streams from a server on loopback: directly, through a \`node:http\` pipe, and through the proxy with recording. Each run alternates ${SLICES} slices of ${SLICE.streams} concurrent streams of ${bytes(SLICE.bytes)} and takes the median of their rates. The first byte is measured with ${STREAMS} concurrent streams.

${markdownTable(["", ...variants.map(({ name }) => name), "proxy / pipe", "limit"], [...runRows, firstRow])}

CPU time per GB: ${cpuSeconds(cpu.pipe)} in the pipe; in the proxy ${cpuSeconds(cpu.forwarding)} to forward and ${cpuSeconds(cpu.recording)} to parse, redact and record. A burst is recorded after it has passed, at low priority; the benchmark waits for that after each slice, and checks that every byte was recorded.

Memory of a new proxy (resident) after so many requests, ${STREAMS} at a time:

${markdownTable(["requests", "memory", `/ ${thousands(WARM)} requests`, "limit"], memoryRows)}`);
process.exit(0);

function start(
  args: readonly string[],
  folder = data,
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH ?? "", HOME: data, RETINUE_HOME: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return new Promise((resolve) => child.stdout?.once("data", (line) => resolve({ url: String(line).trim(), child })));
}

function startRetinue(name: string): ReturnType<typeof start> {
  const args = ["proxy", "--port", "0", "--upstream", upstream.url, "--quiet"];
  return start([join(ROOT, "bin/retinue.js"), ...args], join(data, name));
}

interface CpuTime {
  readonly seconds: number;
  readonly bytes: number;
}

/** Bytes per second, for every run and variant; CPU time, for all runs. */
async function rates() {
  for (const { url } of variants) await streams(url, SLICE.streams, SLICE.bytes);
  await allRecorded();
  const [before, beforeBytes] = [cpuTimes(), recorded.bytes];
  const found: number[][] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const slices: number[][] = variants.map(() => []);
    for (let slice = 0; slice < SLICES; slice += 1)
      for (const [i, { url }] of slice % 2 === 0 ? [...variants.entries()] : [...variants.entries()].reverse()) {
        await streams(url, SLICE.streams, WARM_UP_BYTES);
        const streamed = await streams(url, SLICE.streams, SLICE.bytes);
        slices[i]?.push(streamed.bytes / streamed.seconds);
        await allRecorded();
      }
    found.push(slices.map(median));
  }
  const [after, passed] = [cpuTimes(), recorded.bytes - beforeBytes];
  const since = (of: keyof typeof after): CpuTime => ({ seconds: after[of] - before[of], bytes: passed });
  return { runs: found, cpu: { pipe: since("pipe"), forwarding: since("forwarding"), recording: since("recording") } };
}

/** Waits until the proxy has recorded every response that passed through it. */
async function allRecorded(): Promise<void> {
  const { responses, bytes: passed } = received.get(variants.at(-1)?.url ?? "") ?? { responses: 0, bytes: 0 };
  await recorded.until(responses, passed);
}

/** CPU seconds of the pipe, of the proxy's main thread, and of its other threads. */
function cpuTimes() {
  const [, pipe = 0, proxy = 0] = variants.map(({ child }) => child.pid ?? 0);
  const forwarding = cpuOf(proxy, "main thread");
  return { pipe: cpuOf(pipe), forwarding, recording: cpuOf(proxy) - forwarding };
}

/** Median of the milliseconds until the first byte, for every variant. */
async function firstBytes(): Promise<number[]> {
  const found: number[][] = variants.map(() => []);
  for (let round = 0; round < RUNS; round += 1)
    for (const [i, { url }] of variants.entries()) found[i]?.push(...(await streams(url, STREAMS, 20_000)).firsts);
  return found.map(median);
}

/** The resident memory of a new proxy after each of the marks. */
async function memories(): Promise<{ readonly after: number; readonly size: number }[]> {
  const { url, child } = await startRetinue("memory");
  const found: { after: number; size: number }[] = [];
  let done = 0;
  for (const after of [...MARKS.filter((mark) => mark < requests), requests]) {
    for (; done < after; done += STREAMS) await streams(url, Math.min(STREAMS, after - done), 2_000);
    found.push({ after, size: rssOf(child.pid ?? 0) });
  }
  return found;
}

interface Streamed {
  readonly bytes: number;
  readonly seconds: number;
  readonly firsts: readonly number[];
}

async function streams(url: string, count: number, size: number): Promise<Streamed> {
  const began = performance.now();
  const all = await Promise.all(Array.from({ length: count }, () => sendRequest(url, size)));
  return {
    bytes: all.reduce((sum, one) => sum + one.bytes, 0),
    seconds: (performance.now() - began) / 1_000,
    firsts: all.map(({ first }) => first),
  };
}

function sendRequest(url: string, size: number): Promise<{ readonly bytes: number; readonly first: number }> {
  sent += 1;
  const body = JSON.stringify({
    model: "m",
    stream: true,
    tools: [{ name: "Bash" }],
    messages: [{ role: "user", content: `Stream ${sent} ${"and so on ".repeat(200)}` }],
  });
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "x-claude-code-session-id": "bench",
    };
    const outgoing = request(`${url}/v1/messages?bytes=${size}`, { method: "POST", agent, headers }, (response) => {
      let [total, first] = [0, 0];
      response.on("data", (chunk: Buffer) => {
        first ||= performance.now() - began;
        total += chunk.length;
      });
      response.on("end", () => {
        const { responses, bytes: before } = received.get(url) ?? { responses: 0, bytes: 0 };
        received.set(url, { responses: responses + 1, bytes: before + total });
        resolve({ bytes: total, first });
      });
      response.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
