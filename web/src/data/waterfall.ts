import {
  type CriticalPart,
  criticalPath,
  type Life,
  lifeOf,
  untilLastEnd,
} from "../../../src/core/views/critical-path.ts";
import type { AgentSet } from "./agent-set.ts";
import { displayName } from "./format.ts";
import { firstReaching, type Span, type SpanList, type SpanSet } from "./span-set.ts";
import { oneLine } from "./text.ts";
import { treeRows } from "./tree-rows.ts";
import type { AgentRecord } from "./types.ts";

export type { CriticalPart } from "../../../src/core/views/critical-path.ts";
export { sharesOf } from "../../../src/core/views/critical-path.ts";

/** One agent, one row of the picture. */
export interface WaterfallRow {
  readonly uri: string;
  readonly depth: number;
  readonly name: string;
  readonly record: AgentRecord;
  /** Undefined if the agent never started. */
  readonly life: Life | undefined;
  readonly list: SpanList;
}

export interface Waterfall {
  readonly rows: readonly WaterfallRow[];
  readonly indexOf: ReadonlyMap<string, number>;
  readonly path: readonly CriticalPart[];
  /** Epoch milliseconds of the first and last activity. */
  readonly from: number;
  readonly to: number;
  readonly isLive: boolean;
}

/** The waterfall of a thread, with rows in tree order. */
export function waterfall(set: AgentSet, root: string, spans: SpanSet, now: number): Waterfall {
  const rows = treeRows(set, root, () => false, null, now).map(({ uri, depth }): WaterfallRow => {
    const record = set.get(uri) as AgentRecord;
    const list = spans.of(uri);
    return { uri, depth, name: shortName(record), record, list, life: lifeOf(record, list.spans, now) };
  });
  const indexOf = new Map(rows.map((row, index) => [row.uri, index]));
  const lives = rows.flatMap(({ life }) => life ?? []);
  const from = lives.reduce((least, life) => Math.min(least, life.from), Number.POSITIVE_INFINITY);
  const to = lives.reduce((most, life) => Math.max(most, life.to), Number.NEGATIVE_INFINITY);
  const path = criticalPath(root, untilLastEnd(root, new Map(rows.map(({ uri, life }) => [uri, life]))));
  const isLive = rows.some(({ record }) => record.status === "running");
  return lives.length === 0
    ? { rows, indexOf, path, from: now, to: now + 1, isLive }
    : { rows, indexOf, path, from, to: Math.max(to, from + 1), isLive };
}

const NAMES = new WeakMap<AgentRecord, string>();
/** Longer names do not fit, and measuring a whole prompt is slow. */
const MAX_NAME = 80;

/** Display name of an agent, cached per record, because pictures are redrawn many times a second. */
export function shortName(record: AgentRecord): string {
  const known = NAMES.get(record) ?? oneLine(displayName(record), MAX_NAME);
  NAMES.set(record, known);
  return known;
}

// --- view

export interface View {
  readonly from: number;
  readonly to: number;
}

/** Length of the shortest view, at maximum zoom. */
const CLOSEST_MS = 5;

/** Zooms by a factor around a time, which keeps its position on the screen. */
export function zoomed(view: View, whole: View, factor: number, around: number): View {
  const size = Math.min(whole.to - whole.from, Math.max(CLOSEST_MS, (view.to - view.from) / factor));
  const part = (around - view.from) / (view.to - view.from);
  return within(around - part * size, size, whole);
}

export const panned = (view: View, whole: View, ms: number): View => within(view.from + ms, view.to - view.from, whole);

/** Clamps a view to the whole. */
function within(from: number, size: number, whole: View): View {
  if (size >= whole.to - whole.from) return { from: whole.from, to: whole.to };
  const start = Math.max(whole.from, Math.min(from, whole.to - size));
  return { from: start, to: start + size };
}

export const isWhole = (view: View, whole: View) => view.from <= whole.from && view.to >= whole.to;

/** The lifetime of an agent with a margin. */
export function around(life: View, whole: View): View {
  const margin = Math.max(CLOSEST_MS, (life.to - life.from) * 0.08);
  return within(life.from - margin, life.to - life.from + 2 * margin, whole);
}

// --- bars

/** A bar of a row, in pixels. Spans narrower than a pixel are merged. */
export interface Bar {
  readonly kind: Span["kind"];
  readonly failed: boolean;
  readonly x: number;
  readonly width: number;
  /** Number of spans in the bar. */
  readonly spans: number;
}

const LANES = ["wait", "model", "tool"] as const;
const LEAST_PX = 1;

/**
 * The bars of one row, in pixels: only visible ones, at most one of each kind per pixel. The cost depends on the
 * visible spans and the width.
 */
export function barsOf(list: SpanList, view: View, width: number, now: number): Bar[] {
  const scale = width / (view.to - view.from);
  const open: Partial<Record<Span["kind"], Bar>> = {};
  const bars: Record<Span["kind"], Bar[]> = { wait: [], model: [], tool: [] };
  for (let i = firstReaching(list, view.from); i < list.spans.length; i += 1) {
    const { kind, from, to, end } = list.spans[i] as Span;
    if (from > view.to) break;
    if ((to ?? now) < view.from) continue;
    const x = Math.max(-1, (from - view.from) * scale);
    const right = Math.min(width + 1, ((to ?? Math.max(now, from)) - view.from) * scale);
    const bar = {
      kind,
      failed: end === "failed" && kind === "tool",
      x,
      width: Math.max(LEAST_PX, right - x),
      spans: 1,
    };
    const before = open[kind];
    open[kind] = before !== undefined && canMerge(before, bar) ? mergedBar(before, bar) : bar;
    if (before !== undefined && open[kind] === bar) bars[kind].push(before);
  }
  return LANES.flatMap((kind) => (open[kind] === undefined ? bars[kind] : [...bars[kind], open[kind]]));
}

/** Whether two bars overlap or cannot be distinguished. A failure is not merged with a long bar next to it. */
function canMerge(a: Bar, b: Bar): boolean {
  const gap = b.x - (a.x + a.width);
  const [aIsTiny, bIsTiny] = [a.width <= 2 * LEAST_PX, b.width <= 2 * LEAST_PX];
  return gap < LEAST_PX && (a.failed === b.failed ? gap < -LEAST_PX || aIsTiny || bIsTiny : aIsTiny && bIsTiny);
}

function mergedBar(a: Bar, b: Bar): Bar {
  const right = Math.max(a.x + a.width, b.x + b.width);
  return { kind: a.kind, failed: a.failed || b.failed, x: a.x, width: right - a.x, spans: a.spans + b.spans };
}

/** Index of the span at a time: the one that started last, work before waiting; -1 if there is none. */
export function spanAt(list: SpanList, at: number, slackMs: number, now: number): number {
  let found = -1;
  for (let i = firstReaching(list, at - slackMs); i < list.spans.length; i += 1) {
    const { from, to, kind } = list.spans[i] as Span;
    if (from > at + slackMs) break;
    if ((to ?? now) + slackMs < at) continue;
    if (found < 0 || kind !== "wait" || list.spans[found]?.kind === "wait") found = i;
  }
  return found;
}

// --- concurrency

/** For each pixel column the maximum number of running agents. */
export function concurrency(rows: readonly WaterfallRow[], whole: View, columns: number): Uint16Array {
  const changes = rows
    .flatMap(({ life }) => (life === undefined ? [] : [[life.from, 1] as const, [life.to, -1] as const]))
    .sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const most = new Uint16Array(columns);
  const column = (at: number) =>
    Math.max(0, Math.min(columns - 1, Math.floor(((at - whole.from) / (whole.to - whole.from)) * columns)));
  let [count, since] = [0, 0];
  for (const [at, change] of changes) {
    const until = column(at);
    for (let i = since; i <= until; i += 1) most[i] = Math.max(most[i] ?? 0, count);
    count += change;
    most[until] = Math.max(most[until] ?? 0, count);
    since = until;
  }
  return most;
}

// --- axis

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5,
  432e5, 864e5,
];

/** Ticks at round times since `origin`, at least `apart` pixels from each other. */
export function ticks(
  view: View,
  origin: number,
  width: number,
  apart: number,
): readonly { readonly at: number; readonly since: number }[] {
  const least = ((view.to - view.from) / width) * apart;
  const step = STEPS_MS.find((ms) => ms >= least) ?? Math.ceil(least / 864e5) * 864e5;
  const first = Math.ceil((view.from - origin) / step) * step;
  const found: { at: number; since: number }[] = [];
  for (let since = first; origin + since <= view.to; since += step) found.push({ at: origin + since, since });
  return found;
}
