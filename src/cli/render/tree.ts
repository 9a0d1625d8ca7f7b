import { displayName } from "../../core/facts/display-name.ts";
import { addUsage, NO_USAGE, reportedOnly, totalTokens, type Usage } from "../../core/facts/usage.ts";
import type { Status } from "../../core/link/status.ts";
import { count, duration, exact, money, plural, UNKNOWN } from "../../core/tools/format.ts";
import type { AgentRecord, AgentTree, RefusedRecord } from "../../core/views/agent.ts";
import { STATUS_MARKS } from "../../core/views/agent.ts";
import type { Terminal } from "../terminal.ts";
import { oneLine } from "./printable.ts";
import { type Cell, type Column, clip, table } from "./table.ts";

type Colors = Terminal["colors"];

/** The tree as a table: one row per agent with its own numbers and, if it has agents below, the subtree's. */
export function renderTree(
  tree: AgentTree,
  terminal: Pick<Terminal, "width" | "colors">,
  options: { readonly all: boolean },
): string {
  const { colors, width } = terminal;
  const rows = [...rowsOf(tree, options.all, true)];
  const ids = shortIds(tree);
  const lines = table(
    COLUMNS,
    rows.map((row) => cellsOf(row, ids, colors)),
    width,
    colors.dim,
  );
  const toWidth = (line: string) => (width === null ? line : clip(line, width));
  const folded = rows.some((row) => row.is === "folded");
  return [
    colors.bold(toWidth(tree.uri)),
    toWidth(summaryOf(tree)),
    "",
    ...lines,
    ...notes(tree, toWidth, colors),
    ...(folded ? ["", colors.dim("some rows are folded; --all shows every agent")] : []),
  ].join("\n");
}

const COLUMNS: readonly Column[] = [
  { title: "AGENT", flex: true },
  { title: "ID", drop: 3 },
  { title: "TYPE", drop: 6 },
  { title: "STATUS" },
  { title: "MODEL", drop: 7 },
  { title: "CALLS", align: "right", drop: 5 },
  { title: "TOKENS", align: "right" },
  { title: "COST", align: "right", drop: 1 },
  { title: "TIME", align: "right", drop: 4 },
  { title: "ΣCALLS", align: "right", drop: 9 },
  { title: "ΣTOKENS", align: "right", drop: 8 },
  { title: "ΣCOST", align: "right", drop: 2 },
];

export type AgentRow =
  | { readonly is: "agent"; readonly branch: string; readonly agent: AgentTree }
  | { readonly is: "folded"; readonly branch: string; readonly agents: readonly AgentTree[] };

type Row =
  | AgentRow
  /** Spawn calls that were refused. They are not agents. */
  | {
      readonly is: "refused";
      readonly branch: string;
      readonly calls: readonly RefusedRecord[];
      readonly depth: number;
    };

const MANY_SIBLINGS = 12;
const SHOWN_SIBLINGS = 8;
const SHOWN_REFUSED = 3;

/** Depth first. Of many siblings, shows the first ones and all that did not complete. */
export function* rowsOf(root: AgentTree, all: boolean, withRefused: boolean): Generator<Row> {
  const stack: { row: Row; indent: string }[] = [{ row: { is: "agent", branch: "", agent: root }, indent: "" }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield next.row;
    if (next.row.is !== "agent") continue;
    const { children } = next.row.agent;
    const quiet = (a: AgentTree, i: number) =>
      i >= SHOWN_SIBLINGS && a.status === "completed" && (a.counts.byStatus.completed ?? 0) === a.counts.descendants;
    const hidden = new Set(all || children.length <= MANY_SIBLINGS ? [] : children.filter(quiet));
    const shown: Row[] = children.filter((c) => !hidden.has(c)).map((agent) => ({ is: "agent", branch: "", agent }));
    if (hidden.size > 0) shown.push({ is: "folded", branch: "", agents: [...hidden] });
    if (withRefused) shown.push(...refusedRows(next.row.agent, all));
    const indent = next.indent;
    const placed = shown.map((row, i) => {
      const below = branchBelow(indent, i === shown.length - 1, depthOf(row));
      return { row: { ...row, branch: below.branch }, indent: below.indent };
    });
    for (const place of placed.reverse()) stack.push(place);
  }
}

const depthOf = (row: Row) =>
  row.is === "refused" ? row.depth : ((row.is === "folded" ? row.agents[0] : row.agent)?.depth ?? 0);

/** One row per refused call, or one row for all of them if there are many. */
function refusedRows({ refused, depth }: AgentTree, all: boolean): Row[] {
  const row = (calls: readonly RefusedRecord[]): Row => ({ is: "refused", branch: "", calls, depth: depth + 1 });
  if (refused.length === 0) return [];
  return all || refused.length <= SHOWN_REFUSED ? refused.map((call) => row([call])) : [row(refused)];
}

const LEVEL = "│  ".length;
/** Maximum indentation. Without it the output size of a deep tree would be quadratic. */
const INDENTED_LEVELS = 20;

/**
 * The lines that lead to a row, and those that continue below it. Deeper rows are at the last level and state their
 * depth.
 */
export function branchBelow(
  indent: string,
  isLast: boolean,
  depth: number,
): { readonly branch: string; readonly indent: string } {
  if (indent.length >= INDENTED_LEVELS * LEVEL) return { branch: `${indent}⋯ ${depth} `, indent };
  return { branch: `${indent}${isLast ? "└─ " : "├─ "}`, indent: `${indent}${isLast ? "   " : "│  "}` };
}

function cellsOf(row: Row, ids: ReadonlyMap<string, string>, colors: Colors): Cell[] {
  if (row.is === "folded") {
    const sum = row.agents.reduce((total, a) => addUsage(total, a.usage.subtree), NO_USAGE);
    const deeper = row.agents.reduce((n, a) => n + a.counts.descendants, 0);
    const text = `${row.branch}… ${plural(row.agents.length, "more agent")}${deeper === 0 ? "" : ` and ${deeper} below`}`;
    return [
      { text, paint: colors.dim },
      { text: "" },
      { text: "" },
      statusCell("completed", colors),
      { text: "" },
      ...Array<Cell>(4).fill({ text: "" }),
      ...usageCells(sum),
    ];
  }
  if (row.is === "refused") return refusedCells(row, colors);
  const { agent, branch } = row;
  const own = agent.usage.own;
  const reported = reportedOnly(agent.usage);
  return [
    { text: branch + labelOf(agent) },
    { text: ids.get(agent.uri) ?? "", paint: colors.dim },
    { text: agent.type ?? "", paint: colors.dim },
    statusCell(agent.status, colors),
    { text: modelName(agent), paint: colors.dim },
    ...(reported === null ? usageCells(own) : [{ text: UNKNOWN }, { text: `${count(reported)}*` }, { text: UNKNOWN }]),
    { text: duration(agent.durationMs) },
    ...(agent.counts.descendants > 0 || agent.usage.internal !== null ? usageCells(agent.usage.subtree) : []),
  ];
}

export const REFUSED_MARK = "⊘";

function refusedCells({ branch, calls }: Extract<Row, { is: "refused" }>, colors: Colors): Cell[] {
  const [first] = calls;
  const names = [...new Set(calls.flatMap(({ description }) => description ?? []))];
  const text =
    calls.length === 1
      ? (names[0] ?? "a spawn call")
      : `${plural(calls.length, "spawn call")}${names.length === 0 ? "" : `: ${names.join(", ")}`}`;
  const types = new Set(calls.map(({ type }) => type ?? ""));
  return [
    { text: branch + clip(oneLine(text), 60) },
    { text: "" },
    { text: types.size === 1 ? (first?.type ?? "") : "", paint: colors.dim },
    { text: `${REFUSED_MARK} refused`, paint: colors.yellow },
  ];
}

const SHORT_ID = 8;

/** The shortest prefix of each id that is unique within the tree, so that a row can be addressed by it. */
function shortIds(tree: AgentTree): Map<string, string> {
  const ids = [...walk(tree)]
    .flatMap((a) => (a.agentId === null ? [] : [{ uri: a.uri, id: a.agentId }]))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const shared = (a: string | undefined, b: string) => {
    let n = 0;
    while (a !== undefined && n < a.length && a[n] === b[n]) n += 1;
    return n;
  };
  return new Map(
    ids.map(({ uri, id }, i) => [
      uri,
      id.slice(0, Math.max(SHORT_ID, 1 + shared(ids[i - 1]?.id, id), 1 + shared(ids[i + 1]?.id, id))),
    ]),
  );
}

const usageCells = (usage: Usage): Cell[] => [
  { text: String(usage.calls) },
  { text: count(totalTokens(usage)) },
  { text: money(usage.costUsd) },
];

export function paintStatus(status: Status, colors: Colors): (text: string) => string {
  const paints = {
    pendingInit: colors.cyan,
    running: colors.cyan,
    completed: colors.green,
    errored: colors.red,
    shutdown: colors.yellow,
    notFound: colors.magenta,
  };
  return paints[status];
}

export const statusCell = (status: Status, colors: Colors): Cell => ({
  text: `${STATUS_MARKS[status]} ${status}`,
  paint: paintStatus(status, colors),
});

/** The agent's display name, clipped to a number of cells. */
export const labelOf = (agent: AgentRecord, cells = 60) => clip(oneLine(displayName(agent)), cells);

export function modelName(agent: AgentRecord): string {
  const [first, ...more] = agent.model;
  if (first === undefined) return "";
  const short = first.replace(new RegExp(`^${agent.provider}-`), "").replace(/-\d{8}$/, "");
  return more.length === 0 ? short : `${short} +${more.length}`;
}

/** `completed · 6 agents below (5 completed, 1 errored) · 12 model calls · 40.1k tokens · $0.09 · 1 m 20 s` */
function summaryOf(tree: AgentTree): string {
  const { counts, usage } = tree;
  const by = Object.entries(counts.byStatus).map(([status, n]) => `${exact(n)} ${status}`);
  const agents =
    counts.descendants === 0 ? "no sub-agents" : `${plural(counts.descendants, "agent")} below (${by.join(", ")})`;
  const refused = counts.refused === 0 ? [] : [`${plural(counts.refused, "spawn")} refused`];
  const tokens = `${count(totalTokens(usage.subtree))} tokens`;
  const state = tree.activity === null ? tree.status : `${tree.status}: ${oneLine(tree.activity)}`;
  return [
    state,
    agents,
    ...refused,
    plural(usage.subtree.calls, "model call"),
    tokens,
    usage.subtree.costUsd === null ? "cost unknown" : money(usage.subtree.costUsd),
    duration(tree.durationMs),
  ].join(" · ");
}

const MAX_NOTES = 10;

/** Below the table: why agents did not complete, what running ones do, and what is unknown. Equal notes are merged. */
function* notes(tree: AgentTree, toWidth: (line: string) => string, colors: Colors): Generator<string> {
  const found = [...walk(tree)].flatMap((agent) => {
    const name = labelOf(agent);
    const text = agent.status === "running" ? agent.activity : agent.status === "completed" ? null : agent.statusReason;
    const status =
      text === null
        ? []
        : [{ name, mark: STATUS_MARKS[agent.status], text: oneLine(text), paint: paintStatus(agent.status, colors) }];
    const reported =
      reportedOnly(agent.usage) === null
        ? []
        : [{ name, mark: "*", text: "tokens as reported by the product, not in the sums", paint: colors.dim }];
    const refused = agent.refused.map(({ reason }) => ({
      name,
      mark: REFUSED_MARK,
      text: oneLine(reason ?? "a spawn call was refused; no reason is recorded"),
      paint: colors.yellow,
    }));
    return [
      ...status,
      ...uniqueTexts(refused),
      ...reported,
      ...agent.warnings.map((warning) => ({ name, mark: "!", text: oneLine(warning), paint: colors.yellow })),
    ];
  });
  const same = [...Map.groupBy(found, (note) => `${note.mark} ${note.text}`).values()];
  if (same.length > 0) yield "";
  for (const [first, ...more] of same.slice(0, MAX_NOTES)) {
    if (first === undefined) continue;
    const names = more.length === 0 ? first.name : `${first.name} and ${plural(more.length, "other")}`;
    yield first.paint(toWidth(`${first.mark} ${names}: ${first.text}`));
  }
  if (same.length > MAX_NOTES) yield colors.dim(`… and ${same.length - MAX_NOTES} more notes; --json has them all`);
}

function uniqueTexts<T extends { readonly text: string }>(notes: readonly T[]): readonly T[] {
  return [...new Map(notes.map((note) => [note.text, note])).values()];
}

export function* walk(tree: AgentTree): Generator<AgentTree> {
  const stack = [tree];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield next;
    for (const child of next.children.toReversed()) stack.push(child);
  }
}
