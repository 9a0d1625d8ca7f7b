/** What `retinue explain` prints must agree with the tree of the same agent. */
import { totalTokens } from "../../src/core/facts/usage.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { Explanation } from "../../src/core/views/explain.ts";

/** The contradictions between an explanation and its tree; empty if there are none. */
export function contradictions({ findings, cost, time }: Explanation, tree: AgentTree): string[] {
  const all = [tree];
  for (const one of all) all.push(...one.children);
  const named = (kind: string) => findings.filter((one) => one.kind === kind).flatMap(({ agents }) => agents);
  const ended = (status: string) => all.filter((one) => one.status === status).map(({ uri }) => uri);
  const inBranches = cost.branches.reduce((sum, { usage }) => sum + totalTokens(usage), 0);
  const onPath = time.path.reduce((sum, { ms }) => sum + ms, 0);
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ["total", cost.total, tree.usage.subtree],
    ["tokens of all branches", inBranches, totalTokens(tree.usage.subtree)],
    ["critical path", onPath, time.criticalMs ?? 0],
    ["failed agents", named("failed").sort(), ended("errored").sort()],
    ["interrupted agents", named("interrupted").sort(), ended("shutdown").sort()],
    ["findings without evidence", findings.filter(({ evidence }) => evidence.length === 0).length, 0],
  ];
  return pairs
    .map(([what, shown, is]) => [what, JSON.stringify(shown), JSON.stringify(is)] as const)
    .filter(([, shown, is]) => shown !== is)
    .map(([what, shown, is]) => `${what}: ${shown} instead of ${is}`);
}
