import { displayName } from "../../core/facts/display-name.ts";
import { type AgentKey, partsOf, threadOf } from "../../core/facts/ids.ts";
import { totalTokens } from "../../core/facts/usage.ts";
import { bounded, type TreeSeen } from "../../core/guard/ledger.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { treeOf } from "../../core/views/record.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { type LedgerOf, writeTreeSeen } from "./ledger-file.ts";
import { noteTrouble } from "./trouble.ts";

/** What decisions about spawns need of a tree. */
export function treeSeenOf(tree: AgentTree): TreeSeen {
  const idOf = new Map([...below(tree)].map((agent) => [agent.uri, agent.agentId ?? agent.sessionId]));
  return {
    costUsd: tree.usage.subtree.costUsd,
    tokens: totalTokens(tree.usage.subtree),
    agents: [...below(tree)].map((agent) =>
      bounded({
        id: agent.agentId ?? agent.sessionId,
        parent: agent.parent === null ? null : (idOf.get(agent.parent) ?? null),
        call: agent.link?.toolCallId ?? null,
        name: displayName(agent),
        type: agent.type,
        running: agent.status === "running" || agent.status === "pendingInit",
        startedAt: agent.startedAt === null ? null : Date.parse(agent.startedAt),
        costUsd: agent.usage.subtree.costUsd,
        tokens: totalTokens(agent.usage.subtree),
      }),
    ),
  };
}

/** Every agent below the thread. */
function* below(tree: AgentTree): Generator<AgentTree> {
  const stack = [...tree.children];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield next;
    stack.push(...next.children);
  }
}

/** The ledger of a thread. */
export const ledgerOfThread = (thread: AgentKey): LedgerOf => {
  const { provider, thread: id } = partsOf(threadOf(thread));
  return { provider, thread: id };
};

/** Writes what the trees of these threads show, so that hooks and wrapped runs know what was used. Never throws. */
export function feedTrees(env: Env, library: Library, threads: Iterable<AgentKey>): void {
  for (const thread of threads)
    try {
      const forest = library.forestOf([thread]);
      if (forest.agents.has(thread))
        writeTreeSeen(env, ledgerOfThread(thread), treeSeenOf(treeOf(forest, thread, library.price)));
    } catch (error) {
      noteTrouble(env, error as Error);
    }
}
