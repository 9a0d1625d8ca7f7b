import { bytes, markdownTable, seconds, thousands } from "../bench/format.ts";
import type { Sample } from "./sample.ts";
import { isAll, type LongRead, type Soaked } from "./soak.ts";

/** Limits of a server and of the first read of a transcript. */
export const MAX_RSS = 400e6;
const IDLE_SHARE = 0.01;
/** Share of a core that a server may take while all threads grow. */
const BUSY_SHARE = 1 / 3;
/** Maximum ratio of the memory at the end to the memory in the middle. */
const FLAT = 1.1;
/** Maximum ratio of the heap when idle to the heap at the start, when little of the program was loaded. */
const RELEASED = 1.5;
const MORE_HANDLES = 8;

export interface Check {
  readonly what: string;
  readonly is: string;
  readonly must: string;
  readonly holds: boolean;
}

const mean = (samples: readonly Sample[], of: (sample: Sample) => number) =>
  samples.reduce((sum, one) => sum + of(one), 0) / samples.length;

/** The samples of the middle fifth and of the last fifth of the run. */
function ends(samples: readonly Sample[]): readonly [readonly Sample[], readonly Sample[]] {
  const fifth = Math.max(1, Math.floor(samples.length / 5));
  const middle = Math.floor((samples.length - fifth) / 2);
  return [samples.slice(middle, middle + fifth), samples.slice(-fifth)];
}

const percent = (share: number, digits = 0) => `${(100 * share).toFixed(digits)} %`;

/** Share of a core used between two samples. */
function shareOf(from: Sample | undefined, to: Sample | undefined): number {
  return from === undefined || to === undefined || from === to ? 0 : (to.cpu - from.cpu) / (to.at - from.at);
}

export function checksOf({ samples, written, found, idleShare, peak, released }: Soaked): readonly Check[] {
  // The last two samples are taken after all records were written.
  const growing = samples.slice(0, -2);
  const [middle, last] = ends(growing);
  const busyShare = shareOf(growing[0], growing.at(-1));
  const [before, after] = [mean(middle, ({ rss }) => rss), mean(last, ({ rss }) => rss)];
  const perRecord =
    (after - before) / Math.max(1, mean(last, ({ records }) => records) - mean(middle, ({ records }) => records));
  const held = (sample: Sample) => sample.files + sample.handles;
  const [heldBefore, heldAfter] = [mean(middle, held), mean(last, held)];
  return [
    { what: "most memory", is: bytes(peak), must: `at most ${bytes(MAX_RSS)}`, holds: peak <= MAX_RSS },
    {
      what: "memory, from the middle to the end",
      is: `${bytes(before)} to ${bytes(after)} (${perRecord.toFixed(0)} bytes a record)`,
      must: `at most ${FLAT} times as much`,
      holds: after <= FLAT * before,
    },
    ...(released === null
      ? []
      : [
          {
            what: "heap in use, at the beginning and when all is quiet",
            is: `${bytes(released.before)} and ${bytes(released.after)}`,
            must: `at most ${RELEASED} times as much`,
            holds: released.after <= RELEASED * released.before,
          },
        ]),
    {
      what: "files and handles, from the middle to the end",
      is: `${heldBefore.toFixed(0)} to ${heldAfter.toFixed(0)}`,
      must: "flat",
      holds: heldAfter <= heldBefore + MORE_HANDLES,
    },
    {
      what: "CPU while everything grows",
      is: percent(busyShare),
      must: "a third of a core",
      holds: busyShare <= BUSY_SHARE,
    },
    { what: "CPU while nothing happens", is: percent(idleShare, 2), must: "below 1 %", holds: idleShare < IDLE_SHARE },
    {
      what: "agents, calls and output tokens found",
      is: [found.agents, found.calls, found.outputTokens].map(thousands).join(", "),
      must: [written.agents, written.calls, written.outputTokens].map(thousands).join(", "),
      holds: isAll(found, written),
    },
  ];
}

export const checksTable = (checks: readonly Check[]) =>
  markdownTable(
    ["", "is", "must be", "holds"],
    checks.map(({ what, is, must, holds }) => [what, is, must, holds ? "yes" : "**no**"]),
  );

/** Approximate number of rows in the table of a long run. */
const ROWS = 12;

export function samplesTable(samples: readonly Sample[]): string {
  const each = Math.max(1, Math.ceil(samples.length / ROWS));
  const shown = samples.filter((_, i) => i % each === 0 || i === samples.length - 1);
  const share = (one: Sample, i: number) => (i === 0 ? "" : percent(shareOf(shown[i - 1], one)));
  return markdownTable(
    ["after", "records", "memory", "heap", "files", "watches", "handles", "CPU"],
    shown.map((one, i) => [
      `${one.at.toFixed(0)} s`,
      thousands(one.records),
      bytes(one.rss),
      bytes(one.heap),
      String(one.files),
      String(one.watches),
      String(one.handles),
      share(one, i),
    ]),
  );
}

export const isGood = ({ peak, isRight }: LongRead) => isRight && peak <= MAX_RSS;

export const readsTable = (reads: readonly LongRead[]) =>
  markdownTable(
    ["first look", "wall", "CPU", "most memory", "all calls found"],
    reads.map((read) => [
      read.what,
      seconds(read.seconds),
      seconds(read.cpuSeconds),
      bytes(read.peak),
      read.isRight ? "yes" : "**no**",
    ]),
  );
