import type { AgentRecord } from "../views/agent.ts";
import type { BudgetUse } from "../views/budget.ts";

/**
 * What a token of a team server allows. `ship`: to append to its owner. `read`: to see what its teams share. `admin`: to
 * see everything, and the state of the server.
 */
export const SCOPES = ["ship", "read", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** A thread with running agents. */
export interface RunningThread {
  readonly owner: string;
  /** The machine that sent it, and when that machine last sent something. */
  readonly machine: string | null;
  readonly shippedAt: string | null;
  /** Running agents of its tree. */
  readonly running: number;
  /** Its top-level agent; `usage.subtree` is the usage so far. */
  readonly record: AgentRecord;
}

export const COST_GROUPS = ["owner", "project", "model", "type", "day"] as const;
export type CostGroup = (typeof COST_GROUPS)[number];

/** The usage of one person, project, model, agent type or day. */
export interface CostLine {
  readonly key: string | null;
  /** The known part of the cost. */
  readonly costUsd: number;
  /** Model calls without a known price. */
  readonly unpricedCalls: number;
  readonly tokens: number;
  readonly calls: number;
  readonly threads: number;
}

/** A thread with agents that failed or were cut off, or with spawns that were refused. */
export interface FailedThread {
  readonly owner: string;
  readonly machine: string | null;
  /** The last activity of one of the agents. */
  readonly at: string | null;
  readonly errored: number;
  readonly shutdown: number;
  /** Spawn calls that were refused, for example by a limit. */
  readonly refused: number;
  /** The agents that failed, were cut off, or made the refused calls; the latest first, at most 20. */
  readonly agents: readonly AgentRecord[];
  /** Its top-level agent; null if it has not arrived yet. */
  readonly record: AgentRecord | null;
}

export interface Person {
  readonly owner: string;
  /** Teams that their threads are shared with, among those that the viewer may read. */
  readonly teams: readonly string[];
  /** The one that sent something last first. */
  readonly machines: readonly { readonly machine: string; readonly version: string; readonly shippedAt: string }[];
  /** Spent in this month (UTC). */
  readonly monthUsd: number;
  readonly budget: BudgetUse | null;
}
