/** Rows of the team pages, computed from the server's responses. */
import type { CostGroup, CostLine, Person, RunningThread } from "../../../src/core/ports/team.ts";
import type { BudgetUse } from "../../../src/core/views/budget.ts";
import { DAY_MS } from "./days.ts";
import { duration, money, plural } from "./format.ts";
import { threadKey } from "./thread-list.ts";
import type { AgentRecord } from "./types.ts";

export type { CostGroup, CostLine, FailedThread, Person, RunningThread } from "../../../src/core/ports/team.ts";
export type { BudgetUse } from "../../../src/core/views/budget.ts";

/** `GET /api/team/costs` */
export interface Costs {
  readonly total: CostLine;
  readonly by: Readonly<Record<CostGroup, readonly CostLine[]>>;
  /** The month of the budgets, in UTC: `2026-11`. */
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

/** Running threads by person, in the order of the response: latest activity first. */
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

/** A machine with running agents ships every few seconds. Without a shipment for this long it is asleep or offline. */
const SILENT_MS = 10 * 60_000;

export const isSilent = (shippedAt: string | null, now: number) =>
  shippedAt !== null && now - Date.parse(shippedAt) > SILENT_MS;

/** A running thread above one of these limits is listed as a runaway. */
export const RUNAWAY = { agents: 50, ms: 3 * 3_600_000, usd: 20 } as const;

/** Which limits of `RUNAWAY` a thread exceeds. */
function runawayReasons({ running, record }: RunningThread, now: number): string[] {
  const ms = record.startedAt === null ? 0 : now - Date.parse(record.startedAt);
  const usd = record.usage.subtree.costUsd ?? 0;
  return [
    ...(running > RUNAWAY.agents ? [`${plural(running, "agent")} at once`] : []),
    ...(ms > RUNAWAY.ms ? [`runs for ${duration(ms)}`] : []),
    ...(usd > RUNAWAY.usd ? [money(usd)] : []),
  ];
}

/** Threads that exceed a limit of `RUNAWAY`, most expensive first. */
export const runaways = (threads: readonly RunningThread[], now: number) =>
  threads
    .map((thread) => ({ ...thread, reasons: runawayReasons(thread, now) }))
    .filter(({ reasons }) => reasons.length > 0)
    .sort((a, b) => (b.record.usage.subtree.costUsd ?? 0) - (a.record.usage.subtree.costUsd ?? 0));

interface CostBar {
  readonly line: CostLine;
  /** Relative to the most expensive line. */
  readonly part: number;
}

/** Without lines of agents that used nothing, such as those that could not be started. */
export function costBars(lines: readonly CostLine[]): CostBar[] {
  const used = lines.filter(({ costUsd, tokens, calls }) => costUsd > 0 || tokens > 0 || calls > 0);
  const most = used.reduce((max, { costUsd }) => Math.max(max, costUsd), 0);
  return used.map((line) => ({ line, part: most === 0 ? 0 : line.costUsd / most }));
}

/** The known cost; with `≥` if some model calls have no known price. */
export const costText = ({ costUsd, unpricedCalls }: CostLine) =>
  unpricedCalls > 0 && costUsd > 0 ? `≥ ${money(costUsd)}` : unpricedCalls > 0 ? money(null) : money(costUsd);

/** Extrapolates the usage so far to the end of the month (UTC). */
export function expectedUsd(usedUsd: number, month: string, now: number): number {
  const begin = Date.parse(`${month}-01`);
  const date = new Date(begin);
  const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
  // At least one day, because an extrapolation from the first hours of a month means nothing.
  const passed = Math.max(DAY_MS, Math.min(now, end) - begin);
  return (usedUsd / passed) * (end - begin);
}
