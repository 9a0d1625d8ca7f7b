import { resolve as resolvePath } from "node:path";
import { Failure } from "../../app/failure.ts";
import type { Machine } from "../../app/machine.ts";
import { PROVIDER_NAMES } from "../../app/machine.ts";
import { type ThreadFilter, threads } from "../../app/threads.ts";
import type { AgentTree } from "../../core/agent.ts";
import { withoutChildren } from "../../core/record.ts";
import { totalTokens } from "../../core/usage.ts";
import type { Context } from "../context.ts";
import { ago, count, money } from "../render/format.ts";
import { type Column, table } from "../render/table.ts";
import { labelOf, statusCell } from "../render/tree.ts";
import type { Terminal } from "../terminal.ts";

export interface LsOptions {
  readonly provider?: string;
  readonly cwd?: string;
  readonly since?: string;
  readonly limit: string;
  readonly running?: boolean;
}

export async function ls(context: Context, options: LsOptions): Promise<void> {
  const filter = filterOf(options, Date.now());
  const machine = await context.machine();
  const found = [...threads(machine, filter)];
  if (context.json) context.terminal.out(JSON.stringify(found.map(withoutChildren), null, 2));
  if (found.length === 0) throw nothingFound(machine);
  if (!context.json) context.terminal.out(renderThreads(found, context.terminal, machine.forest.now));
}

export function nothingFound(machine: Machine): Failure {
  const searched = machine.roots.map((r) => `${r.path}${r.exists ? "" : " (not there)"}`).join(", ");
  const known = machine.forest.roots.length;
  return new Failure("not_found", known === 0 ? "no threads found" : `none of ${known} threads fits`, [
    `searched: ${searched}`,
    known === 0 ? "next: retinue doctor" : "next: retinue ls",
  ]);
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

export function renderThreads(trees: readonly AgentTree[], { width, colors }: Pick<Terminal, "width" | "colors">, now: number): string {
  const rows = trees.map((tree) => [
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

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

function filterOf(options: LsOptions, now: number): ThreadFilter {
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1)
    throw new Failure("usage", `--limit ${options.limit}: not a number of threads`, ["write a whole number from 1, such as --limit 50"]);
  if (options.provider !== undefined && !PROVIDER_NAMES.includes(options.provider))
    throw new Failure("usage", `--provider ${options.provider}: no such provider`, [`known providers: ${PROVIDER_NAMES.join(", ")}`]);
  return {
    limit,
    ...(options.provider === undefined ? {} : { provider: options.provider }),
    ...(options.cwd === undefined ? {} : { cwd: resolvePath(options.cwd) }),
    ...(options.since === undefined ? {} : { since: sinceOf(options.since, now) }),
    ...(options.running === true ? { running: true } : {}),
  };
}

/** `2h`, `3d`, or a date. */
function sinceOf(words: string, now: number): number {
  const [, number, unit] = /^(\d+)([mhdw])$/.exec(words) ?? [];
  if (number !== undefined && unit !== undefined) return now - Number(number) * (UNITS[unit] ?? 0);
  const at = Date.parse(words);
  if (Number.isNaN(at)) throw new Failure("usage", `--since ${words}: not a time`, ["write 30m, 2h, 3d, 1w, or a date such as 2026-11-15"]);
  return at;
}
