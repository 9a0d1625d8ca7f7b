import type { Permission } from "../../app/runs/permissions.ts";
import { totalTokens } from "../../core/facts/usage.ts";
import type { PermissionReply } from "../../core/ports/control.ts";
import { count, duration, money, plural } from "../../core/tools/format.ts";
import { visible } from "../../core/tools/visible.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { STATUS_MARKS } from "../../core/views/agent.ts";
import { attachCommand } from "../../core/views/attach-command.ts";
import { oneLine } from "../render/printable.ts";
import { type Cell, type Column, cells, clip, table } from "../render/table.ts";
import { labelOf, modelName, paintStatus, REFUSED_MARK, statusCell, walk } from "../render/tree.ts";
import type { Terminal } from "../terminal.ts";
import type { WatchRow } from "./rows.ts";
import { HELP, replyKeys, type View } from "./view.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

type Colors = Terminal["colors"];

/** Number of lines that are not agents: summary, table head and key help. */
const FRAME = 4;
export const pageOf = ({ rows }: Size) => Math.max(1, rows - FRAME);

const COLUMNS: readonly Column[] = [
  { title: "AGENT", flex: true },
  { title: "NOW", drop: 1 },
  { title: "STATUS", drop: 9 },
  { title: "TYPE", drop: 6 },
  { title: "MODEL", drop: 7 },
  { title: "TIME", align: "right" },
  { title: "TOKENS", align: "right", drop: 2 },
  { title: "COST", align: "right", drop: 3 },
  { title: "CALLS", align: "right", drop: 8 },
];

/** All lines of the screen, within its size. */
export function screenOf(
  trees: readonly AgentTree[],
  rows: readonly WatchRow[],
  view: View,
  size: Size,
  colors: Colors,
  now: number,
): string[] {
  const toWidth = (line: string) => clip(line, size.columns);
  const question = view.attaches === null ? null : colors.yellow(toWidth(questionOf(rows, view.attaches.uri)));
  const keys =
    question ??
    (view.isHeld
      ? colors.yellow(toWidth("paused: f continues · q quits"))
      : colors.dim(
          toWidth("↑↓ move  ←→ fold  enter open  a continue agent  p permission  s sort  f pause  ? help  q quit"),
        ));
  if (view.isHelp) return filled([...HELP.map(([key, does]) => `  ${key.padEnd(18)}${does}`)].map(toWidth), size, keys);
  if (view.permission !== null) return permissionScreen(view.permission.shown, view.scroll, size, colors);
  const agent = view.open === null ? undefined : rows.find((row) => row.agent.uri === view.open)?.agent;
  if (agent !== undefined) {
    const lines = detailOf(agent, size.columns, now);
    const from = Math.min(view.scroll, Math.max(0, lines.length - (size.rows - 1)));
    return filled(
      lines.slice(from, from + size.rows - 1),
      size,
      question ?? colors.dim(toWidth("↑↓ scroll  enter back  a continue agent  p permission  f pause  q back")),
    );
  }
  const body =
    rows.length === 0
      ? ["", toWidth("No agents yet. Agents appear here as soon as one starts.")]
      : listOf(rows, view, size, colors, now);
  return filled([colors.bold(toWidth(summaryOf(trees, view))), "", ...body], size, keys);
}

/** The complete request. The keys of the answers are shown only once its end is on the screen. */
function permissionScreen(shown: Permission, scroll: number, size: Size, colors: Colors): string[] {
  const lines = permissionLines(shown, size.columns);
  const last = Math.max(0, lines.length - (size.rows - 1));
  const from = Math.min(scroll, last);
  const answers = replyKeys(shown).map(([key, reply]) => `${key}: ${REPLY_TEXT[reply]}`);
  const keys = from < last ? "↓ more" : [...answers, "any other key: decide later"].join(" · ");
  return filled(lines.slice(from, from + size.rows - 1), size, colors.yellow(clip(keys, size.columns)));
}

export const isAllShown = (shown: Permission, scroll: number, size: Size) =>
  scroll >= permissionLines(shown, size.columns).length - (size.rows - 1);

function permissionLines({ uri, tool, input, always, replies }: Permission, width: number): string[] {
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
  return [
    ...wrapped(`${uri ?? "An agent"} asks for permission: ${oneLine(tool)}`, width),
    ...Object.entries(input).flatMap(([name, value]) => [
      "",
      ...wrapped(oneLine(name), width),
      ...visible(text(value))
        .split("\n")
        .flatMap((line) => wrapped(`  ${line}`, width)),
    ]),
    ...(replies.includes("always") && always.length > 0
      ? ["", ...wrapped(`A also allows from now on: ${always.map(oneLine).join(", ")}`, width)]
      : []),
  ];
}

const REPLY_TEXT: Readonly<Record<PermissionReply, string>> = {
  once: "allow once",
  always: "always allow",
  reject: "reject",
};

function questionOf(rows: readonly WatchRow[], uri: string): string {
  const agent = rows.find((row) => row.agent.uri === uri)?.agent;
  const name = agent === undefined ? uri : labelOf(agent, 32);
  return `continue ${name} as a session of its own? a: yes · any other key: no`;
}

function filled(lines: readonly string[], { rows }: Size, last: string): string[] {
  const room = Math.max(0, rows - 1);
  return [...lines.slice(0, room), ...Array<string>(Math.max(0, room - lines.length)).fill(""), last];
}

function listOf(rows: readonly WatchRow[], view: View, size: Size, colors: Colors, now: number): string[] {
  const page = pageOf(size);
  const at = Math.max(
    0,
    rows.findIndex(({ agent }) => agent.uri === view.cursor),
  );
  // Keeps the cursor and the rows after it on the screen.
  const from = Math.max(0, Math.min(at - Math.floor(page / 2), rows.length - page));
  const shown = rows.slice(from, from + page);
  const [head = "", ...lines] = table(
    COLUMNS,
    shown.map((row) => cellsOf(row, size, colors, now)),
    size.columns,
    colors.dim,
  );
  return [head, ...lines.map((line, i) => (from + i === at ? colors.inverse(padded(line, size.columns)) : line))];
}

const padded = (line: string, width: number) => line + " ".repeat(Math.max(0, width - cells(line)));

function cellsOf({ agent, branch, hidden }: WatchRow, { columns }: Size, colors: Colors, now: number): Cell[] {
  const refused = agent.counts.refused === 0 ? "" : ` ${REFUSED_MARK} ${agent.counts.refused}`;
  const more = `${hidden === 0 ? "" : ` (+${hidden})`}${refused}`;
  const usage = agent.parent === null || hidden > 0 ? agent.usage.subtree : agent.usage.own;
  return [
    {
      text: `${branch}${STATUS_MARKS[agent.status]} ${labelOf(agent, 48)}${more}`,
      ...(agent.status === "completed" ? { paint: colors.dim } : {}),
    },
    { text: nowOf(agent, columns < WIDE ? NOW_NARROW : NOW_WIDE), paint: paintStatus(agent.status, colors) },
    statusCell(agent.status, colors),
    { text: agent.type ?? "", paint: colors.dim },
    { text: modelName(agent), paint: colors.dim },
    { text: duration(elapsed(agent, now)) },
    { text: count(totalTokens(usage)) },
    { text: money(usage.costUsd) },
    { text: String(usage.calls) },
  ];
}

const WIDE = 120;
const NOW_NARROW = 26;
const NOW_WIDE = 48;

/** The activity of a running agent, or why an agent did not complete. */
function nowOf({ status, activity, statusReason }: AgentTree, room: number): string {
  const text =
    status === "running" || status === "pendingInit" ? activity : status === "completed" ? null : statusReason;
  return text === null ? "" : clip(oneLine(text), room);
}

const elapsed = ({ status, startedAt, durationMs }: AgentTree, now: number) =>
  status === "running" && startedAt !== null ? Math.max(0, now - Date.parse(startedAt)) : durationMs;

function summaryOf(trees: readonly AgentTree[], { sort }: View): string {
  const all = trees.flatMap((tree) => [...walk(tree)]);
  const running = all.filter(({ status }) => status === "running").length;
  const waiting = all.filter(({ activity }) => activity?.startsWith("waits for a ") === true).length;
  const tokens = trees.reduce((sum, tree) => sum + totalTokens(tree.usage.subtree), 0);
  const cost = trees.reduce<number | null>(
    (sum, tree) => (sum === null || tree.usage.subtree.costUsd === null ? null : sum + tree.usage.subtree.costUsd),
    0,
  );
  const parts = [
    `${running} running`,
    ...(waiting === 0 ? [] : [`${waiting} waiting for a person`]),
    plural(all.length, "agent"),
    `${count(tokens)} tokens`,
    money(cost),
    sort,
  ];
  return parts.join(" · ");
}

/** The detail view of one agent. */
function detailOf(agent: AgentTree, width: number, now: number): string[] {
  const { usage, result, prompt } = agent;
  const field = (name: string, value: string | null) =>
    value === null || value === "" ? [] : wrapped(`${name.padEnd(9)} ${oneLine(value)}`, width);
  const text = (title: string, body: string | null) =>
    body === null
      ? []
      : [
          "",
          title,
          ...visible(body)
            .split("\n")
            .flatMap((line) => wrapped(`  ${line}`, width)),
        ];
  return [
    ...wrapped(agent.uri, width),
    "",
    ...field("status", `${agent.status} (${agent.statusSource}): ${agent.statusReason}`),
    ...field("now", agent.activity),
    ...field("type", [agent.type, agent.name].filter((word) => word !== null).join(" ")),
    ...field("model", agent.model.join(", ")),
    ...field("time", duration(elapsed(agent, now))),
    ...field(
      "used",
      `${plural(usage.own.calls, "call")}, ${count(totalTokens(usage.own))} tokens, ${money(usage.own.costUsd)}`,
    ),
    ...(agent.counts.descendants === 0
      ? []
      : field(
          "below",
          `${plural(agent.counts.descendants, "agent")}; ${count(totalTokens(usage.subtree))} tokens, ${money(usage.subtree.costUsd)}`,
        )),
    ...field("folder", agent.cwd),
    ...field("continue", `press a, or run: ${attachCommand(agent.uri)}`),
    ...agent.refused.flatMap(({ description, reason }) =>
      field("refused", [description, reason].filter((word) => word !== null).join(": ")),
    ),
    ...agent.warnings.flatMap((warning) => field("!", warning)),
    ...text("prompt", prompt),
    ...text("result", result),
  ];
}

/** Wraps at `width` cells. */
function wrapped(line: string, width: number): string[] {
  const lines: string[] = [];
  let [rest, room] = [line, Math.max(1, width)];
  while (cells(rest) > room) {
    let end = 0;
    for (let sum = 0; end < rest.length; ) {
      const char = String.fromCodePoint(rest.codePointAt(end) ?? 0);
      sum += cells(char);
      if (sum > room) break;
      end += char.length;
    }
    const blank = rest.lastIndexOf(" ", end);
    const cut = blank > end / 2 ? blank : Math.max(1, end);
    lines.push(rest.slice(0, cut));
    rest = rest.slice(cut).trimStart();
    room = Math.max(1, width);
  }
  return [...lines, rest];
}
