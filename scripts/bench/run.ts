/**
 * `npm run bench`: how long retinue takes, beside ccusage on the same files, in homes with the sizes that transcripts have in life.
 *
 *   npm run bench -- --size 100MB,1GB --sessions 1000,10000 --runs 3 --seed 1 --write
 *
 * Everything is made below the temporary folder and removed again, also when it is stopped.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CCUSAGE, ccusageProgram } from "./ccusage.ts";
import { bytes, markdownTable, parseBytes, percent, ratio, seconds, thousands } from "./format.ts";
import { type HomeOptions, writeHome } from "./home.ts";
import { type Command, type Measurement, measure, median } from "./measure.ts";
import { quickSection } from "./quick.ts";
import { Subject } from "./subject.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/benchmarks.md");
/** Records written while somebody follows. */
const FOLLOWED = 15;
/** Homes of this size are measured once. */
const HUGE = 4e9;
/** What a session has on average where only their number is asked for. */
const BYTES_A_SESSION = 100_000;

const { values: given } = parseArgs({
  options: {
    size: { type: "string", default: "100MB,1GB" },
    sessions: { type: "string", default: "1000,10000" },
    runs: { type: "string", default: "3" },
    agents: { type: "string", default: "1000" },
    operations: { type: "string", default: "400" },
    requests: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    write: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (given.help) {
  console.log(
    "npm run bench -- [--size 100MB,1GB] [--sessions 1000,10000] [--agents 1000] [--operations 400] [--requests 10000] [--runs 3] [--seed 1] [--write]\n--size none, --sessions none or --agents none leaves those out; --agents is about the dashboard, in a real browser; --operations about a turn that is traced; --requests about the API proxy; --write puts the tables into docs/benchmarks.md",
  );
  process.exit(0);
}

const words = (list: string) => list.split(",").filter((word) => word !== "" && word !== "none");
const seed = Number(given.seed);
const wantedRuns = Number(given.runs);
const homes: HomeOptions[] = [
  ...words(given.size).map((size) => ({ bytes: parseBytes(size), seed })),
  ...words(given.sessions).map((count) => ({ bytes: Number(count) * BYTES_A_SESSION, sessions: Number(count), seed })),
];

const scratch = mkdtempSync(join(tmpdir(), "retinue-bench-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

const largest = Math.max(0, ...homes.map((home) => home.bytes));
const { bavail, bsize } = statfsSync(scratch);
if (bavail * bsize < 3 * largest) throw new Error(`${bytes(3 * largest)} must be free in ${tmpdir()}, ${bytes(bavail * bsize)} are`);

const talk = (text: string) => process.stderr.write(`${text}\n`);
talk("building retinue, fetching ccusage");
execFileSync(process.execPath, [join(ROOT, "scripts/build.ts")], { stdio: "inherit" });
const ccusage = await ccusageProgram();

const sections: string[] = [];
talk("what agents wait for");
sections.push(await quickSection(scratch));
console.log(`${sections[0]}\n`);
for (const options of homes) {
  const folder = mkdtempSync(join(scratch, "home-"));
  const section = await sectionOf(folder, options);
  rmSync(folder, { recursive: true });
  console.log(`${section}\n`);
  sections.push(section);
}
for (const agents of words(given.agents)) sections.push(sectionBy("dashboard", agents, `the dashboard, with a thread of ${agents} agents`));
for (const operations of words(given.operations)) sections.push(sectionBy("tracing", operations, `tracing a turn of ${operations} operations`));
for (const requests of words(given.requests)) sections.push(sectionBy("proxy", requests, `the API proxy, with ${requests} requests`));
if (given.write) writeFileSync(PAGE, pageOf(sections));

/** What a bench of its own prints. */
function sectionBy(bench: string, size: string, about: string): string {
  talk(about);
  const script = join(ROOT, "scripts/bench", bench, "run.ts");
  const section = execFileSync(process.execPath, [script, size], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  console.log(`${section}\n`);
  return section;
}

function followed(by: string, delays: readonly number[]): string {
  const sorted = delays.toSorted((a, b) => a - b);
  const [middle = Number.NaN, last = Number.NaN] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return `A new record ${by} after ${seconds(middle)} (the middle of ${delays.length}; the slowest ${seconds(last)}).`;
}

async function sectionOf(folder: string, options: HomeOptions): Promise<string> {
  const runs = options.bytes >= HUGE ? 1 : wantedRuns;
  talk(`writing a home of ${bytes(options.bytes)}`);
  const stats = writeHome(join(folder, ".claude"), options);
  const subject = new Subject(folder, stats);
  const theirs: Command = { program: ccusage, args: ["claude", "session", "--json", "--offline"], env: { PATH: process.env.PATH ?? "", HOME: folder } };

  // One after the other in every round, so that a busy minute of the machine hits both.
  const [first, second, rival]: [Measurement[], Measurement[], Measurement[]] = [[], [], []];
  for (let run = 0; run < runs; run += 1) {
    talk(`round ${run + 1} of ${runs}`);
    subject.reset();
    rival.push(measure(theirs));
    first.push(measure(subject.command("ls")));
    second.push(measure(subject.command("ls")));
  }
  checkSums(stats.outputTokens, measure(subject.command("ls", "--json", "--limit", "1000000")).stdout, rival.at(-1)?.stdout ?? "");
  const repeated = (prepare: (run: number) => void, command: Command) =>
    median(
      Array.from({ length: runs }, (_, run) => {
        prepare(run);
        return measure(command);
      }),
    );
  const beside = median(rival);
  const row = (name: string, ours: Measurement) => [
    name,
    seconds(ours.wallSeconds),
    seconds(ours.cpuSeconds),
    bytes(ours.peakBytes),
    ratio(ours.wallSeconds, beside.wallSeconds),
    ratio(ours.cpuSeconds, beside.cpuSeconds),
    ratio(ours.peakBytes, beside.peakBytes),
  ];
  const nothing = () => {};
  const rows = [
    [`ccusage ${CCUSAGE}`, seconds(beside.wallSeconds), seconds(beside.cpuSeconds), bytes(beside.peakBytes), "1×", "1×", "1×"],
    row("first `retinue ls`", median(first)),
    row("second `retinue ls`", median(second)),
    row(
      "`ls` after one new record",
      repeated((run) => subject.grow(run), subject.command("ls")),
    ),
    row("`retinue tree latest`", repeated(nothing, subject.command("tree", "latest"))),
  ];
  if (/^ {2}search\b/m.test(subject.help())) rows.push(row("`retinue search parse`", repeated(nothing, subject.command("search", "parse"))));
  rows.push(
    row("`find` over the same files", repeated(nothing, { program: "find", args: [join(folder, ".claude"), "-newermt", "2100-01-01"], env: theirs.env })),
  );
  const kept = subject.keptBytes();
  const notes = [
    `${thousands(stats.sessions)} sessions, ${thousands(stats.agents)} agents below them, ${thousands(stats.files)} transcripts, ${thousands(stats.lines)} lines, ${thousands(stats.calls)} model calls.`,
    `retinue keeps ${bytes(kept)} of its own for ${bytes(stats.bytes)} of records, ${percent(kept, stats.bytes)}.`,
  ];
  notes.push(followed("is printed by `events --follow`", await subject.followDelays(1_000, FOLLOWED)));
  notes.push(followed("is with a client of the server's live stream", await subject.streamDelays(2_000, FOLLOWED)));
  const title = options.sessions === undefined ? bytes(options.bytes) : `${thousands(options.sessions)} sessions in ${bytes(options.bytes)}`;
  const table = markdownTable(["", "wall", "CPU", "peak memory", "wall, to ccusage", "CPU, to ccusage", "memory, to ccusage"], rows);
  return `## ${title}\n\n${notes.join(" ")}\n\n${table}`;
}

/** Who reads less has an easy time: both must have found every token that was written. */
function checkSums(written: number, ours: string, theirs: string) {
  const own = (JSON.parse(ours) as { usage: { subtree: { outputTokens: number } } }[]).reduce((sum, { usage }) => sum + usage.subtree.outputTokens, 0);
  const rival = /"outputTokens":\s*(\d+)(?![\s\S]*"outputTokens")/.exec(theirs)?.[1];
  if (own !== written) throw new Error(`retinue found ${own} output tokens of ${written}`);
  if (Number(rival) !== written) talk(`ccusage found ${rival} output tokens of ${written}`);
}

function pageOf(all: readonly string[]): string {
  const [cpu] = cpus();
  const node = execFileSync(process.execPath, ["--version"], { encoding: "utf8" }).trim();
  const machine = `${cpus().length} cores (${cpu?.model.trim() ?? "unknown"}), ${bytes(totalmem())} of memory, ${process.platform} ${process.arch}, Node ${node}`;
  return `# Benchmarks

Measured on ${new Date().toISOString().slice(0, 10)}: ${machine}. The middle of ${wantedRuns} runs, from 4 GB on one; files in the cache of the operating system.

\`npm run bench -- --write\` makes this page. It writes homes with the file sizes that transcripts have in life (half of them below 105 KB, one in a hundred above 5.4 MB, the largest 87 MB), with nested agents, responses spread over several records, and
in a third of the sessions the request records of 2.1.300 and later; then it runs retinue and \`ccusage ${CCUSAGE} claude session --json --offline\` on the same files, in turn. Both must find every token that was written. ccusage sums tokens and money by session; retinue also links every agent to its parent.

${all.join("\n\n")}
`;
}
