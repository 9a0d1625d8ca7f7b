import type { AgentKey } from "../facts/ids.ts";
import { addUsage, NO_USAGE, type Usage } from "../facts/usage.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../link/forest.ts";
import type { Status } from "../link/status.ts";
import type { AgentRecord, AgentTree } from "./agent.ts";
import type { Price } from "./record.ts";
import { type Spending, spendingWithInternal } from "./spending.ts";

/**
 * The usage of one agent on one day with one model. The agent is counted in its first row only, so that rows can be
 * summed.
 */
export interface SpentRow {
  readonly day: string | null;
  readonly provider: string;
  readonly model: string | null;
  readonly type: string | null;
  readonly project: string | null;
  readonly template: string | null;
  readonly status: Status;
  /** URI of its thread. */
  readonly thread: string;
  readonly agents: number;
  readonly durationMs: number;
  readonly usage: Usage;
}

/** The type name of threads. */
export const MAIN = "(main)";

export const GROUPS = ["day", "model", "type", "project", "template", "status", "provider"] as const;
export type Group = (typeof GROUPS)[number];

export interface StatsPart {
  readonly agents: number;
  readonly durationMs: number;
  readonly usage: Usage;
  /** The known part of the cost: `usage.costUsd` is null if one price is missing. */
  readonly knownCostUsd: number;
}

/** Durations of single agents, in milliseconds. */
export interface Durations {
  readonly least: number;
  readonly quarter: number;
  readonly median: number;
  readonly threeQuarters: number;
  readonly most: number;
}

export interface StatsLine extends StatsPart {
  readonly key: string | null;
  readonly byStatus: Partial<Record<Status, number>>;
  /** Usage of agents that ended with an error. */
  readonly failed: StatsPart;
  /** Usage of sub-agents. */
  readonly delegated: StatsPart;
  /** Null if no agent is counted here. */
  readonly durations: Durations | null;
  readonly threads: number;
}

/** The rows of a whole tree. `record` is its public record with the statuses. */
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
    return record === undefined ? [] : spentBy(agent, record, tree.uri, price);
  });
}

export function spentBy(agent: LinkedAgent, record: AgentRecord, thread: string, price: Price): SpentRow[] {
  return rowsOf(record, thread, spendingWithInternal(agent, price, record.provider));
}

function rowsOf(record: AgentRecord, thread: string, { parts }: Spending): SpentRow[] {
  const began = record.startedAt?.slice(0, 10) ?? null;
  const base = {
    provider: record.provider,
    type: record.parent === null ? MAIN : record.type,
    project: record.project,
    template: record.prompt === null ? null : templateOf(record.prompt),
    status: record.status,
    thread,
  };
  // A call without a time counts for the day on which the agent began.
  const groups = Map.groupBy(parts.values(), ({ day, model }) => `${day ?? began} ${model}`);
  const [first, ...more] = [...groups.values()].map((same) => ({
    ...base,
    day: same[0]?.day ?? began,
    model: same[0]?.model || null,
    usage: same.map(({ usage }) => usage).reduce(addUsage),
    agents: 0,
    durationMs: 0,
  }));
  const own = {
    ...base,
    day: began,
    model: null,
    usage: NO_USAGE,
    ...first,
    agents: 1,
    durationMs: record.durationMs ?? 0,
  };
  return [own, ...more];
}

const TEMPLATE = 80;

/** The template of a prompt: prompts that differ only in names, paths and numbers have the same. */
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
