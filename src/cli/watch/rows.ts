import { totalTokens } from "../../core/facts/usage.ts";
import type { Status } from "../../core/link/status.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { branchBelow } from "../render/tree.ts";

/** Sort orders of the agents below one parent. */
export const SORTS = ["running first", "newest first", "most tokens", "most cost"] as const;
export type Sort = (typeof SORTS)[number];

export interface WatchRow {
  readonly agent: AgentTree;
  /** The tree lines before the name. */
  readonly branch: string;
  /** Number of hidden agents below. */
  readonly hidden: number;
}

/** Running first, then failed, then completed. */
const STATUS_ORDER: Readonly<Record<Status, number>> = {
  running: 0,
  pendingInit: 1,
  errored: 2,
  shutdown: 3,
  notFound: 4,
  completed: 5,
};

const newest = (a: AgentTree, b: AgentTree) => (b.startedAt ?? "").localeCompare(a.startedAt ?? "");
const ORDERS: Readonly<Record<Sort, (a: AgentTree, b: AgentTree) => number>> = {
  "running first": (a, b) => STATUS_ORDER[statusBelow(a)] - STATUS_ORDER[statusBelow(b)] || newest(a, b),
  "newest first": newest,
  "most tokens": (a, b) => totalTokens(b.usage.subtree) - totalTokens(a.usage.subtree),
  "most cost": (a, b) => (b.usage.subtree.costUsd ?? 0) - (a.usage.subtree.costUsd ?? 0),
};

/** An agent with running children counts as running. */
function statusBelow({ status, counts }: AgentTree): Status {
  return (counts.byStatus.running ?? 0) > 0 ? "running" : status;
}

export const isAtWork = (tree: AgentTree) => statusBelow(tree) === "running" || tree.status === "pendingInit";

/** Threads and the agents below them, in display order. */
export function rowsOf(trees: readonly AgentTree[], sort: Sort, isFolded: (tree: AgentTree) => boolean): WatchRow[] {
  const rows: WatchRow[] = [];
  const stack = trees.toSorted(ORDERS[sort]).map((agent) => ({ agent, branch: "", indent: "" }));
  stack.reverse();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { agent, branch, indent } = next;
    const folded = agent.children.length > 0 && isFolded(agent);
    rows.push({ agent, branch, hidden: folded ? agent.counts.descendants : 0 });
    if (folded) continue;
    const children = agent.children.toSorted(ORDERS[sort]);
    const placed = children.map((child, i) => ({
      agent: child,
      ...branchBelow(indent, i === children.length - 1, child.depth),
    }));
    stack.push(...placed.reverse());
  }
  return rows;
}
