import { Failure } from "../../app/failure.ts";
import { sinceOf } from "../../app/since.ts";
import { type Group, type StatsLine, statsBy, statsTotal } from "../../core/stats.ts";
import { totalTokens } from "../../core/usage.ts";
import type { Context } from "../context.ts";
import { count, duration, money, oneLine } from "../render/format.ts";
import { type Column, table } from "../render/table.ts";
import { wholeNumber } from "../whole-number.ts";

export interface StatsOptions {
  readonly by?: Group;
  readonly since?: string;
  readonly limit: string;
}

const DEFAULT: readonly Group[] = ["day", "model", "type", "project", "template"];

/** Tokens, cost, time and outcome, by what a person wants to know. */
export async function stats(context: Context, options: StatsOptions): Promise<void> {
  const limit = wholeNumber("--limit", options.limit, "lines");
  const groups = options.by === undefined ? DEFAULT : [options.by];
  const since = options.since === undefined ? undefined : sinceOf(options.since, Date.now());
  const library = await context.library();
  const rows = library.store.spent(library.under, since === undefined ? null : new Date(since).toISOString().slice(0, 10));
  if (rows.length === 0 && !context.json) throw new Failure("not_found", "nothing was spent yet", ["next: retinue ls"]);
  const total = statsTotal(rows);
  const found = groups.map((by) => ({ by, lines: statsBy(rows, by) }));
  if (context.json) return context.terminal.out(JSON.stringify(Object.fromEntries(found.map(({ by, lines }) => [by, lines])), null, 2));
  context.terminal.out(found.map(({ by, lines }) => render(by, lines, total, limit, context.terminal)).join("\n\n"));
}

/** A sum with a price missing is at least what is known. */
const costOf = ({ usage, knownCostUsd }: StatsLine) => (usage.costUsd === null && knownCostUsd > 0 ? `≥${money(knownCostUsd)}` : money(usage.costUsd));

function render(by: Group, lines: readonly StatsLine[], total: StatsLine, limit: number, { width, colors }: Context["terminal"]): string {
  const columns: Column[] = [
    { title: `BY ${by.toUpperCase()}`, flex: true },
    { title: "AGENTS", align: "right", drop: 2 },
    { title: "ERRORED", align: "right", drop: 3 },
    { title: "CALLS", align: "right", drop: 4 },
    { title: "TOKENS", align: "right" },
    { title: "COST", align: "right" },
    { title: "TIME", align: "right", drop: 5 },
  ];
  const cells = (line: StatsLine, name: string) => [
    { text: name },
    { text: String(line.agents) },
    { text: String(line.byStatus.errored ?? 0) },
    { text: String(line.usage.calls) },
    { text: count(totalTokens(line.usage)) },
    { text: costOf(line) },
    { text: duration(line.durationMs) },
  ];
  // Days are shown to the newest; of the rest the heaviest come first.
  const shown = by === "day" ? lines.slice(-limit) : lines.slice(0, limit);
  const rest = lines.length - shown.length;
  const name = (line: StatsLine) => (line.key === null ? "(unknown)" : oneLine(line.key));
  return table(
    columns,
    [...shown.map((line) => cells(line, name(line))), cells(total, rest > 0 ? `total of ${lines.length}` : "total")],
    width,
    colors.dim,
  ).join("\n");
}
