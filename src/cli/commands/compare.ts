import { type ComparedThreads, compareThreads } from "../../app/query/compare.ts";
import { checkTarget } from "../../app/query/resolve.ts";
import { count, plural, UNKNOWN } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import { STATUS_MARKS } from "../../core/views/agent.ts";
import type { ComparedAgent } from "../../core/views/compare.ts";
import { MEASURE_LABELS, measureText, spreadText, verdictText } from "../../core/views/compare-text.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";
import { table } from "../render/table.ts";

/** `retinue compare`: two trees side by side, or two groups of threads. */
export async function compare(context: Context, left: string, right: string): Promise<void> {
  for (const name of [...left.split(","), ...right.split(",")]) if (name.trim() !== "") checkTarget(name.trim());
  const found = await compareThreads(await context.library(), left, right);
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

function measureLines({ trees, measures }: ComparedThreads, colors: Colors, width: number | null): readonly string[] {
  const columns = [
    { title: "" },
    { title: "LEFT", align: "right" as const },
    { title: "RIGHT", align: "right" as const },
    { title: "DIFFERENCE", flex: true as const },
  ];
  const rows = measures.map((one) => [
    { text: MEASURE_LABELS[one.measure].toLowerCase() },
    { text: spreadText(one.measure, one.left) },
    { text: spreadText(one.measure, one.right) },
    { text: verdictText(one, trees !== null) },
  ]);
  return table(columns, rows, width, colors.dim);
}

function agentLines({ trees }: ComparedThreads, colors: Colors, width: number | null): readonly string[] {
  const side = (agent: ComparedAgent | null) =>
    agent === null
      ? UNKNOWN
      : `${STATUS_MARKS[agent.status]} ${measureText("durationMs", agent.own.durationMs)} · ${measureText("calls", agent.own.calls)} · ${measureText("costUsd", agent.own.costUsd)}`;
  const columns = [
    { title: "AGENT", flex: true as const },
    { title: "MATCHED BY", drop: 2 },
    { title: "LEFT", align: "right" as const },
    { title: "RIGHT", align: "right" as const },
    { title: "TOOLS AND FILES", drop: 1 },
  ];
  const rows = (trees?.agents ?? []).map(({ depth, matchedBy, left, right }) => {
    const named = left ?? right;
    return [
      { text: `${"  ".repeat(depth)}${oneLine(named?.name ?? "")}` },
      { text: matchedBy ?? (left === null ? "only right" : "only left") },
      { text: side(left) },
      { text: side(right) },
      { text: left === null || right === null ? "" : workChanges(left, right) },
    ];
  });
  return table(columns, rows, width, colors.dim);
}

/** The tools that were called more or less often, and the files that only one side changed. */
function workChanges(a: ComparedAgent, b: ComparedAgent): string {
  const [left, right] = [a.tools, b.tools];
  const files = [...new Set([...a.files, ...b.files])].flatMap((path) => {
    const [has, had] = [b.files.includes(path), a.files.includes(path)];
    return has === had ? [] : [`${has ? "+" : "-"}${oneLine(path)}`];
  });
  const tools = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort().flatMap((name) => {
    const more = (right[name] ?? 0) - (left[name] ?? 0);
    return more === 0 ? [] : [`${oneLine(name)} ${more > 0 ? "+" : "-"}${count(Math.abs(more))}`];
  });
  return [...tools, ...files].join(", ");
}
