import type { ThreadEntry } from "../../app/entries.ts";
import type { AgentRecord, AgentTree } from "../../core/agent.ts";
import { walk } from "./tree.ts";

/** The head of a thread or an agent, as other tools read it. Keys and their order are part of the contract. */
export function headOf(tree: AgentTree, options: { readonly subagents: boolean; readonly entries: readonly ThreadEntry[] | null }): Record<string, unknown> {
  const common = commonOf(tree);
  if (tree.agentId !== null)
    return { ...common, mode: "subagent", agent_id: tree.agentId, parent: tree.parent, status: tree.status, status_source: tree.statusSource };
  const below = [...walk(tree)].slice(1);
  const entries = options.entries === null ? {} : { entries: options.entries.map(entryOf) };
  return { ...common, mode: "thread", ...entries, ...(options.subagents ? { subagents: below.map(subagent) } : {}) };
}

const commonOf = (tree: AgentTree) => ({ uri: tree.uri, thread_source: sourceOf(tree), provider: tree.provider, session_id: tree.sessionId });

/** The head of one entry of a thread. */
export const entryHead = (tree: AgentTree, entry: ThreadEntry): Record<string, unknown> => ({ ...commonOf(tree), mode: "entry", ...entryOf(entry) });

const entryOf = ({ id, uri, type, parent, at, preview, isLeaf }: ThreadEntry) => ({
  entry_id: id,
  uri,
  entry_type: type,
  parent_id: parent,
  timestamp: at === null ? null : new Date(at).toISOString(),
  preview,
  is_leaf: isLeaf,
});

const subagent = (agent: AgentRecord) => ({
  agent_id: agent.agentId,
  uri: agent.uri,
  parent: agent.parent,
  type: agent.type,
  status: agent.status,
  status_source: agent.statusSource,
  last_update: agent.lastActivityAt,
  thread_source: sourceOf(agent),
});

const sourceOf = (agent: AgentRecord) => agent.records[0]?.path ?? null;

export async function frontmatter(head: Record<string, unknown>): Promise<string> {
  // Loaded on demand: no other output is YAML.
  const { stringify } = await import("yaml");
  return `---\n${stringify(head, { lineWidth: 0 })}---`;
}
