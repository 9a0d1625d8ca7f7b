import { type GuardReport, guardReport, type LimitEvent, type ThreadUse } from "../../app/guard/report.ts";
import { LIMIT_LABELS, limitText, scopeText } from "../../core/guard/limit-text.ts";
import { ago, percent } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";
import { clip, table } from "../render/table.ts";
import { wholeNumber } from "../whole-number.ts";

export interface GuardOptions {
  readonly limit: string;
}

type Colors = Context["terminal"]["colors"];

/** `retinue guard`: the limits in force, what running threads have used of them, and what was refused. */
export async function guard(context: Context, options: GuardOptions): Promise<void> {
  const { terminal, env } = context;
  const most = wholeNumber("--limit", options.limit, "events");
  const library = await context.library();
  const found = guardReport(library, env, (await context.settings()).values.limits, most);
  if (context.json) return terminal.out(printJson(found, 2));
  const { colors, width } = terminal;
  terminal.out(
    [
      ...section("Limits", limitLines(found, colors), colors),
      ...section("Running threads", threadLines(found, colors, width), colors),
      ...section(
        "Refusals and warnings",
        eventLines([...found.denied, ...found.warned], colors, width, library.now()),
        colors,
      ),
      ...(found.trouble === null ? [] : section("Problems", [`  ${troubleLine(found, library.now())}`], colors)),
    ]
      .join("\n")
      .trimEnd(),
  );
}

const section = (title: string, lines: readonly string[], colors: Colors) => [colors.bold(title), ...lines, ""];

function limitLines({ limits, hooks }: GuardReport, colors: Colors): string[] {
  if (limits.length === 0) return ["  none; the settings key is limits, and docs/guard.md describes it"];
  const rows = limits.map(({ scope, name, limit, max, action }) => [
    { text: `  ${scopeText(scope, name)}` },
    { text: LIMIT_LABELS[limit] },
    { text: limitText(limit, max) },
    { text: action, paint: action === "deny" ? colors.red : colors.yellow },
  ]);
  const columns = [
    { title: "  FOR" },
    { title: "LIMIT" },
    { title: "MAX", align: "right" as const },
    { title: "THEN" },
  ];
  const enforcing = hooks
    .filter(({ canRefuse }) => canRefuse)
    .map(({ product, provider, commands }) =>
      commands.length > 0
        ? `  ${product}: enforced by its hooks`
        : `  ${product}: ${colors.yellow("its hooks are not installed")}; enforced only under retinue run and retinue proxy (next: retinue hooks install ${provider})`,
    );
  return [...table(columns, rows, null, colors.dim), ...enforcing];
}

function threadLines({ threads, limits }: GuardReport, colors: Colors, width: number | null): string[] {
  if (threads.length === 0) return [limits.length === 0 ? "  no limits" : "  none with limits"];
  return threads.flatMap(({ uri, title, uses }) => [
    clipped(`  ${uri}  ${oneLine(title ?? "")}`, width),
    ...table(
      [{ title: "" }, { title: "" }, { title: "", align: "right" }, { title: "" }, { title: "", align: "right" }],
      uses.map((use) => useCells(use, colors)),
      null,
      colors.dim,
    ).slice(1),
  ]);
}

function useCells({ limit, whose, used, max, share }: ThreadUse["uses"][number], colors: Colors) {
  const paint = share === null ? colors.dim : share >= 1 ? colors.red : share >= 0.8 ? colors.yellow : colors.green;
  return [
    { text: `    ${LIMIT_LABELS[limit]}` },
    { text: whose ?? "", paint: colors.dim },
    { text: limitText(limit, used) },
    { text: `of ${limitText(limit, max)}` },
    { text: share === null ? "not known" : percent(share), paint },
  ];
}

/** One entry per refusal or warning; equal ones of one agent are counted in one entry. */
function eventLines(events: readonly LimitEvent[], colors: Colors, width: number | null, now: number): string[] {
  if (events.length === 0) return ["  nothing"];
  const alike = Map.groupBy(events, ({ uri, action, via, reason }) => JSON.stringify([uri, action, via, reason]));
  return [...alike.values()].flatMap((group) => {
    const [{ at, uri, action, via, reason }] = group as [LimitEvent, ...LimitEvent[]];
    const paint = action === "deny" ? colors.red : colors.yellow;
    const names = group.map(({ description, type, id }) => oneLine(description ?? type ?? id));
    const many = group.length === 1 ? "" : ` ×${group.length}`;
    return [
      `  ${paint(`${action === "deny" ? "⊘ refused" : "! warned"}${many}`)}  ${colors.dim(`${ago(at, now)}, by ${via}`)}`,
      clipped(`      ${names.toReversed().join(", ")}`, width),
      colors.dim(clipped(`      ${uri}`, width)),
      `      ${oneLine(reason)}`,
    ];
  });
}

const clipped = (line: string, width: number | null) => (width === null ? line : clip(line, width));

const troubleLine = ({ trouble }: GuardReport, now: number) =>
  trouble === null
    ? ""
    : `${ago(new Date(trouble.at).toISOString(), now)} limits were not enforced: ${oneLine(trouble.error)}`;
