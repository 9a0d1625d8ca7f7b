/** Commands on a home that is already indexed. */
import { join } from "node:path";
import { CCUSAGE } from "./ccusage.ts";
import type { Context } from "./context.ts";
import { bytes, held, markdownTable, ratio, seconds, thousands } from "./format.ts";
import type { HomeOptions } from "./home.ts";
import { type Command, type Measurement, measure, median } from "./measure.ts";
import { Subject } from "./subject.ts";

/** Records written while a client follows. */
const FOLLOWED = 15;
const CPU_LIMIT = 1;

export async function warmSection(context: Context, options: HomeOptions): Promise<string> {
  const { folder, stats } = context.home(options);
  const subject = new Subject(folder, stats);
  const theirs = await context.ccusage(folder);
  context.notify(`warm commands on ${thousands(stats.files)} transcripts`);
  measure(subject.command("ls", "--wait"));
  const repeated = (command: Command, prepare: (run: number) => void = () => {}) =>
    median(
      Array.from({ length: context.runs }, (_, run) => {
        prepare(run);
        return measure(command);
      }),
    );
  const reference = repeated(theirs);
  const row = (name: string, ours: Measurement, isLimited = true) => [
    name,
    seconds(ours.wallSeconds),
    seconds(ours.cpuSeconds),
    bytes(ours.peakBytes),
    ratio(ours.cpuSeconds, reference.cpuSeconds),
    isLimited ? held(`at most ${CPU_LIMIT}×`, ours.cpuSeconds <= CPU_LIMIT * reference.cpuSeconds) : "",
  ];
  const find: Command = { program: "find", args: [join(folder, ".claude"), "-newermt", "2100-01-01"], env: theirs.env };
  const rows = [
    row(`ccusage ${CCUSAGE}`, reference, false),
    row("`retinue ls`", repeated(subject.command("ls"))),
    row(
      "`ls` after one new record",
      repeated(subject.command("ls"), (run) => subject.grow(run)),
    ),
    row("`retinue tree latest`", repeated(subject.command("tree", "latest"))),
    row("`retinue search parse`", repeated(subject.command("search", "parse"))),
    row("`find` over the same files", repeated(find), false),
  ];
  const notes = [
    `${thousands(stats.sessions)} sessions, ${thousands(stats.agents)} agents below them, ${thousands(stats.files)} transcripts, ${bytes(stats.bytes)}, with an index.`,
    followed("is printed by `events --follow`", await subject.followDelays(1_000, FOLLOWED)),
    followed("reaches a client of the live stream", await subject.streamDelays(2_000, FOLLOWED)),
  ];
  subject.remove();
  return `## Warm commands\n\n${notes.join(" ")}\n\n${markdownTable(["", "wall", "CPU", "peak memory", "CPU / ccusage", "limit"], rows)}`;
}

function followed(by: string, delays: readonly number[]): string {
  const sorted = delays.toSorted((a, b) => a - b);
  const [middle = Number.NaN, last = Number.NaN] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return `A new record ${by} after ${seconds(middle)} (median of ${delays.length}; slowest ${seconds(last)}).`;
}
