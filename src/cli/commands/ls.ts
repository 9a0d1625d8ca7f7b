import { resolve as resolvePath } from "node:path";
import { Failure } from "../../app/failure.ts";
import type { Library, ThreadFilter } from "../../app/ingest/library.ts";
import { noThreadsFound, searched } from "../../app/query/resolve.ts";
import { sinceOf } from "../../app/query/since.ts";
import { allTrouble } from "../../app/query/trouble.ts";
import { totalTokens } from "../../core/facts/usage.ts";
import { ago, count, money } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import { type Context, printUnread, warnOfProblems } from "../context.ts";
import { type Column, table } from "../render/table.ts";
import { labelOf, statusCell } from "../render/tree.ts";
import type { Terminal } from "../terminal.ts";
import { wholeNumber } from "../whole-number.ts";

export interface LsOptions {
  readonly provider?: string;
  readonly cwd?: string;
  readonly since?: string;
  readonly limit: string;
  readonly running?: boolean;
  readonly all?: boolean;
  readonly wait?: boolean;
}

export async function ls(context: Context, options: LsOptions): Promise<void> {
  const filter = filterOf(options, Date.now());
  const library = await context.library(options.all === true || options.wait === true ? undefined : filter);
  const found = [...library.threads(filter)];
  warnOfProblems(context.terminal, allTrouble(library));
  if (context.json) context.terminal.out(printJson(found, 2));
  if (found.length === 0) throw nothingFound(library);
  if (!context.json) context.terminal.out(renderThreads(found, context.terminal, library.now()));
  printUnread(context.terminal, library, "use --wait to read everything first");
}

export function nothingFound(library: Library): Failure {
  const [any] = library.threads({ limit: 1 });
  return any === undefined
    ? noThreadsFound(library)
    : new Failure("not_found", "no thread matches", [searched(library), "next: retinue ls"]);
}

const COLUMNS: readonly Column[] = [
  { title: "STATUS" },
  { title: "THREAD" },
  { title: "AGENTS", align: "right", drop: 2 },
  { title: "TOKENS", align: "right", drop: 3 },
  { title: "COST", align: "right", drop: 1 },
  { title: "ACTIVE", align: "right", drop: 4 },
  { title: "PROJECT", drop: 5 },
  { title: "TITLE", flex: true },
];

export function renderThreads(
  records: readonly AgentRecord[],
  { width, colors }: Pick<Terminal, "width" | "colors">,
  now: number,
): string {
  const rows = records.map((tree) => [
    statusCell(tree.status, colors),
    { text: tree.uri },
    { text: String(tree.counts.descendants) },
    { text: count(totalTokens(tree.usage.subtree)) },
    { text: money(tree.usage.subtree.costUsd) },
    { text: ago(tree.lastActivityAt, now), paint: colors.dim },
    { text: tree.project ?? "", paint: colors.dim },
    { text: labelOf(tree) },
  ]);
  return table(COLUMNS, rows, width, colors.dim).join("\n");
}

function filterOf(options: LsOptions, now: number): ThreadFilter {
  const limit = wholeNumber("--limit", options.limit, "threads");
  return {
    ...(options.all === true ? {} : { limit }),
    ...(options.provider === undefined ? {} : { provider: options.provider }),
    ...(options.cwd === undefined ? {} : { cwd: resolvePath(options.cwd) }),
    ...(options.since === undefined ? {} : { since: sinceOf(options.since, now) }),
    ...(options.running === true ? { running: true } : {}),
  };
}
