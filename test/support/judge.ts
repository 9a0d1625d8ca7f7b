/**
 * Compares a tree (`retinue tree <uri> --json`) with the truth, field by field. Every agent must be shown once, below
 * the right parent, with the right calls, tokens and status, and no other agent may be shown. Only alternatives that a
 * truth lists under `accept` are allowed.
 */

export const USAGE_FIELDS = [
  "calls",
  "inputTokens",
  "outputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "cacheWrite1hTokens",
] as const;
export type UsageField = (typeof USAGE_FIELDS)[number];
export type Usage = Record<UsageField, number>;
/** `null` or absent: unknown, so not judged. */
export type KnownUsage = { [field in UsageField]?: number | null };

/** Fields with more than one correct value: the list of values, or "any". */
export interface Accept {
  agentId?: unknown;
  parentAgentId?: unknown;
  status?: unknown;
  /** Complete alternatives to the usage of the truth. */
  usage?: "any" | KnownUsage[];
}

export interface AgentTruth extends KnownUsage {
  /** `null` for the thread itself. */
  agentId: string | null;
  parentAgentId: string | null;
  status: string;
  statusWhy?: string;
  prompt?: string | null;
  toolCallId?: string | null;
  /** false: the product gives no id, so the agent is recognised by its tool call or its prompt. */
  agentIdNative?: boolean;
  /** The id in the request header, if the files use another one. */
  wireAgentId?: string;
  accept?: Accept;
}

/** An agent that may be shown or left out. */
export interface OptionalTruth {
  agentId?: string | null;
  toolCallId?: string | null;
  prompt?: string | null;
}

export interface ThreadTruth {
  root: string;
  agents: AgentTruth[];
  optionalAgents?: OptionalTruth[];
  refusedSpawns?: OptionalTruth[];
}

/** The part of `retinue/agent@1` that is judged. */
export interface TreeNode {
  agentId: string | null;
  status: string;
  prompt?: string | null;
  link?: { toolCallId?: string | null } | null;
  usage?: { own?: KnownUsage | null } | null;
  children?: TreeNode[];
}

interface Place {
  node: TreeNode;
  parent: TreeNode | null;
}

/** Differences between a thread's truth and its tree, as sentences; empty if they agree. */
export function differences(thread: ThreadTruth, tree: TreeNode): string[] {
  const [root, ...below] = walk(tree);
  if (!root) return ["no tree"];
  const unclaimed = new Set(below);
  const agents = thread.agents.filter((agent) => agent.agentId !== null);
  const places = placeAgents(agents, unclaimed);

  const found: string[] = [];
  const rootTruth = thread.agents.find((agent) => agent.agentId === null);
  if (rootTruth) found.push(...wrongNumbers(rootTruth, root.node, "root"));
  for (const agent of agents) {
    const place = places.get(agent);
    if (!place) found.push(`${agent.agentId}: missing`);
    else
      found.push(
        ...wrongParent(agent, place, root.node, agents, places),
        ...wrongNumbers(agent, place.node, `${agent.agentId}`),
      );
  }
  for (const optional of [...(thread.optionalAgents ?? []), ...(thread.refusedSpawns ?? [])])
    claimOptional(optional, unclaimed);
  if (unclaimed.size) found.push(`${unclaimed.size} too many: ${[...unclaimed].map((place) => place.node.agentId)}`);
  return found;
}

function walk(node: TreeNode, parent: TreeNode | null = null): Place[] {
  return [{ node, parent }, ...(node.children ?? []).flatMap((child) => walk(child, node))];
}

/** Agents are matched by id first; by tool call and prompt only if the product does not give an id. */
function placeAgents(agents: AgentTruth[], unclaimed: Set<Place>): Map<AgentTruth, Place> {
  const places = new Map<AgentTruth, Place>();
  const claim = (agent: AgentTruth, fits: (node: TreeNode) => boolean): void => {
    if (places.has(agent)) return;
    const place = [...unclaimed].find(({ node }) => fits(node));
    if (!place) return;
    places.set(agent, place);
    unclaimed.delete(place);
  };
  const hasNoIdOfItsOwn = agents.filter((agent) => agent.agentIdNative === false || agent.accept?.agentId);
  for (const agent of agents) {
    if (agent.agentIdNative === false) continue;
    claim(
      agent,
      (node) =>
        node.agentId === agent.agentId || (agent.wireAgentId !== undefined && node.agentId === agent.wireAgentId),
    );
  }
  for (const agent of hasNoIdOfItsOwn)
    if (agent.toolCallId) claim(agent, (node) => node.link?.toolCallId === agent.toolCallId);
  for (const agent of hasNoIdOfItsOwn) claim(agent, (node) => showsPrompt(node, agent.prompt));
  return places;
}

function wrongParent(
  agent: AgentTruth,
  place: Place,
  root: TreeNode,
  agents: AgentTruth[],
  places: Map<AgentTruth, Place>,
): string[] {
  const parentTruth = agents.find((other) => other.agentId === agent.parentAgentId);
  const right = agent.parentAgentId === null ? root : parentTruth && places.get(parentTruth)?.node;
  if (place.parent === right) return [];
  if (accepts(agent.accept?.parentAgentId, place.parent?.agentId ?? null, agent.parentAgentId)) return [];
  return [`${agent.agentId}: parent ${place.parent?.agentId ?? "root"}, should be ${agent.parentAgentId ?? "root"}`];
}

function wrongNumbers(truth: AgentTruth, node: TreeNode, name: string): string[] {
  const found: string[] = [];
  const own = node.usage?.own;
  if (!usageFits(truth, own)) found.push(`${name}: usage ${list(own)}, should be ${list(truth)}`);
  if (!accepts(truth.accept?.status, node.status, truth.status))
    found.push(`${name}: ${node.status}, should be ${truth.status} (${truth.statusWhy})`);
  return found;
}

function usageFits(truth: AgentTruth, own: KnownUsage | null | undefined): boolean {
  const fits = (want: KnownUsage): boolean =>
    USAGE_FIELDS.every((field) => want[field] == null || own?.[field] === want[field]);
  const also = truth.accept?.usage;
  if (also === "any") return true;
  if (truth.calls == null && also) return also.some(fits);
  return fits(truth) || (also ?? []).some((alternative) => fits({ ...truth, ...alternative }));
}

function accepts(also: unknown, got: unknown, want: unknown): boolean {
  return (
    also === "any" ||
    (Array.isArray(also) && also.some((value) => JSON.stringify(value) === JSON.stringify(got))) ||
    got === want
  );
}

/** Optional agents must still be recognisable. */
function claimOptional(optional: OptionalTruth, unclaimed: Set<Place>): void {
  const place = [...unclaimed].find(
    ({ node }) =>
      (optional.agentId && node.agentId === optional.agentId) ||
      (optional.toolCallId && node.link?.toolCallId === optional.toolCallId) ||
      showsPrompt(node, optional.prompt),
  );
  if (place) unclaimed.delete(place);
}

function showsPrompt(node: TreeNode, prompt: string | null | undefined): boolean {
  return Boolean(prompt && node.prompt?.includes(prompt.slice(0, 200)));
}

function list(usage: KnownUsage | null | undefined): string {
  return USAGE_FIELDS.map((field) => usage?.[field]).join(",");
}
