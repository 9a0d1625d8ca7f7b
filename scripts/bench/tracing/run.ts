/**
 * Duration of tracing: until a hook returns, and until a turn of many operations has arrived at a service on
 * loopback. Prints a section for docs/benchmarks.md.
 */
import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openKept } from "../../../src/app/kept/kept-file.ts";
import { mainWriter, SESSION, THREAD_FILE, text, toolUse } from "../../../test/support/claude-records.ts";
import { startLangSmith } from "../../../test/support/langsmith-server.ts";
import { held, markdownTable, seconds } from "../format.ts";

const PROGRAM = join(import.meta.dirname, "../../../bin/retinue.js");
const RUNS = 5;
/** Maximum duration in seconds. */
const HOOK_LIMIT = 0.06;
const DELIVERY_LIMIT = 2;
const operations = Number(process.argv[2] ?? 400);
const home = mkdtempSync(join(tmpdir(), "retinue-bench-tracing-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));

let data = "";
const tracedFolders: string[] = [];
const transcript = join(home, ".claude", THREAD_FILE);
writeTurn();
const server = await startLangSmith();
const delivered = await repeated(deliver);
const rows = [
  row("`retinue hook`, tracing off", await repeated(() => hook({})), HOOK_LIMIT),
  row("`retinue hook`, tracing on", await repeated(() => hook(traced())), HOOK_LIMIT),
  row(`${operations} operations delivered`, delivered, DELIVERY_LIMIT),
];
await server.close();
console.log(
  `## Tracing\n\nA turn of ${operations} operations.\n\n${markdownTable(["", "median", "slowest", "limit of the median"], rows)}`,
);

function row(name: string, taken: readonly (number | null)[], limit: number): string[] {
  const [median = "", slowest = ""] = times(taken);
  return [name, median, slowest, held(`at most ${seconds(limit)}`, Number.parseFloat(median) <= limit)];
}

/** Half of the operations are model calls, the other half tool calls. */
function writeTurn() {
  const main = mainWriter();
  const usage = { usage: { input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 20_000 } };
  const prompt = main.user("go");
  const rounds = Array.from({ length: operations / 2 }, (_, i) => {
    const call = `toolu_${String(i).padStart(20, "0")}`;
    return [
      main.assistant([toolUse(call, "Bash", { command: `step ${i}` })], { stop_reason: "tool_use", ...usage }),
      main.result(call, "a line of output\n".repeat(40)),
    ];
  });
  mkdirSync(dirname(transcript), { recursive: true });
  appendFileSync(
    transcript,
    [prompt, ...rounds.flat(), main.assistant([text("Done.")], usage)]
      .map((row) => `${JSON.stringify(row)}\n`)
      .join(""),
  );
}

function traced() {
  return { TRACE_TO_LANGSMITH: "true", CC_LANGSMITH_API_KEY: "test-key", LANGSMITH_ENDPOINT: server.url };
}

/** Runs the work several times, each time with an empty data folder. */
async function repeated(work: () => Promise<number | null>): Promise<(number | null)[]> {
  const taken: (number | null)[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    data = mkdtempSync(join(home, "data-"));
    const kept = await openKept({ RETINUE_HOME: data });
    kept.outbox.open(`langsmith ${server.url} (by product)`, 0);
    kept.close();
    taken.push(await work());
    await untilDelivered();
  }
  return taken;
}

function times(taken: readonly (number | null)[]): string[] {
  const sorted = taken.filter((one) => one !== null).sort((a, b) => a - b);
  return sorted.length < taken.length
    ? ["not measured: it fails", ""]
    : [seconds(sorted[Math.floor(sorted.length / 2)] ?? Number.NaN), seconds(sorted.at(-1) ?? Number.NaN)];
}

/** Runs the hook like the product at the end of a turn. */
function hook(more: Record<string, string>): Promise<number | null> {
  if ("TRACE_TO_LANGSMITH" in more) tracedFolders.push(data);
  return run(
    ["hook"],
    more,
    JSON.stringify({ hook_event_name: "Stop", session_id: SESSION, transcript_path: transcript, cwd: home }),
  );
}

/** Time from the start of the background process that a hook starts until everything has arrived. */
async function deliver(): Promise<number | null> {
  (server.runs as Map<string, unknown>).clear();
  const taken = await run(["hook", "--flush"], traced(), "");
  // The turn, a model call and a tool call per round, and the last model call.
  return server.runs.size === operations + 2 ? taken : null;
}

/** Waits for the background processes that hooks started; they end once everything has arrived. */
async function untilDelivered(): Promise<void> {
  for (const folder of tracedFolders) {
    const kept = await openKept({ RETINUE_HOME: folder });
    while (kept.outbox.destinations().some(({ holder, delivered }) => holder !== null || delivered === 0))
      await wait(50);
    kept.close();
  }
}

/** Duration in seconds; null if the command failed. */
function run(args: readonly string[], more: Record<string, string>, input: string): Promise<number | null> {
  const began = performance.now();
  const env = { PATH: process.env.PATH ?? "", HOME: home, RETINUE_HOME: data, ...more };
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ["pipe", "ignore", "ignore"] });
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  return new Promise((resolve) =>
    child.once("exit", (code) => resolve(code === 0 ? (performance.now() - began) / 1_000 : null)),
  );
}
