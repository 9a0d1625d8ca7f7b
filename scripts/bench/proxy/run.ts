/** What the API proxy costs: beside no proxy at all, and beside a pipe that does nothing else. Prints a section for docs/benchmarks.md. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytes, markdownTable, ratio, thousands } from "../format.ts";

const ROOT = join(import.meta.dirname, "../../..");
const PARTS = join(import.meta.dirname, "parts.ts");
const STREAMS = 50;
const ROUNDS = 5;
const requests = Number(process.argv[2] ?? 10_000);
const data = mkdtempSync(join(tmpdir(), "retinue-bench-proxy-"));
const children: ChildProcess[] = [];
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(data, { recursive: true, force: true });
});

const upstream = await start([PARTS, "upstream"]);
const ways = [
  { name: "no proxy", ...upstream },
  { name: "a bare pipe", ...(await start([PARTS, "pipe", upstream.url])) },
  { name: "`retinue proxy`", ...(await start([join(ROOT, "bin/retinue.js"), "proxy", "--port", "0", "--upstream", upstream.url, "--quiet"])) },
];
const agent = new Agent({ keepAlive: true });

const proxy = ways.at(-1)?.child.pid ?? 0;
await many(500);
const before = memoryOf(proxy);
await many(requests);
const after = memoryOf(proxy);

const rates: number[][] = ways.map(() => []);
const firsts: number[][] = ways.map(() => []);
for (let round = 0; round <= ROUNDS; round += 1)
  for (const [i, { url }] of ways.entries()) {
    const streamed = await streams(url, 4, 24e6);
    const asked = await streams(url, STREAMS, 20_000);
    // The first round warms up.
    if (round === 0) continue;
    rates[i]?.push(streamed.bytes / streamed.seconds);
    firsts[i]?.push(...asked.firsts);
  }
const [, pipe, ours] = rates.map(median);
const rows = ways.map(({ name }, i) => [
  name,
  `${bytes(median(rates[i] ?? []))}/s`,
  ratio(median(rates[i] ?? []), pipe ?? Number.NaN),
  `${median(firsts[i] ?? []).toFixed(2)} ms`,
  `${(median(firsts[i] ?? []) - median(firsts[1] ?? [])).toFixed(2)} ms`,
]);

console.log(`## The API proxy

Streams from a server on loopback, through nothing, through \`node:http\` piped, and through the proxy with its recording, in turn: four of 24 MB at once for the rate (${(((ours ?? 0) / (pipe ?? 1)) * 100).toFixed(0)} % of the pipe's), ${STREAMS} at once for the first byte. The proxy has ${bytes(before)} of memory after 500 requests, and ${bytes(after)} after ${thousands(requests)} more.

${markdownTable(["", "streamed", "to the pipe", "first byte", "to the pipe"], rows)}`);
process.exit(0);

function start(args: readonly string[]): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH ?? "", HOME: data, RETINUE_HOME: join(data, "data") },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  return new Promise((resolve) => child.stdout?.once("data", (line) => resolve({ url: String(line).trim(), child })));
}

interface Streamed {
  readonly bytes: number;
  readonly seconds: number;
  readonly firsts: readonly number[];
}

async function streams(url: string, count: number, size: number): Promise<Streamed> {
  const began = performance.now();
  const all = await Promise.all(Array.from({ length: count }, (_, i) => ask(url, size, i)));
  return { bytes: all.reduce((sum, one) => sum + one.bytes, 0), seconds: (performance.now() - began) / 1_000, firsts: all.map(({ first }) => first) };
}

function ask(url: string, size: number, number: number): Promise<{ readonly bytes: number; readonly first: number }> {
  const body = JSON.stringify({
    model: "m",
    stream: true,
    tools: [{ name: "Bash" }],
    messages: [{ role: "user", content: `Stream ${number} ${"and so on ".repeat(200)}` }],
  });
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), "x-claude-code-session-id": "bench" };
    const asking = request(`${url}/v1/messages?bytes=${size}`, { method: "POST", agent, headers }, (response) => {
      let [total, first] = [0, 0];
      response.on("data", (chunk: Buffer) => {
        first ||= performance.now() - began;
        total += chunk.length;
      });
      response.on("end", () => resolve({ bytes: total, first }));
      response.on("error", reject);
    });
    asking.on("error", reject);
    asking.end(body);
  });
}

async function many(count: number): Promise<void> {
  const url = ways.at(-1)?.url ?? "";
  for (let done = 0; done < count; done += STREAMS) await streams(url, Math.min(STREAMS, count - done), 2_000);
}

function memoryOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
