import { type ComparedThreads, compareThreads } from "../../app/query/compare.ts";
import { checkTarget } from "../../app/query/resolve.ts";
import { count, duration, money, percent, plural, UNKNOWN } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import { STATUS_MARKS } from "../../core/views/agent.ts";
import type { ComparedAgent, ComparedMeasure, Measure, Spread } from "../../core/views/compare.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";
import { table } from "../render/table.ts";

/** `retinue compare`: two trees side by side, or two groups of threads. */
export async function compare(context: Context, left: string, right: string): Promise<void> {
  for (const name of [...left.split(","), ...right.split(",")]) if (name.trim() !== "") checkTarget(name.trim());
  const found = compareThreads(await context.library(), left, right);
  if (context.json) return context.terminal.out(printJson(found, 2));
  const { colors, width } = context.terminal;
  context.terminal.out(
    [
      ...heading("left", found.left, colors),
      ...heading("right", found.right, colors),
      "",
      ...measureLines(found, colors, width),
      ...(found.trees === null ? [] : ["", ...agentLines(found, colors, width)]),
    ].join("\n"),
  );
}

type Colors = Context["terminal"]["colors"];

const heading = (side: string, uris: readonly string[], colors: Colors) => [
  `${colors.bold(side)} ${uris.length === 1 ? uris[0] : plural(uris.length, "thread")}`,
];

export const MEASURE_LABELS: Readonly<Record<Measure, string>> = {
  durationMs: "time",
  calls: "model calls",
  tokens: "tokens",
  costUsd: "cost",
  toolCalls: "tool calls",
  toolErrors: "tool errors",
  agents: "agents",
  failed: "failed agents",
};

function valueText(measure: Measure, value: number | null): string {
  if (value === null) return UNKNOWN;
  return measure === "durationMs" ? duration(value) : measure === "costUsd" ? money(value) : count(value);
}

function measureLines({ trees, measures }: ComparedThreads, colors: Colors, width: number | null): readonly string[] {
  const text = (measure: Measure, spread: Spread | null) => {
    if (spread === null) return UNKNOWN;
    const [least, median, most] = [spread.least, spread.median, spread.most].map((one) => valueText(measure, one));
    return spread.threads === 1 ? (median ?? "") : `${median} (${least} to ${most})`;
  };
  const columns = [
    { title: "" },
    { title: "LEFT", align: "right" as const },
    { title: "RIGHT", align: "right" as const },
    { title: "DIFFERENCE", flex: true as const },
  ];
  const rows = measures.map((one) => [
    { text: MEASURE_LABELS[one.measure] },
    { text: text(one.measure, one.left) },
    { text: text(one.measure, one.right) },
    { text: trees === null ? verdict(one) : change(one) },
  ]);
  return table(columns, rows, width, colors.dim);
}

/** Of two threads, only by how much they differ: one of each shows no spread. */
function change({ left, right }: ComparedMeasure): string {
  if (left === null || right === null || left.median === right.median) return "";
  if (left.median === 0) return "more";
  const ratio = right.median / left.median - 1;
  return `${ratio > 0 ? "+" : "-"}${percent(Math.abs(ratio))}`;
}

function verdict(one: ComparedMeasure): string {
  const by = change(one);
  if (one.difference === "unknown") return "unknown";
  if (one.difference === "none") return by === "" ? "the same" : `${by} of the median, within the spread`;
  const chance = `as by chance in ${percent(one.chance ?? 1)} of cases`;
  return one.difference === "clear" ? `${by}, apart; ${chance}` : `${by}, apart, but too few threads: ${chance}`;
}

function agentLines({ trees }: ComparedThreads, colors: Colors, width: number | null): readonly string[] {
  const side = (agent: ComparedAgent | null) =>
    agent === null
      ? UNKNOWN
      : `${STATUS_MARKS[agent.status]} ${valueText("durationMs", agent.own.durationMs)} · ${valueText("calls", agent.own.calls)} · ${valueText("costUsd", agent.own.costUsd)}`;
  const columns = [
    { title: "AGENT", flex: true as const },
    { title: "MATCHED BY", drop: 2 },
    { title: "LEFT", align: "right" as const },
    { title: "RIGHT", align: "right" as const },
    { title: "TOOLS", drop: 1 },
  ];
  const rows = (trees?.agents ?? []).map(({ depth, matchedBy, left, right }) => {
    const named = left ?? right;
    return [
      { text: `${"  ".repeat(depth)}${oneLine(named?.name ?? "")}` },
      { text: matchedBy ?? (left === null ? "only right" : "only left") },
      { text: side(left) },
      { text: side(right) },
      { text: left === null || right === null ? "" : toolChanges(left.tools, right.tools) },
    ];
  });
  return table(columns, rows, width, colors.dim);
}

/** The tools that were called more or less often. */
function toolChanges(left: ComparedAgent["tools"], right: ComparedAgent["tools"]): string {
  return [...new Set([...Object.keys(left), ...Object.keys(right)])]
    .sort()
    .flatMap((name) => {
      const more = (right[name] ?? 0) - (left[name] ?? 0);
      return more === 0 ? [] : [`${oneLine(name)} ${more > 0 ? "+" : "-"}${count(Math.abs(more))}`];
    })
    .join(", ");
}
