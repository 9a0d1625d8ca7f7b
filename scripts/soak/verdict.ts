import { bytes, markdownTable, seconds, thousands } from "../bench/format.ts";
import type { Sample } from "./sample.ts";
import { isAll, type LongLook, type Soaked } from "./soak.ts";

/** What a server, and a first look, may take at most. */
export const MAX_RSS = 400e6;
const IDLE_SHARE = 0.01;
/** Growth from the middle of the run to its end that is no trend. */
const FLAT = 1.1;
const MORE_HANDLES = 8;

export interface Check {
  readonly what: string;
  readonly is: string;
  readonly must: string;
  readonly holds: boolean;
}

const mean = (samples: readonly Sample[], of: (sample: Sample) => number) => samples.reduce((sum, one) => sum + of(one), 0) / samples.length;

/** The middle fifth of the run and its last. */
function ends(samples: readonly Sample[]): readonly [readonly Sample[], readonly Sample[]] {
  const fifth = Math.max(1, Math.floor(samples.length / 5));
  const middle = Math.floor((samples.length - fifth) / 2);
  return [samples.slice(middle, middle + fifth), samples.slice(-fifth)];
}

export function checksOf({ samples, written, found, idleShare, peak }: Soaked): readonly Check[] {
  // The last two are taken when all is written.
  const [middle, last] = ends(samples.slice(0, -2));
  const [before, after] = [mean(middle, ({ rss }) => rss), mean(last, ({ rss }) => rss)];
  const held = (sample: Sample) => sample.files + sample.handles;
  const [heldBefore, heldAfter] = [mean(middle, held), mean(last, held)];
  return [
    { what: "most memory", is: bytes(peak), must: `at most ${bytes(MAX_RSS)}`, holds: peak <= MAX_RSS },
    { what: "memory, from the middle to the end", is: `${bytes(before)} to ${bytes(after)}`, must: "flat", holds: after <= FLAT * before },
    {
      what: "files and handles, from the middle to the end",
      is: `${heldBefore.toFixed(0)} to ${heldAfter.toFixed(0)}`,
      must: "flat",
      holds: heldAfter <= heldBefore + MORE_HANDLES,
    },
    { what: "CPU while nothing happens", is: `${(100 * idleShare).toFixed(2)} %`, must: "below 1 %", holds: idleShare < IDLE_SHARE },
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

/** About so many rows of a long run. */
const ROWS = 12;

export function samplesTable(samples: readonly Sample[]): string {
  const each = Math.max(1, Math.ceil(samples.length / ROWS));
  const shown = samples.filter((_, i) => i % each === 0 || i === samples.length - 1);
  const share = (one: Sample, i: number) => {
    const before = shown[i - 1];
    return before === undefined ? "" : `${((100 * (one.cpu - before.cpu)) / (one.at - before.at)).toFixed(0)} %`;
  };
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

export const isGood = ({ peak, isRight }: LongLook) => isRight && peak <= MAX_RSS;

export const looksTable = (looks: readonly LongLook[]) =>
  markdownTable(
    ["first look", "wall", "CPU", "most memory", "all calls found"],
    looks.map((look) => [look.what, seconds(look.seconds), seconds(look.cpuSeconds), bytes(look.peak), look.isRight ? "yes" : "**no**"]),
  );
