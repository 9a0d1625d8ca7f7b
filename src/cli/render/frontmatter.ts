import type { AgentRecord, AgentTree } from "../../core/agent.ts";
import { walk } from "./tree.ts";

/** The head of a thread or an agent, as other tools read it. Keys and their order are part of the contract. */
export function headOf(tree: AgentTree, options: { readonly subagents: boolean }): Record<string, unknown> {
  const common = { uri: tree.uri, thread_source: sourceOf(tree), provider: tree.provider, session_id: tree.sessionId };
  if (tree.agentId !== null)
    return { ...common, mode: "subagent", agent_id: tree.agentId, parent: tree.parent, status: tree.status, status_source: tree.statusSource };
  const below = [...walk(tree)].slice(1);
  return { ...common, mode: "thread", ...(options.subagents ? { subagents: below.map(subagent) } : {}) };
}

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
