/** The first read of a home compared with ccusage, and the time until the newest threads are shown. */
import { CCUSAGE } from "./ccusage.ts";
import type { Context, GeneratedHome } from "./context.ts";
import { bytes, held, markdownTable, percent, ratio, seconds, thousands } from "./format.ts";
import type { HomeOptions } from "./home.ts";
import { inSequence, type Measurement, measure, median } from "./measure.ts";
import { Subject } from "./subject.ts";

/** Homes of this size are measured once. */
const HUGE = 4e9;
const CPU_LIMIT = 4;
const MEMORY_LIMIT = 300e6;
const INDEX_LIMIT = 0.05;
const NEWEST = 50;
const NEWEST_LIMIT = 0.1;

/** Total for all products. */
export interface HomeSize {
  readonly bytes: number;
  readonly files: number;
}

const sizeOf = ({ stats, rollouts }: GeneratedHome): HomeSize => ({
  bytes: stats.bytes + (rollouts?.bytes ?? 0),
  files: stats.files + (rollouts?.files ?? 0),
});

export interface FirstRead {
  readonly home: HomeSize;
  readonly ccusage: Measurement;
  readonly ours: Measurement;
  readonly kept: number;
}

export async function firstRead(context: Context, options: HomeOptions): Promise<FirstRead> {
  const home = context.home(options);
  const { folder, stats, rollouts } = home;
  const subject = new Subject(folder, stats);
  const theirs = [
    await context.ccusage(folder),
    ...(rollouts === null ? [] : [await context.ccusage(folder, "codex")]),
  ];
  // Alternating, so that other load on the machine affects both.
  const [ours, rival]: [Measurement[], Measurement[]] = [[], []];
  for (let run = 0; run < runsOf(context, options); run += 1) {
    context.notify(`first look at ${bytes(options.bytes)}, round ${run + 1}`);
    subject.reset();
    const both = theirs.map(measure);
    checkRival([stats.outputTokens, rollouts?.outputTokens ?? 0], both, context.notify);
    rival.push(inSequence(both));
    ours.push(measure(subject.command("ls", "--wait")));
  }
  checkSum(
    stats.outputTokens + (rollouts?.outputTokens ?? 0),
    measure(subject.command("ls", "--json", "--limit", "1000000")).stdout,
  );
  const kept = subject.keptBytes();
  subject.remove();
  return { home: sizeOf(home), ccusage: median(rival), ours: median(ours), kept };
}

export function firstSection(found: readonly FirstRead[]): string {
  const rows = found.map(({ home, ccusage, ours, kept }) => [
    bytes(home.bytes),
    thousands(home.files),
    seconds(ccusage.cpuSeconds),
    seconds(ours.cpuSeconds),
    ratio(ours.cpuSeconds, ccusage.cpuSeconds),
    held(`at most ${CPU_LIMIT}×`, ours.cpuSeconds <= CPU_LIMIT * ccusage.cpuSeconds),
    `${seconds(ours.wallSeconds)} / ${seconds(ccusage.wallSeconds)}`,
    `${bytes(ours.peakBytes)} / ${bytes(ccusage.peakBytes)}`,
    held("at most 300 MB", ours.peakBytes <= MEMORY_LIMIT),
    `${bytes(kept)} (${percent(kept, home.bytes)})`,
    held("at most 5 %", kept <= INDEX_LIMIT * home.bytes),
  ]);
  const head = [
    "records",
    "transcripts",
    `ccusage ${CCUSAGE}, CPU`,
    "first look, CPU",
    "/ ccusage",
    "limit",
    "wall, / ccusage",
    "peak memory, / ccusage",
    "limit",
    "index",
    "limit",
  ];
  return `## First look

\`retinue ls --wait\` without an index, beside ccusage (\`claude session\`, then \`codex session\`, \`--json --offline\`) on the same files: three quarters of the bytes are Claude Code's, the others Codex's. A home of many small transcripts has only Claude Code's.

${markdownTable(head, rows)}`;
}

export interface NewestFirst {
  readonly home: HomeSize;
  /** Until the newest threads are printed, and until everything has been read. */
  readonly newest: Measurement;
  readonly whole: Measurement;
}

export function newestFirst(context: Context, options: HomeOptions): NewestFirst {
  const home = context.home(options);
  const subject = new Subject(home.folder, home.stats);
  const [newest, whole]: [Measurement[], Measurement[]] = [[], []];
  const list = (...more: string[]) => subject.command("ls", "--json", "--limit", String(NEWEST), ...more);
  for (let run = 0; run < runsOf(context, options); run += 1) {
    context.notify(`newest ${NEWEST} threads of ${bytes(options.bytes)}, round ${run + 1}`);
    subject.reset();
    newest.push(measure(list()));
    subject.reset();
    whole.push(measure(list("--wait")));
    if (uris(newest.at(-1)) !== uris(whole.at(-1)))
      throw new Error("the newest threads differ from those after everything was read");
  }
  subject.remove();
  return { home: sizeOf(home), newest: median(newest), whole: median(whole) };
}

export function newestSection(found: readonly NewestFirst[]): string {
  const rows = found.map(({ home, newest, whole }) => {
    const share = newest.wallSeconds / whole.wallSeconds;
    return [
      bytes(home.bytes),
      seconds(newest.wallSeconds),
      seconds(whole.wallSeconds),
      percent(share, 1),
      held("at most 10 %", share <= NEWEST_LIMIT),
      seconds(newest.cpuSeconds),
      percent(newest.cpuSeconds, whole.cpuSeconds),
    ];
  });
  return `## Newest threads first

From the start of \`retinue ls\` without an index until the newest ${NEWEST} threads are printed, and until everything is read (\`--wait\`). Both list the same threads.

${markdownTable(["records", `newest ${NEWEST}, wall`, "everything, wall", "share", "limit", `newest ${NEWEST}, CPU`, "share"], rows)}`;
}

const runsOf = ({ runs }: Context, options: HomeOptions) => (options.bytes >= HUGE ? 1 : runs);

const uris = (run: Measurement | undefined) =>
  (JSON.parse(run?.stdout ?? "[]") as { readonly uri: string }[]).map(({ uri }) => uri).join(" ");

/** Throws if retinue missed tokens: a program that reads less is faster. */
function checkSum(written: number, printed: string) {
  const found = (JSON.parse(printed) as { usage: { subtree: { outputTokens: number } } }[]).reduce(
    (sum, { usage }) => sum + usage.subtree.outputTokens,
    0,
  );
  if (found !== written) throw new Error(`retinue found ${found} output tokens of ${written}`);
}

/** Reports if ccusage missed tokens. */
function checkRival(written: readonly number[], runs: readonly Measurement[], notify: (text: string) => void) {
  for (const [i, { stdout }] of runs.entries()) {
    const found = Number(/"outputTokens":\s*(\d+)(?![\s\S]*"outputTokens")/.exec(stdout)?.[1]);
    if (found !== written[i]) notify(`ccusage found ${found} output tokens of ${written[i]}`);
  }
}
