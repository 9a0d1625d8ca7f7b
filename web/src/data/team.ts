/** The pages of a team server: responses in, rows out. */
import type { CostGroup, CostLine, Person, RunningThread } from "../../../src/core/ports/team.ts";
import type { BudgetUse } from "../../../src/core/views/budget.ts";
import { duration, money, plural } from "./format.ts";
import { threadKey } from "./thread-list.ts";
import type { AgentRecord } from "./types.ts";

export type { CostGroup, CostLine, FailedThread, Person, RunningThread } from "../../../src/core/ports/team.ts";
export type { BudgetUse } from "../../../src/core/views/budget.ts";

/** `GET /api/team/costs` */
export interface Costs {
  readonly total: CostLine;
  readonly by: Readonly<Record<CostGroup, readonly CostLine[]>>;
  /** Of the budgets, UTC: `2026-11`. */
  readonly month: string;
  readonly budgets: readonly BudgetUse[];
}

/** `GET /api/team/people` */
export interface People {
  readonly month: string;
  readonly items: readonly Person[];
}

export interface PersonHeading {
  readonly is: "person";
  readonly id: string;
  readonly owner: string;
  readonly threads: number;
  readonly agents: number;
  readonly costUsd: number;
  /** When the person's machines last sent something. */
  readonly shippedAt: string | null;
}

export type NowRow =
  | PersonHeading
  | { readonly is: "thread"; readonly id: string; readonly record: AgentRecord; readonly runaway: readonly string[] };

/** Running threads by person. The server lists the latest activity first, and so do people and their threads. */
export function nowRows(threads: readonly RunningThread[], now: number): NowRow[] {
  return [...Map.groupBy(threads, ({ owner }) => owner)].flatMap(([owner, list]): NowRow[] => [
    {
      is: "person",
      id: owner,
      owner,
      threads: list.length,
      agents: list.reduce((sum, { running }) => sum + running, 0),
      costUsd: list.reduce((sum, { record }) => sum + (record.usage.subtree.costUsd ?? 0), 0),
      shippedAt: list.reduce<string | null>((last, { shippedAt }) => newer(last, shippedAt), null),
    },
    ...list.map((thread) => {
      const record = { ...thread.record, owner };
      return { is: "thread" as const, id: threadKey(record), record, runaway: runawayReasons(thread, now) };
    }),
  ]);
}

const newer = (a: string | null, b: string | null) => ((a ?? "") < (b ?? "") ? b : a);

/** A machine that runs agents sends something every few seconds. After this time it is asleep or offline. */
export const SILENT_MS = 10 * 60_000;

export const isSilent = (shippedAt: string | null, now: number) =>
  shippedAt !== null && now - Date.parse(shippedAt) > SILENT_MS;

/** A thread above one of these is worth a look. */
export const RUNAWAY = { agents: 50, ms: 3 * 3_600_000, usd: 20 } as const;

/** Why a running thread may be out of control; empty if nothing suggests it. */
export function runawayReasons({ running, record }: RunningThread, now: number): string[] {
  const ms = record.startedAt === null ? 0 : now - Date.parse(record.startedAt);
  const usd = record.usage.subtree.costUsd ?? 0;
  return [
    ...(running > RUNAWAY.agents ? [`${plural(running, "agent")} at once`] : []),
    ...(ms > RUNAWAY.ms ? [`runs for ${duration(ms)}`] : []),
    ...(usd > RUNAWAY.usd ? [money(usd)] : []),
  ];
}

/** Threads that may be out of control, the most expensive first. */
export const runaways = (threads: readonly RunningThread[], now: number) =>
  threads
    .map((thread) => ({ ...thread, reasons: runawayReasons(thread, now) }))
    .filter(({ reasons }) => reasons.length > 0)
    .sort((a, b) => (b.record.usage.subtree.costUsd ?? 0) - (a.record.usage.subtree.costUsd ?? 0));

export interface CostBar {
  readonly line: CostLine;
  /** Relative to the most expensive line. */
  readonly part: number;
}

export function costBars(lines: readonly CostLine[]): CostBar[] {
  const most = lines.reduce((max, { costUsd }) => Math.max(max, costUsd), 0);
  return lines.map((line) => ({ line, part: most === 0 ? 0 : line.costUsd / most }));
}

/** A known cost; `≥` if model calls without a price come on top. */
export const costText = ({ costUsd, unpricedCalls }: CostLine) =>
  unpricedCalls > 0 && costUsd > 0 ? `≥ ${money(costUsd)}` : unpricedCalls > 0 ? money(null) : money(costUsd);

const DAY_MS = 86_400_000;

/** Every day from the first to the last, days without usage included. */
export function dayBars(lines: readonly CostLine[]): { readonly day: string; readonly bar: CostBar | null }[] {
  const bars = new Map(costBars(lines).flatMap((bar) => (bar.line.key === null ? [] : [[bar.line.key, bar]])));
  const days = [...bars.keys()].sort();
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return [];
  const length = Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
  return Array.from({ length }, (_, i) => {
    const day = new Date(Date.parse(first) + i * DAY_MS).toISOString().slice(0, 10);
    return { day, bar: bars.get(day) ?? null };
  });
}

/** What will have been spent at the end of the month (UTC) if it goes on like this. */
export function expectedUsd(usedUsd: number, month: string, now: number): number {
  const begin = Date.parse(`${month}-01`);
  const date = new Date(begin);
  const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  // On the first day, an hour would count for a month.
  const passed = Math.max(DAY_MS, Math.min(now, end) - begin);
  return (usedUsd / passed) * (end - begin);
}
