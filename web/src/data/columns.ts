import type { Sums } from "./agent-set.ts";
import { count, duration, exact, exactMoney, exactMs, money } from "./format.ts";
import { type AgentRecord, totalTokens, type Usage } from "./types.ts";

export type ColumnId =
  | "tokens"
  | "input"
  | "output"
  | "cacheRead"
  | "cacheWrite"
  | "cost"
  | "time"
  | "tools"
  | "errors";

export interface Column {
  readonly id: ColumnId;
  readonly label: string;
  /** What the column counts, for its tooltip. */
  readonly text: string;
  own(record: AgentRecord, now: number): number | null;
  /** Of the subtree. */
  total(record: AgentRecord, sums: Sums | undefined, now: number): number | null;
  format(value: number | null): string;
  exact(value: number): string;
}

const tokens = (id: ColumnId, label: string, text: string, of: (usage: Usage) => number): Column => ({
  id,
  label,
  text,
  own: (record) => of(record.usage.own),
  total: (record) => of(record.usage.subtree),
  format: count,
  exact,
});

/** The duration of a running agent grows with the clock, not only with its records. */
export function ownTime(record: AgentRecord, now: number): number | null {
  return record.status === "running" && record.startedAt !== null
    ? Math.max(0, now - Date.parse(record.startedAt))
    : record.durationMs;
}

export const COLUMNS: readonly Column[] = [
  tokens("tokens", "Tokens", "Input, output, cache reads and cache writes", totalTokens),
  tokens("input", "Input", "Input tokens without cache", (u) => u.inputTokens),
  tokens(
    "output",
    "Output",
    "Output tokens, including reasoning if the product counts it as output",
    (u) => u.outputTokens,
  ),
  tokens("cacheRead", "C. read", "Tokens read from the cache", (u) => u.cacheReadTokens),
  tokens("cacheWrite", "C. write", "Tokens written to the cache", (u) => u.cacheWriteTokens),
  {
    id: "cost",
    label: "Cost",
    text: "US dollars; a dash if a model has no known price",
    own: (record) => record.usage.own.costUsd,
    total: (record) => record.usage.subtree.costUsd,
    format: money,
    exact: exactMoney,
  },
  {
    id: "time",
    label: "Time",
    text: "From the first record to the last, of the agent or of its subtree",
    own: ownTime,
    total: (_record, sums, now) =>
      sums?.from == null
        ? null
        : Math.max(0, ((sums.byStatus.running ?? 0) > 0 ? now : (sums.to ?? sums.from)) - sums.from),
    format: duration,
    exact: exactMs,
  },
  {
    id: "tools",
    label: "Tools",
    text: "Tool calls",
    own: (record) => record.counts.toolCalls,
    total: (_record, sums) => sums?.toolCalls ?? null,
    format: count,
    exact,
  },
  {
    id: "errors",
    label: "Errors",
    text: "Tool calls and agents that failed",
    own: (record) => record.counts.toolErrors + (record.status === "errored" ? 1 : 0),
    total: (_record, sums) => (sums === undefined ? null : sums.toolErrors + (sums.byStatus.errored ?? 0)),
    format: count,
    exact,
  },
];

export const columnOf = (id: string): Column | undefined => COLUMNS.find((column) => column.id === id);
