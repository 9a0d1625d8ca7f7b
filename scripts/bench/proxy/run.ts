/**
 * The overhead of the API proxy, compared with no proxy and with a plain pipe. Prints a section for
 * docs/benchmarks.md.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytes, held, markdownTable, ratio, thousands } from "../format.ts";

const ROOT = join(import.meta.dirname, "../../..");
const PARTS = join(import.meta.dirname, "parts.ts");
const STREAMS = 50;
const RUNS = 5;
/** Short and alternating, so that other load on the machine affects all variants equally. */
const SLICES = 30;
const SLICE = { streams: 4, bytes: 3e6 };
/** Number of memory samples. */
const SAMPLES = 10;
/** Minimum rate in every run, relative to the plain pipe. */
const RATE_LIMIT = 0.9;
/** Maximum growth of memory from the first half of the requests to the second. */
const GROWTH_LIMIT = 1.1;
const requests = Number(process.argv[2] ?? 100_000);
const data = mkdtempSync(join(tmpdir(), "retinue-bench-proxy-"));
const children: ChildProcess[] = [];
let sent = 0;
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(data, { recursive: true, force: true });
});

const upstream = await start([PARTS, "upstream"]);
const variants = [
  { name: "no proxy", ...upstream },
  { name: "a bare pipe", ...(await start([PARTS, "pipe", upstream.url])) },
  {
    name: "`retinue proxy`",
    ...(await start([join(ROOT, "bin/retinue.js"), "proxy", "--port", "0", "--upstream", upstream.url, "--quiet"])),
  },
];
const agent = new Agent({ keepAlive: true });

const [runs, firsts] = [await rates(), await firstBytes()];
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
const half = memory.length / 2;
const most = (list: readonly number[]) => Math.max(...list);
const growth = most(memory.slice(half)) / most(memory.slice(0, half));
const memoryRows = memory.map((size, i) => [thousands(Math.round((requests * (i + 1)) / memory.length)), bytes(size)]);

console.log(`## The API proxy

Streams from a server on loopback: directly, through a \`node:http\` pipe, and through the proxy with recording. Each run alternates ${SLICES} slices of ${SLICE.streams} concurrent streams of ${bytes(SLICE.bytes)} and divides the sum of all bytes by the sum of all times. The first byte is measured with ${STREAMS} concurrent streams.

${markdownTable(["", ...variants.map(({ name }) => name), "proxy / pipe", "limit"], [...runRows, firstRow])}

Memory of the proxy (resident) while it serves ${thousands(requests)} requests: the most in the second half is ${ratio(growth, 1)} the most in the first half; the limit is ${held(`${GROWTH_LIMIT.toFixed(2)}×`, growth <= GROWTH_LIMIT)}.

${markdownTable(["requests", "memory"], memoryRows)}`);
process.exit(0);

function start(args: readonly string[]): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH ?? "", HOME: data, RETINUE_HOME: join(data, "data") },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return new Promise((resolve) => child.stdout?.once("data", (line) => resolve({ url: String(line).trim(), child })));
}

/** Bytes per second, for every run and variant. */
async function rates(): Promise<number[][]> {
  for (const { url } of variants) await streams(url, SLICE.streams, SLICE.bytes);
  const found: number[][] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const sums = variants.map(() => ({ bytes: 0, seconds: 0 }));
    for (let slice = 0; slice < SLICES; slice += 1)
      for (const [i, { url }] of slice % 2 === 0 ? [...variants.entries()] : [...variants.entries()].reverse()) {
        const streamed = await streams(url, SLICE.streams, SLICE.bytes);
        const sum = sums[i] as { bytes: number; seconds: number };
        sum.bytes += streamed.bytes;
        sum.seconds += streamed.seconds;
      }
    found.push(sums.map((sum) => sum.bytes / sum.seconds));
  }
  return found;
}

/** Median of the milliseconds until the first byte, for every variant. */
async function firstBytes(): Promise<number[]> {
  const found: number[][] = variants.map(() => []);
  for (let round = 0; round < RUNS; round += 1)
    for (const [i, { url }] of variants.entries()) found[i]?.push(...(await streams(url, STREAMS, 20_000)).firsts);
  return found.map(median);
}

/** The proxy's resident memory, sampled at equal intervals of the requests. */
async function memories(): Promise<number[]> {
  const { url = "", child } = variants.at(-1) ?? {};
  const found: number[] = [];
  for (let n = 0; n < SAMPLES; n += 1) {
    const until = Math.round(requests / SAMPLES);
    for (let done = 0; done < until; done += STREAMS) await streams(url, Math.min(STREAMS, until - done), 2_000);
    found.push(memoryOf(child?.pid ?? 0));
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
      response.on("end", () => resolve({ bytes: total, first }));
      response.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

function memoryOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
