import type { AgentTree } from "../core/agent.ts";
import { partsOf } from "../core/ids.ts";
import { treeOf } from "../core/record.ts";
import type { Machine } from "./machine.ts";
import { listPrice } from "./prices.ts";

export interface ThreadFilter {
  readonly provider?: string;
  /** This folder and everything below it. */
  readonly cwd?: string;
  /** Epoch milliseconds of the oldest activity to show. */
  readonly since?: number;
  readonly running?: boolean;
  readonly limit?: number;
}

/** Top-level threads, newest activity first. Only those that are shown are summed up. */
export function* threads(machine: Machine, filter: ThreadFilter): Generator<AgentTree> {
  let left = filter.limit ?? Number.POSITIVE_INFINITY;
  for (const root of machine.forest.roots) {
    if (left <= 0) return;
    const agent = machine.forest.agents.get(root);
    if (agent === undefined) continue;
    if (filter.provider !== undefined && partsOf(root).provider !== filter.provider) continue;
    if (filter.cwd !== undefined && !isWithin(agent.cwd, filter.cwd)) continue;
    if (filter.since !== undefined && (agent.lastActivity ?? 0) < filter.since) continue;
    if (filter.running === true && agent.verdict.status !== "running") continue;
    left -= 1;
    yield treeOf(machine.forest, root, listPrice);
  }
}

function isWithin(cwd: string | null, folder: string): boolean {
  const base = folder.replace(/\/+$/, "");
  return cwd !== null && (cwd === base || cwd.startsWith(`${base}/`));
}
