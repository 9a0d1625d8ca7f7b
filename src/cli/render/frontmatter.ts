import type { ThreadEntry } from "../../app/query/entries.ts";
import type { AgentRecord, AgentTree } from "../../core/views/agent.ts";
import { walk } from "./tree.ts";
import { type YamlValue, yamlOf } from "./yaml.ts";

export type Head = Readonly<Record<string, YamlValue>>;

/** The frontmatter of a thread or agent. Keys and their order are part of the contract. */
export function headOf(tree: AgentTree, { as, subagents, entries }: HeadOptions): Head {
  const common = commonOf(tree);
  const status = { status: tree.status, status_source: tree.statusSource };
  if (as === "subagent") return { ...common, mode: as, agent_id: tree.agentId, parent: tree.parent, ...status };
  return {
    ...common,
    // A child thread read as a thread has its own id.
    session_id: tree.agentId ?? tree.sessionId,
    mode: as,
    ...status,
    ...(entries === null ? {} : { entries: entries.map(entryOf) }),
    ...(subagents ? { subagents: [...walk(tree)].slice(1).map(subagent) } : {}),
  };
}

interface HeadOptions {
  readonly as: "thread" | "subagent";
  readonly subagents: boolean;
  readonly entries: readonly ThreadEntry[] | null;
}

const commonOf = (tree: AgentTree) => ({
  uri: tree.uri,
  thread_source: sourceOf(tree),
  provider: tree.provider,
  session_id: tree.sessionId,
});

/** The frontmatter of one entry of a thread. */
export const entryHead = (tree: AgentTree, entry: ThreadEntry): Head => ({
  ...commonOf(tree),
  mode: "entry",
  ...entryOf(entry),
});

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

export const frontmatter = (head: Head): string => `---\n${yamlOf(head)}---`;
