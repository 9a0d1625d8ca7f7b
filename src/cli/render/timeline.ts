import { duration, percent, plural } from "../../core/tools/format.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { type CriticalPart, type Life, sharesOf } from "../../core/views/critical-path.ts";
import type { Span, SpanKind } from "../../core/views/span.ts";
import type { Terminal } from "../terminal.ts";
import { oneLine } from "./printable.ts";
import { cells, clip } from "./table.ts";
import { type AgentRow, labelOf, rowsOf } from "./tree.ts";

type Colors = Terminal["colors"];

export interface Timeline {
  readonly livesAs: (uri: string) => Life | undefined;
  readonly path: readonly CriticalPart[];
}

/** Distinguishable without colours. */
const GLYPHS = { model: "█", tool: "▒", wait: "─", failed: "x", idle: "·", none: " " } as const;
type Glyph = keyof typeof GLYPHS;

/** Used if the terminal's width is unknown. */
const WIDTH = 100;
const NAME = { least: 16, most: 36 } as const;
/** Width of `  100 %  12 m 34 s`; omitted on narrow terminals. */
const NUMBERS = 18;
const NARROW = 56;

/** The waterfall for a terminal: one row per agent, one column per time step. */
export function renderTimeline(
  tree: AgentTree,
  timeline: Timeline,
  terminal: Pick<Terminal, "width" | "colors">,
  { all }: { readonly all: boolean },
): string {
  const { colors } = terminal;
  const width = terminal.width ?? WIDTH;
  const rows = [...rowsOf(tree, all, false)].filter((row): row is AgentRow => row.is !== "refused");
  const extent = extentOf(rows, timeline);
  const title = clip(tree.uri, width);
  if (extent === null) return [colors.bold(title), "", "none of its records has a time"].join("\n");
  const name = Math.max(
    NAME.least,
    Math.min(NAME.most, Math.floor(width * 0.34), ...[Math.max(...rows.map((row) => cells(nameIn(row))))]),
  );
  const hasNumbers = width >= NARROW;
  const chart = { ...extent, columns: Math.max(10, width - name - 2 - (hasNumbers ? NUMBERS : 0)), name, hasNumbers };
  const shares = sharesOf(timeline.path);
  const whole = timeline.path.reduce((sum, { from, to }) => sum + to - from, 0);
  const lines = rows.map((row) => rowLine(row, chart, timeline, shares, whole, colors));
  return [
    colors.bold(title),
    "",
    colors.dim(
      `${"".padEnd(chart.name + 2)}${axis(chart)}${hasNumbers ? `  ${"PATH".padStart(6)} ${"TIME".padStart(9)}` : ""}`.trimEnd(),
    ),
    ...lines,
    "",
    ...criticalPathText(tree, shares, whole, width),
    colors.dim(
      clip(
        `${GLYPHS.model} model  ${GLYPHS.tool} tool  ${GLYPHS.failed} failed tool  ${GLYPHS.wait} waits  ${GLYPHS.idle} idle`,
        width,
      ),
    ),
    ...(rows.some((row) => row.is === "folded") ? [colors.dim("some rows are folded; --all shows every agent")] : []),
  ].join("\n");
}

interface Chart {
  readonly from: number;
  readonly to: number;
  readonly columns: number;
  readonly name: number;
  readonly hasNumbers: boolean;
}

function extentOf(
  rows: readonly AgentRow[],
  { livesAs }: Timeline,
): { readonly from: number; readonly to: number } | null {
  const lives = rows.flatMap((row) =>
    (row.is === "folded" ? row.agents : [row.agent]).flatMap(({ uri }) => livesAs(uri) ?? []),
  );
  if (lives.length === 0) return null;
  const from = lives.reduce((least, life) => Math.min(least, life.from), Number.POSITIVE_INFINITY);
  return { from, to: lives.reduce((most, life) => Math.max(most, life.to), from + 1) };
}

const nameIn = (row: AgentRow) =>
  row.is === "folded" ? `${row.branch}… ${plural(row.agents.length, "more agent")}` : row.branch + labelOf(row.agent);

function rowLine(
  row: AgentRow,
  chart: Chart,
  { livesAs }: Timeline,
  shares: ReadonlyMap<string, number>,
  whole: number,
  colors: Colors,
): string {
  const label = clip(nameIn(row), chart.name);
  const agents = row.is === "folded" ? row.agents : [row.agent];
  const lives = agents.flatMap(({ uri }) => livesAs(uri) ?? []);
  const onPath = agents.reduce((sum, { uri }) => sum + (shares.get(uri) ?? 0), 0);
  const share = whole === 0 || onPath === 0 ? "" : percent(onPath / whole);
  const time = row.is === "folded" ? "" : duration(row.agent.durationMs);
  const text = `${label}${" ".repeat(chart.name - cells(label))}  `;
  return `${onPath > 0 ? colors.bold(text) : text}${paint(barOf(lives, chart), colors)}${chart.hasNumbers ? `  ${share.padStart(6)} ${time.padStart(9)}` : ""}`.trimEnd();
}

/** The glyph that covers most of each column; the spans of several agents may overlap. */
export function barOf(lives: readonly Life[], { from, to, columns }: Pick<Chart, "from" | "to" | "columns">): Glyph[] {
  const step = (to - from) / columns;
  const weights = Array.from({ length: columns }, () => new Map<Glyph, number>());
  const fill = (glyph: Glyph, begin: number, end: number) => {
    const [first, last] = [(begin - from) / step, (end - from) / step];
    for (let i = Math.max(0, Math.floor(first)); i <= Math.min(columns - 1, Math.floor(last)); i += 1) {
      const overlap = Math.min(last, i + 1) - Math.max(first, i);
      // A span that ends where the column begins is outside it. A span without length is drawn, so that nothing is
      // invisible.
      const part = overlap > 0 || first === last ? Math.max(LEAST_PART, overlap) : 0;
      weights[i]?.set(glyph, (weights[i]?.get(glyph) ?? 0) + part);
    }
  };
  for (const life of lives) {
    fill("idle", life.from, life.to);
    for (const span of life.spans) fill(glyphOf(span), span.from, span.to ?? life.to);
  }
  return weights.map(
    (found) =>
      [...found].reduce<[Glyph, number]>(
        (best, [glyph, part]) => (part * WEIGHT[glyph] > best[1] ? [glyph, part * WEIGHT[glyph]] : best),
        ["none", 0],
      )[0],
  );
}

const LEAST_PART = 0.01;

/** Waiting and idle time fill only empty columns; failures always show. */
const WEIGHT: Readonly<Record<Glyph, number>> = { failed: 1e6, model: 1e3, tool: 1e3, wait: 1, idle: 1e-6, none: 0 };

const glyphOf = ({ kind, end }: Span): Glyph =>
  end === "failed" && kind === "tool" ? "failed" : (kind satisfies SpanKind);

function paint(bar: readonly Glyph[], colors: Colors): string {
  const paints: Readonly<Record<Glyph, (text: string) => string>> = {
    model: colors.cyan,
    tool: colors.yellow,
    wait: colors.dim,
    failed: colors.red,
    idle: colors.dim,
    none: (text) => text,
  };
  let out = "";
  for (let i = 0, next = 0; i < bar.length; i = next) {
    const glyph = bar[i] ?? "none";
    for (next = i; bar[next] === glyph; ) next += 1;
    out += paints[glyph](GLYPHS[glyph].repeat(next - i));
  }
  return out;
}

/** Starts at 0; as many marks as fit. */
function axis({ from, to, columns }: Chart): string {
  const EVERY = 20;
  let line = "";
  for (let column = 0; column < columns; column += EVERY) {
    const label = duration(((to - from) * column) / columns);
    if (column + label.length > columns) break;
    line = line.padEnd(column) + (column === 0 ? "0" : `╷${label}`);
  }
  return clip(line, columns).padEnd(columns);
}

const NAMED = 5;

/** The critical path as text. */
function criticalPathText(
  tree: AgentTree,
  shares: ReadonlyMap<string, number>,
  whole: number,
  width: number,
): string[] {
  const agents = new Map<string, AgentTree>();
  const left = [tree];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    agents.set(one.uri, one);
    left.push(...one.children);
  }
  if (whole === 0 || agents.size === 1) return [];
  const longest = [...shares].toSorted(([, a], [, b]) => b - a).slice(0, NAMED);
  const named = longest.map(([uri, ms]) => {
    const agent = agents.get(uri);
    const name = agent === undefined ? uri : labelOf(agent, 30);
    return `${oneLine(name)} ${duration(ms)}`;
  });
  return [
    clip(`critical path: ${named.join(", ")}${shares.size > NAMED ? ` and ${shares.size - NAMED} more` : ""}`, width),
    "",
  ];
}
