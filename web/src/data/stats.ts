import type { Group, StatsLine, StatsPart } from "../../../src/core/views/stats.ts";
import { count, duration, exact, moneyKnown } from "./format.ts";
import { type AgentRecord, type Reading, totalTokens } from "./types.ts";

export type { Group, StatsLine } from "../../../src/core/views/stats.ts";

/** `GET /api/stats` */
export interface StatsResponse {
  /** Progress, if files are still being read. */
  readonly incomplete: Reading | null;
  readonly approximate: boolean;
  readonly total: StatsLine;
  readonly by: Readonly<Record<Group, readonly StatsLine[]>>;
}

/** `GET /api/stats/threads`: a thread that is counted in a line, with its record if it still exists. */
export interface StatsThread extends StatsLine {
  readonly key: string;
  readonly record: AgentRecord | null;
}

export const STATS_MEASURES = ["cost", "tokens", "time", "agents"] as const;
export type StatsMeasure = (typeof STATS_MEASURES)[number];

export function amountOf(part: StatsPart, measure: StatsMeasure): number {
  switch (measure) {
    case "cost":
      return part.knownCostUsd;
    case "tokens":
      return totalTokens(part.usage);
    case "time":
      return part.durationMs;
    case "agents":
      return part.agents;
  }
}

export function valueText(part: StatsPart, measure: StatsMeasure): string {
  if (measure === "cost") return moneyKnown(part.usage.costUsd, part.knownCostUsd);
  return { tokens: count, time: duration, agents: exact }[measure](amountOf(part, measure));
}

/** One bar. Both lengths are relative to the longest bar. */
export interface StatsBar {
  readonly line: StatsLine;
  readonly part: number;
  /** The part of the bar that failed agents used. */
  readonly failed: number;
}

/** Largest first, or in the order of the lines if `keepOrder`. */
export function statsBars(lines: readonly StatsLine[], measure: StatsMeasure, keepOrder = false): StatsBar[] {
  const most = lines.reduce((max, line) => Math.max(max, amountOf(line, measure)), 0);
  const part = (value: number) => (most === 0 ? 0 : value / most);
  const bars = lines.map((line) => ({
    line,
    part: part(amountOf(line, measure)),
    failed: part(amountOf(line.failed, measure)),
  }));
  return keepOrder ? bars : bars.sort((a, b) => b.part - a.part);
}

/** A box plot on a logarithmic scale, as fractions of the width. */
export interface DurationBox {
  readonly line: StatsLine;
  readonly least: number;
  readonly quarter: number;
  readonly median: number;
  readonly threeQuarters: number;
  readonly most: number;
}

/** Lower end of the logarithmic scale. */
const LEAST_MS = 10;

/** One box for each template, most frequent first, on a common scale with round tick values. */
export function durationBoxes(lines: readonly StatsLine[]): {
  readonly boxes: readonly DurationBox[];
  readonly ticks: readonly { readonly at: number; readonly ms: number }[];
} {
  const known = lines.filter((line) => line.durations !== null && line.durations.most > 0);
  const log = (ms: number) => Math.log(Math.max(LEAST_MS, ms));
  const low = known.reduce(
    (least, { durations }) => Math.min(least, log(durations?.least ?? 0)),
    Number.POSITIVE_INFINITY,
  );
  const high = known.reduce(
    (most, { durations }) => Math.max(most, log(durations?.most ?? 0)),
    Number.NEGATIVE_INFINITY,
  );
  const at = (ms: number) => (high === low ? 0.5 : (log(ms) - low) / (high - low));
  const boxes = known
    .toSorted((a, b) => b.agents - a.agents || b.knownCostUsd - a.knownCostUsd)
    .map((line): DurationBox => {
      const { least = 0, quarter = 0, median = 0, threeQuarters = 0, most = 0 } = line.durations ?? {};
      return {
        line,
        least: at(least),
        quarter: at(quarter),
        median: at(median),
        threeQuarters: at(threeQuarters),
        most: at(most),
      };
    });
  const ticks = ROUND_MS.filter((ms) => log(ms) >= low && log(ms) <= high).map((ms) => ({ at: at(ms), ms }));
  return { boxes, ticks };
}

const ROUND_MS = [100, 1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000];
