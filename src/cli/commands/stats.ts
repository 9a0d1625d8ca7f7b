import { Failure } from "../../app/failure.ts";
import { sinceOf } from "../../app/query/since.ts";
import { totalTokens } from "../../core/facts/usage.ts";
import { count, duration, moneyKnown, percent, plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Group, StatsLine, StatsPart } from "../../core/views/stats.ts";
import { statsBy, statsTotal } from "../../core/views/stats-sums.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";
import { type Cell, type Column, clip, table } from "../render/table.ts";
import { wholeNumber } from "../whole-number.ts";

export interface StatsOptions {
  readonly by?: Group;
  readonly since?: string;
  readonly limit: string;
}

const DEFAULT: readonly Group[] = ["day", "model", "type", "project", "template"];

/** Tokens, cost, time and outcome, grouped by one or more dimensions. */
export async function stats(context: Context, options: StatsOptions): Promise<void> {
  const limit = wholeNumber("--limit", options.limit, "lines");
  const groups = options.by === undefined ? DEFAULT : [options.by];
  const since = options.since === undefined ? undefined : sinceOf(options.since, Date.now());
  const library = await context.library();
  const rows = library.store.spent(
    library.under,
    since === undefined ? null : new Date(since).toISOString().slice(0, 10),
  );
  if (rows.length === 0 && !context.json) throw new Failure("not_found", "no usage recorded yet", ["next: retinue ls"]);
  const total = statsTotal(rows);
  const found = groups.map((by) => ({ by, lines: statsBy(rows, by) }));
  if (context.json)
    return context.terminal.out(printJson(Object.fromEntries(found.map(({ by, lines }) => [by, lines])), 2));
  const tables = found.map(({ by, lines }) => render(by, lines, total, limit, context.terminal));
  context.terminal.out([...tables, sharesLine(total, context.terminal)].join("\n\n"));
}

const costOf = ({ usage, knownCostUsd }: StatsPart) => moneyKnown(usage.costUsd, knownCostUsd);

const BAR_CELLS = 12;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/** A bar proportional to the largest value; at least one cell for a value above zero. */
export function bar(value: number, most: number, cells = BAR_CELLS): string {
  if (value <= 0 || most <= 0) return "";
  const eighths = Math.max(1, Math.round((value / most) * cells * 8));
  return "█".repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
}

/** Sorts by cost, or by tokens if nothing has a price. */
const weightIn = (lines: readonly StatsLine[]) =>
  lines.some((line) => line.knownCostUsd > 0)
    ? (line: StatsLine) => line.knownCostUsd
    : (line: StatsLine) => totalTokens(line.usage);

function render(
  by: Group,
  lines: readonly StatsLine[],
  total: StatsLine,
  limit: number,
  { width, colors }: Context["terminal"],
): string {
  // Days end with the newest; other groups begin with the largest.
  const shown = by === "day" ? lines.slice(-limit) : lines.slice(0, limit);
  const weight = weightIn(lines);
  const most = Math.max(0, ...shown.map(weight));
  const name = (line: StatsLine) => (line.key === null ? "(unknown)" : oneLine(line.key));
  const rows = [
    ...shown.map((line) => cellsOf(by, line, name(line), bar(weight(line), most), colors.cyan)),
    cellsOf(by, total, lines.length > shown.length ? `total of ${lines.length}` : "total", "", colors.cyan),
  ];
  return table(columnsOf(by), rows, width, colors.dim).join("\n");
}

/** For templates the duration per agent is more useful than the sum. */
const columnsOf = (by: Group): Column[] => [
  { title: `BY ${by.toUpperCase()}`, flex: true },
  { title: "AGENTS", align: "right", drop: 2 },
  { title: "ERRORED", align: "right", drop: 3 },
  { title: "CALLS", align: "right", drop: 4 },
  { title: "TOKENS", align: "right" },
  { title: "COST", align: "right" },
  { title: "", drop: 1 },
  ...(by === "template"
    ? ([
        { title: "MEDIAN", align: "right", drop: 5 },
        { title: "LONGEST", align: "right", drop: 6 },
      ] as const)
    : ([{ title: "TIME", align: "right", drop: 5 }] as const)),
];

function cellsOf(by: Group, line: StatsLine, name: string, drawn: string, paint: (text: string) => string): Cell[] {
  return [
    { text: name },
    { text: String(line.agents) },
    { text: String(line.byStatus.errored ?? 0) },
    { text: String(line.usage.calls) },
    { text: count(totalTokens(line.usage)) },
    { text: costOf(line) },
    { text: drawn, paint },
    ...(by === "template"
      ? [{ text: duration(line.durations?.median ?? null) }, { text: duration(line.durations?.most ?? null) }]
      : [{ text: duration(line.durationMs) }]),
  ];
}

/** The shares of delegated and of failed work. */
function sharesLine(total: StatsLine, { width }: Context["terminal"]): string {
  const weight = weightIn([total]);
  const part = (some: StatsPart) => {
    const whole = weight(total);
    const share = percent(whole === 0 ? 0 : weight({ ...total, ...some }) / whole);
    return `${costOf(some)}, ${count(totalTokens(some.usage))} tokens (${share})`;
  };
  const lines = [
    `delegated to ${plural(total.delegated.agents, "agent")}: ${part(total.delegated)}`,
    `spent on ${plural(total.failed.agents, "agent")} whose result was an error: ${part(total.failed)}`,
  ];
  return lines.map((line) => (width === null ? line : clip(line, width))).join("\n");
}
