import type { AgentTree, Status } from "./agent.ts";
import type { GatheredAgent, ModelCall } from "./gather.ts";
import { type AgentKey, partsOf } from "./ids.ts";
import { agentOf, type Forest, subtreeOf } from "./link.ts";
import type { Price } from "./record.ts";
import { addUsage, NO_USAGE, totalTokens, type Usage } from "./usage.ts";

/** What one agent spent on one day with one model. The agent itself is counted in the first of its rows only, so that rows can be summed up. */
export interface SpentRow {
  readonly day: string | null;
  readonly provider: string;
  readonly model: string | null;
  readonly type: string | null;
  readonly project: string | null;
  readonly template: string | null;
  readonly status: Status;
  readonly agents: number;
  readonly durationMs: number;
  readonly usage: Usage;
}

export const GROUPS = ["day", "model", "type", "project", "template", "status", "provider"] as const;
export type Group = (typeof GROUPS)[number];

export interface StatsLine {
  readonly key: string | null;
  readonly agents: number;
  readonly byStatus: Partial<Record<Status, number>>;
  readonly durationMs: number;
  readonly usage: Usage;
  /** The part of the cost that is known: `usage.costUsd` is null as soon as one price is missing. */
  readonly knownCostUsd: number;
}

const nothing = (key: string | null): StatsLine => ({ key, agents: 0, byStatus: {}, durationMs: 0, usage: NO_USAGE, knownCostUsd: 0 });

function addRow(line: StatsLine, row: SpentRow): StatsLine {
  return {
    key: line.key,
    agents: line.agents + row.agents,
    byStatus: row.agents === 0 ? line.byStatus : { ...line.byStatus, [row.status]: (line.byStatus[row.status] ?? 0) + row.agents },
    durationMs: line.durationMs + row.durationMs,
    usage: addUsage(line.usage, row.usage),
    knownCostUsd: line.knownCostUsd + (row.usage.costUsd ?? 0),
  };
}

export function statsTotal(rows: Iterable<SpentRow>): StatsLine {
  let total = nothing(null);
  for (const row of rows) total = addRow(total, row);
  return total;
}

/** Sums rows up by one of their fields: what cost most first, days in order. */
export function statsBy(rows: Iterable<SpentRow>, by: Group): StatsLine[] {
  const lines = new Map<string | null, StatsLine>();
  for (const row of rows) lines.set(row[by], addRow(lines.get(row[by]) ?? nothing(row[by]), row));
  const byName = (a: StatsLine, b: StatsLine) => ((a.key ?? "") < (b.key ?? "") ? -1 : 1);
  const byWeight = (a: StatsLine, b: StatsLine) => b.knownCostUsd - a.knownCostUsd || totalTokens(b.usage) - totalTokens(a.usage) || byName(a, b);
  return [...lines.values()].sort(by === "day" ? byName : byWeight);
}

/** The rows of a whole tree. `record` is its public record, which knows how each agent ended. */
export function spentRows(forest: Forest, root: AgentKey, tree: AgentTree, price: Price): SpentRow[] {
  const records = new Map<string, AgentTree>();
  const stack = [tree];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    records.set(next.uri, next);
    stack.push(...next.children);
  }
  return subtreeOf(forest, root).flatMap((key) => {
    const agent = agentOf(forest, key);
    const record = records.get(agent.uri);
    return record === undefined
      ? []
      : rowsOf(record, [...agent.calls, ...agent.ownBehalf.flatMap((g: GatheredAgent) => g.calls)], partsOf(key).provider, price);
  });
}

function rowsOf(record: AgentTree, calls: readonly ModelCall[], provider: string, price: Price): SpentRow[] {
  const began = record.startedAt?.slice(0, 10) ?? null;
  const dayOf = (call: ModelCall) => (call.at === null ? began : new Date(call.at).toISOString().slice(0, 10));
  const groups = [...Map.groupBy(calls, (call) => `${dayOf(call)} ${call.model}`).values()];
  const base = {
    provider,
    type: record.parent === null ? "(main)" : record.type,
    project: record.project,
    template: record.prompt === null ? null : templateOf(record.prompt),
    status: record.status,
  };
  const [first, ...more] = groups.map((list) => ({
    ...base,
    day: list[0] === undefined ? began : dayOf(list[0]),
    model: list[0]?.model ?? null,
    agents: 0,
    durationMs: 0,
    usage: list.reduce((sum, call) => addUsage(sum, { calls: 1, ...call.tokens, costUsd: price(call, provider) }), NO_USAGE),
  }));
  const own = { ...base, day: began, model: null, usage: NO_USAGE, ...first, agents: 1, durationMs: record.durationMs ?? 0 };
  return [own, ...more];
}

const TEMPLATE = 80;

/** The shape of a prompt: tasks that differ only in names, paths and numbers are the same kind of work. */
export function templateOf(prompt: string): string {
  return prompt
    .replace(/https?:\/\/\S+/g, "<url>")
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "<id>")
    .replace(/(["'`])(?:(?!\1)[^\n]){1,200}\1/g, "<text>")
    .replace(/(?:\.{0,2}\/)?(?:[\w@.-]+\/)+[\w@.-]*|\b[\w-]+\.[a-z]{1,5}\b/gi, "<path>")
    .replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b/gi, "<id>")
    .replace(/\d+/g, "<n>")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, TEMPLATE);
}
