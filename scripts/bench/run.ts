/**
 * `npm run bench`: compares the run time of retinue with that of ccusage on the same files, in generated homes with
 * realistic file sizes.
 *
 *   npm run bench -- --only first,append --size 100MB,1GB --runs 3 --write
 *
 * All files are created in the temporary folder and removed at the end, also if it is interrupted.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { appendCost, appendSection } from "./append.ts";
import { busy, busySection } from "./busy.ts";
import { CCUSAGE } from "./ccusage.ts";
import { Context } from "./context.ts";
import { firstRead, firstSection, newestFirst, newestSection } from "./first.ts";
import { bytes } from "./format.ts";
import type { HomeOptions } from "./home.ts";
import { type BenchOptions, HELP, readOptions, type TableName } from "./options.ts";
import { sectionOf, withSections } from "./page.ts";
import { quickSection } from "./quick.ts";
import { readerSpeeds, readersSection } from "./readers.ts";
import { warmSection } from "./warm.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/benchmarks.md");
/** Average size of a session if only the number of sessions is given. */
const BYTES_A_SESSION = 100_000;

interface Table {
  /** The heading of its section. */
  readonly title: string;
  /** The generated homes that it measures. */
  readonly homes: (options: BenchOptions) => readonly HomeOptions[];
  readonly run: (context: Context, options: BenchOptions) => Promise<string>;
}

const bySize = (options: BenchOptions): HomeOptions[] => [
  ...options.sizes.map((size) => ({ bytes: size, seed: options.seed })),
  ...(options.many ? bySessions(options) : []),
];
const bySessions = ({ sessions, seed }: BenchOptions): HomeOptions[] => [
  { bytes: sessions * BYTES_A_SESSION, sessions, seed },
];
const none = () => [];

const TABLES: Readonly<Record<TableName, Table>> = {
  hooks: { title: "Hook and status line", homes: none, run: ({ scratch }) => quickSection(scratch) },
  first: {
    title: "First look",
    homes: bySize,
    run: async (context, options) => firstSection(await eachOf(bySize(options), (home) => firstRead(context, home))),
  },
  newest: {
    title: "Newest threads first",
    homes: bySize,
    run: async (context, options) =>
      newestSection(await eachOf(bySize(options), async (home) => newestFirst(context, home))),
  },
  readers: { title: "Readers", homes: none, run: async (context) => readersSection(await readerSpeeds(context)) },
  warm: {
    title: "Warm commands",
    homes: bySessions,
    run: async (context, options) => warmSection(context, bySessions(options)[0] as HomeOptions),
  },
  append: {
    title: "Appended records",
    homes: none,
    run: async (context, { lengths, appends }) =>
      appendSection(await eachOf(lengths, (length) => appendCost(context, length, appends)), appends),
  },
  busy: {
    title: "Busy threads",
    homes: none,
    run: async (context, options) => busySection(options, await busy(context, options)),
  },
  dashboard: { title: "Dashboard", homes: none, run: async (_, { agents }) => printedBy("dashboard", agents) },
  tracing: { title: "Tracing", homes: none, run: async (_, { operations }) => printedBy("tracing", operations) },
  team: { title: "Team server", homes: none, run: async (_, { events }) => printedBy("team", events.join()) },
  proxy: { title: "The API proxy", homes: none, run: async (_, { requests }) => printedBy("proxy", requests) },
};

const options = readOptions(process.argv.slice(2));
if (options === null) {
  console.log(HELP);
  process.exit(0);
}
const scratch = mkdtempSync(join(tmpdir(), "retinue-bench-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

const tables = options.only.map((name) => TABLES[name]);
const largest = Math.max(0, ...tables.flatMap(({ homes }) => homes(options)).map((home) => home.bytes));
const { bavail, bsize } = statfsSync(scratch);
if (bavail * bsize < 3 * largest)
  throw new Error(`${bytes(3 * largest)} must be free in ${tmpdir()}, ${bytes(bavail * bsize)} are`);

const notify = (text: string) => process.stderr.write(`${text}\n`);
if (!options.built) {
  notify("building retinue");
  execFileSync(process.execPath, [join(ROOT, "scripts/build.ts")], { stdio: "inherit" });
}
const context = new Context(scratch, options.runs, notify);
for (const [i, table] of tables.entries()) {
  notify(table.title);
  const { title, text } = sectionOf(await table.run(context, options));
  const section = { title, text: `${text}\n\n${measuredOn(options.runs)}` };
  if (title !== table.title) throw new Error(`the table ${table.title} is headed ${title}`);
  console.log(`## ${title}\n\n${section.text}\n`);
  context.keepOnly(tables.slice(i + 1).flatMap(({ homes }) => homes(options)));
  // Written now, because a later table may fail.
  const page = existsSync(PAGE) ? readFileSync(PAGE, "utf8") : "";
  if (options.write)
    writeFileSync(
      PAGE,
      withSections(
        page,
        intro(),
        [section],
        Object.values(TABLES).map((one) => one.title),
      ),
    );
}

async function eachOf<T, Found>(all: readonly T[], work: (one: T) => Promise<Found>): Promise<Found[]> {
  const found: Found[] = [];
  for (const one of all) found.push(await work(one));
  return found;
}

/** The output of a benchmark that runs as its own process. */
function printedBy(bench: string, size: number | string): string {
  return execFileSync(process.execPath, [join(ROOT, "scripts/bench", bench, "run.ts"), String(size)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

function measuredOn(runs: number): string {
  const [cpu] = cpus();
  const machine = `${cpus().length} cores (${cpu?.model.trim() ?? "unknown"}), ${bytes(totalmem())} of memory, ${process.platform} ${process.arch}, Node ${process.version}`;
  return `Measured on ${new Date().toISOString().slice(0, 10)}: ${machine}; commands are the median of ${runs} runs.`;
}

function intro(): string {
  return `# Benchmarks

\`npm run bench -- --write\` generates this page, and with \`--only\` single sections of it; \`--help\` lists the options. A limit in bold does not hold.

It generates homes with realistic file sizes (half of the transcripts below 105 KB, one in a hundred above 5.4 MB, the largest 87 MB), nested agents, responses spread over several records and, in a third of the sessions, the request records of Claude Code 2.1.300 and later. A quarter of the bytes of a home without a given number of sessions are rollouts of Codex. Then it runs retinue and ccusage ${CCUSAGE} alternately on the same files, which are in the page cache. Both must find every token. ccusage sums tokens and cost per session; retinue also links every agent to its parent. Homes from 4 GB on are measured once.`;
}
