import { duration, exact, STATUS_MARKS } from "../data/format.ts";
import { type Bar, barsOf, ticks, type View, type Waterfall, type WaterfallRow } from "../data/waterfall.ts";
import { CANVAS_FONT, type Palette } from "./canvas.ts";

export const ROW_PX = 24;
export const AXIS_PX = 26;
const TICKS_APART_PX = 90;
const INDENT_PX = 12;
const MAX_INDENT = 8;

export const COLORS = [
  "surface",
  "line",
  "line-strong",
  "ink",
  "muted",
  "accent",
  "accent-soft",
  "span-model",
  "span-tool",
  "span-wait",
  "errored",
  "critical",
] as const;
type Color = (typeof COLORS)[number];

export interface Scene {
  readonly picture: Waterfall;
  readonly view: View;
  readonly width: number;
  readonly height: number;
  /** Width of the column of names. */
  readonly names: number;
  readonly scrollTop: number;
  /** The selected row and span. */
  readonly selected: { readonly row: number; readonly span: number };
  readonly showPath: boolean;
  readonly now: number;
  readonly palette: Palette<Color>;
}

/** What was drawn, for tests. */
export interface Drawn {
  readonly rows: readonly { readonly uri: string; readonly y: number; readonly bars: readonly Bar[] }[];
  readonly connectors: number;
}

type Chart = Pick<Scene, "view" | "width" | "names">;
/** Margin at the right, so that the end of the last bar is visible. */
const RIGHT_MARGIN_PX = 12;
/** Width of the time axis. */
export const roomOf = ({ width, names }: Omit<Chart, "view">) => Math.max(1, width - names - RIGHT_MARGIN_PX);
const xOf = (chart: Chart, at: number) =>
  chart.names + ((at - chart.view.from) / (chart.view.to - chart.view.from)) * roomOf(chart);
export const timeAt = (chart: Chart, x: number) =>
  chart.view.from + ((x - chart.names) / roomOf(chart)) * (chart.view.to - chart.view.from);
export const rowAt = (scrollTop: number, y: number) => Math.floor((y - AXIS_PX + scrollTop) / ROW_PX);
const yOf = (scrollTop: number, row: number) => AXIS_PX + row * ROW_PX - scrollTop;

/** Paints the visible rows and returns what was drawn. The cost depends on the visible rows and spans. */
export function paintWaterfall(context: CanvasRenderingContext2D, scene: Scene): Drawn {
  const { picture, width, height, names, scrollTop, palette, selected } = scene;
  const first = Math.max(0, Math.floor(scrollTop / ROW_PX));
  const last = Math.min(picture.rows.length - 1, Math.floor((scrollTop + height - AXIS_PX) / ROW_PX));
  const shown = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  const rowsArea = { y: AXIS_PX, height: height - AXIS_PX };
  context.font = CANVAS_FONT;
  context.textBaseline = "middle";
  inside(context, { x: 0, width, ...rowsArea }, () => {
    context.fillStyle = palette["accent-soft"];
    if (selected.row >= 0) context.fillRect(0, yOf(scrollTop, selected.row), width, ROW_PX);
  });
  paintTicks(context, scene);
  const rows = inside(context, { x: names, width: width - names, ...rowsArea }, () =>
    shown.map((index) => paintRow(context, scene, index)),
  );
  const connectors = scene.showPath
    ? inside(context, { x: names, width: width - names, ...rowsArea }, () => paintPath(context, scene, first, last))
    : 0;
  inside(context, { x: 0, width: names - 10, ...rowsArea }, () => {
    for (const index of shown) paintName(context, scene, index);
  });
  return { rows, connectors };
}

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Paints with a clipping area. */
function inside<T>(context: CanvasRenderingContext2D, { x, y, width, height }: Area, paint: () => T): T {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  const result = paint();
  context.restore();
  return result;
}

function paintTicks(context: CanvasRenderingContext2D, scene: Scene): void {
  const { view, picture, width, height, palette } = scene;
  context.lineWidth = 1;
  for (const { at, since } of ticks(view, picture.from, roomOf(scene), TICKS_APART_PX)) {
    const x = Math.round(xOf(scene, at)) + 0.5;
    context.strokeStyle = palette.line;
    context.beginPath();
    context.moveTo(x, AXIS_PX - 6);
    context.lineTo(x, height);
    context.stroke();
    context.fillStyle = palette.muted;
    if (x < width - 30) context.fillText(since === 0 ? "0" : duration(since), x + 4, AXIS_PX / 2);
  }
  context.strokeStyle = palette.line;
  context.beginPath();
  context.moveTo(0, AXIS_PX - 0.5);
  context.lineTo(width, AXIS_PX - 0.5);
  context.stroke();
}

function paintName(
  context: CanvasRenderingContext2D,
  { picture, scrollTop, palette, selected }: Scene,
  index: number,
): void {
  const { name, depth, record } = picture.rows[index] as WaterfallRow;
  const y = yOf(scrollTop, index) + ROW_PX / 2;
  const x = 10 + Math.min(depth, MAX_INDENT) * INDENT_PX;
  context.fillStyle = record.status === "errored" ? palette.errored : palette.muted;
  context.fillText(STATUS_MARKS[record.status], x, y);
  context.fillStyle = index === selected.row ? palette.accent : palette.ink;
  context.fillText(name, x + 16, y);
}

/**
 * Paints the lifetime, the bars and the selected span of an agent. Kinds differ by height and pattern as well as by
 * colour: model calls are tall, tool calls half as tall, waiting is a thin dashed line, failures are crossed out.
 */
function paintRow(context: CanvasRenderingContext2D, scene: Scene, index: number): Drawn["rows"][number] {
  const { picture, view, width, names, scrollTop, now, palette, selected } = scene;
  const { uri, life, list } = picture.rows[index] as WaterfallRow;
  const top = yOf(scrollTop, index);
  const middle = top + ROW_PX / 2;
  if (life !== undefined) {
    const [from, to] = [Math.max(names - 1, xOf(scene, life.from)), Math.min(width + 1, xOf(scene, life.to))];
    context.fillStyle = palette["line-strong"];
    if (to > names) context.fillRect(from, Math.round(middle) - 0.5, Math.max(1, to - from), 1);
  }
  const bars = barsOf(list, view, roomOf(scene), now).map((bar) => ({ ...bar, x: bar.x + names }));
  for (const bar of bars) paintBar(context, bar, middle, palette);
  const span = index === selected.row ? list.spans[selected.span] : undefined;
  if (span !== undefined) {
    const [from, to] = [xOf(scene, span.from), xOf(scene, span.to ?? now)];
    context.strokeStyle = palette.accent;
    context.lineWidth = 2;
    context.strokeRect(from - 2, top + 2, Math.max(3, to - from) + 4, ROW_PX - 4);
  }
  return { uri, y: middle, bars };
}

const HEIGHT = { model: 14, tool: 8, wait: 3 } as const;

function paintBar(
  context: CanvasRenderingContext2D,
  { kind, failed, x, width }: Bar,
  middle: number,
  palette: Palette<Color>,
): void {
  const high = HEIGHT[kind];
  context.fillStyle = failed ? palette.errored : palette[`span-${kind}`];
  if (kind === "wait") {
    // Dashes of four pixels with gaps of three.
    for (let at = x; at < x + width; at += 7)
      context.fillRect(at, middle - high / 2, Math.min(4, x + width - at), high);
    return;
  }
  context.fillRect(x, middle - high / 2, width, high);
  if (!failed) return;
  // With an outline in the background colour, so that the cross is visible on any bar.
  context.beginPath();
  cross(context, x + width / 2, middle);
  context.strokeStyle = palette.surface;
  context.lineWidth = 4;
  context.stroke();
  context.strokeStyle = palette.errored;
  context.lineWidth = 2;
  context.stroke();
}

const ARM_PX = 5;

function cross(context: CanvasRenderingContext2D, x: number, y: number): void {
  context.moveTo(x - ARM_PX, y - ARM_PX);
  context.lineTo(x + ARM_PX, y + ARM_PX);
  context.moveTo(x + ARM_PX, y - ARM_PX);
  context.lineTo(x - ARM_PX, y + ARM_PX);
}

/** Paints the critical path along the bottom of rows, with connectors between agents. Returns the number of connectors. */
function paintPath(context: CanvasRenderingContext2D, scene: Scene, first: number, last: number): number {
  const { picture, view, scrollTop, palette } = scene;
  const bottom = (row: number) => yOf(scrollTop, row) + ROW_PX - 3;
  context.fillStyle = palette.critical;
  let connectors = 0;
  for (const [i, part] of picture.path.entries()) {
    const row = picture.indexOf.get(part.uri) ?? -1;
    const next = picture.path[i + 1];
    if (part.to < view.from || part.from > view.to) continue;
    const [from, to] = [xOf(scene, part.from), xOf(scene, part.to)];
    if (row >= first && row <= last) context.fillRect(from, bottom(row), Math.max(1, to - from), 2);
    if (next === undefined || next.uri === part.uri) continue;
    const other = picture.indexOf.get(next.uri) ?? -1;
    const [high, low] = [Math.min(row, other), Math.max(row, other)];
    if (low < first || high > last) continue;
    context.fillRect(to - 1, bottom(high), 2, bottom(low) - bottom(high) + 2);
    connectors += 1;
  }
  return connectors;
}

const MINIMAP_MARGIN = 4;

/** Paints the overview: concurrency, critical path and the visible part. `most` is the result of `concurrency`. */
export function paintMinimap(
  context: CanvasRenderingContext2D,
  scene: Omit<Scene, "selected" | "scrollTop" | "now">,
  most: Uint16Array,
): void {
  const { picture, view, width, height, names, palette, showPath } = scene;
  const whole = { view: picture, width, names };
  const highest = most.reduce((a, b) => Math.max(a, b), 1);
  const room = height - MINIMAP_MARGIN - 4;
  context.fillStyle = palette["span-model"];
  context.globalAlpha = 0.55;
  for (const [column, count] of most.entries()) {
    const tall = (count / highest) * room;
    context.fillRect(names + column, height - MINIMAP_MARGIN - tall, 1, tall);
  }
  context.globalAlpha = 1;
  context.fillStyle = palette.critical;
  if (showPath)
    for (const { from, to, uri } of picture.path)
      if (uri !== picture.rows[0]?.uri)
        context.fillRect(xOf(whole, from), height - 3, Math.max(1, xOf(whole, to) - xOf(whole, from)), 2);
  context.font = CANVAS_FONT;
  context.textBaseline = "middle";
  context.fillStyle = palette.muted;
  context.fillText(`up to ${exact(highest)} at once`, 10, height / 2, names - 16);
  const [from, to] = [xOf(whole, view.from), xOf(whole, view.to)];
  context.fillStyle = palette.surface;
  context.globalAlpha = 0.7;
  context.fillRect(names, 0, from - names, height);
  context.fillRect(to, 0, width - to, height);
  context.globalAlpha = 1;
  context.strokeStyle = palette.accent;
  context.lineWidth = 1;
  context.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), height - 1);
}
