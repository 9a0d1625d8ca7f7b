import { type AgentKey, nativeCall, partsOf, placeOf } from "../facts/ids.ts";
import { addUsage, NO_USAGE, type Usage } from "../facts/usage.ts";
import { SPAWN_CALL_RULE } from "../link/evidence.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../link/forest.ts";
import type { GatheredAgent, ModelCall } from "../link/gather.ts";
import type { Undivided } from "../link/reconcile.ts";
import { namesOf } from "../link/shape.ts";
import type { Status } from "../link/status.ts";
import type { RefusedSpawn } from "../link/unseen-agents.ts";
import { MAX_NUMBER } from "../tools/json.ts";
import { folderName } from "../tools/recorded-path.ts";
import type { AgentRecord, AgentTree, LinkRecord, RefusedRecord } from "./agent.ts";
import { spendingOf, usageOfRest } from "./spending.ts";

/** US dollars for one model call; null if the model has no known price. */
export type Price = (call: ModelCall, provider: string) => number | null;

/** The public record of an agent with its subtree. */
export function treeOf(forest: Forest, root: AgentKey, price: Price): AgentTree {
  const built = new Map<AgentKey, AgentTree>();
  const keys = subtreeOf(forest, root);
  const folders = projectFolders(forest, keys);
  for (const key of keys.toReversed()) {
    const agent = agentOf(forest, key);
    const children = agent.children.map((child) => built.get(child) as AgentTree);
    const project = folderName(folders.get(key) ?? "");
    built.set(key, { ...recordOf(forest, agent, children, { project, price }), children });
  }
  return built.get(root) as AgentTree;
}

/** The record without children; its sums stay. */
export function withoutChildren({ children: _, ...record }: AgentTree): AgentRecord {
  return record;
}

/** Without the duration of a running agent, which follows from the clock. */
export const withoutRunningTime = <R extends AgentRecord>(record: R): R =>
  record.status === "running" ? { ...record, durationMs: null } : record;

function recordOf(
  forest: Forest,
  agent: LinkedAgent,
  children: readonly AgentTree[],
  { project, price }: { readonly project: string | null; readonly price: Price },
): AgentRecord {
  const { provider } = partsOf(agent.key);
  const call = agent.spawnCall;
  const startedAt = agent.firstAt ?? call?.at ?? null;
  const endedAt = endOf(agent);
  const isLive = agent.verdict.status === "running";
  const { own, internal, models, warnings } = spendingIn(agent, children.length > 0, price);
  return {
    schema: "retinue/agent@1",
    uri: agent.uri,
    provider,
    productVersion: agent.productVersion,
    sessionId: agent.sessionId,
    agentId: agent.agentId,
    parent: uriOf(forest, agent.parent),
    forkedFrom: uriOf(forest, agent.forkedFrom),
    depth: agent.depth,
    kind: kindOf(agent),
    ...namesOf(agent, call),
    cwd: agent.cwd,
    project,
    branch: agent.branch,
    model: [...models],
    tools: agent.tools ?? { allowed: null, denied: null },
    background: agent.background ?? agent.statements.some((s) => s.state === "launched"),
    ...agent.verdict,
    link: linkOf(agent),
    startedAt: iso(startedAt),
    endedAt: iso(endedAt),
    lastActivityAt: iso(agent.lastAt),
    // Clocks may be wrong: the end may be recorded before the start, and the start after the present.
    durationMs:
      startedAt === null
        ? null
        : Math.max(0, (endedAt ?? (isLive ? forest.now : agent.lastAt) ?? startedAt) - startedAt),
    usage: {
      own,
      internal,
      subtree: children.reduce(
        (sum, child) => addUsage(sum, child.usage.subtree),
        internal === null ? own : addUsage(own, internal),
      ),
      reported: agent.statements.findLast((s) => s.reported !== undefined)?.reported ?? null,
    },
    counts: countsOf(agent, children),
    refused: agent.refused.slice(-SHOWN_REFUSALS).map(refusedRecord),
    result: resultOf(agent),
    records: agent.files.map(({ path, bytes }) => ({ path, bytes })),
    warnings: [...agent.warnings, ...warnings, ...missingTranscript(agent)],
  };
}

/**
 * The folder of each agent's project. An agent that never worked, and so has no folder, belongs to the project of the
 * agent that called it.
 */
function projectFolders(forest: Forest, keys: readonly AgentKey[]): ReadonlyMap<AgentKey, string | null> {
  const folders = new Map<AgentKey, string | null>();
  const folderOf = (key: AgentKey): string | null => {
    for (let above = agentOf(forest, key); ; above = agentOf(forest, above.parent)) {
      const known = folders.get(above.key);
      if (known !== undefined) return known;
      if (above.cwd !== null || above.parent === null || above.kind === "external") return above.cwd;
    }
  };
  // Parents come first, so each is one step.
  for (const key of keys) folders.set(key, folderOf(key));
  return folders;
}

const countsOf = (agent: LinkedAgent, children: readonly AgentTree[]): AgentRecord["counts"] => ({
  messages: agent.messages,
  toolCalls: agent.toolCalls,
  toolErrors: agent.toolErrors,
  spawned: children.length,
  refused: agent.refused.length,
  descendants: children.reduce((sum, child) => sum + 1 + child.counts.descendants, 0),
  byStatus: countStatuses(children),
});

function resultOf({ verdict, answer, statements }: LinkedAgent): string | null {
  if (verdict.status !== "completed") return null;
  return answer ?? statements.findLast((s) => s.result !== null)?.result ?? null;
}

/** What the agent itself used, and what the product used on its behalf. */
function spendingIn(agent: LinkedAgent, hasChildren: boolean, price: Price) {
  const { provider } = partsOf(agent.key);
  const { usage: called, models, hasAbsurd } = spendingOf(agent.calls, price, provider);
  // If the thread has agents, their shares are unknown: the amount is in the sum only.
  const isOwn = ({ whose }: Undivided) => whose === "thread" || (whose === "all" && !hasChildren);
  const withRest = (usage: Usage, rest: readonly Undivided[]) =>
    rest.reduce((sum, one) => addUsage(sum, usageOfRest(one, price, provider)), usage);
  const isPrinted = agent.totals.some(({ printed }) => printed !== undefined);
  const others = agent.undivided.filter((one) => !isOwn(one));
  const ofProduct = usageOf([...agent.ownBehalf.flatMap((g) => [...g.calls]), ...agent.revealed], price, provider);
  const hasOfProduct = agent.ownBehalf.length > 0 || agent.revealed.length > 0;
  return {
    own: withRest(called, agent.undivided.filter(isOwn)),
    internal: hasOfProduct || others.length > 0 ? withRest(ofProduct, others) : null,
    models,
    warnings: [
      ...(hasAbsurd ? [ABSURD] : []),
      ...(isPrinted && agent.undivided.length > 0 ? [others.length > 0 ? `${FROM_TOTAL}; ${SHARED}` : FROM_TOTAL] : []),
      ...(!isPrinted && others.length > 0 ? [UNDIVIDED] : []),
    ],
  };
}

const SHOWN_REFUSALS = 100;

const refusedRecord = ({ call, at, agentType, description, says }: RefusedSpawn): RefusedRecord => ({
  toolCallId: nativeCall(call),
  at: iso(at),
  type: agentType,
  description,
  reason: says,
});

const UNDIVIDED =
  "the product reports input tokens for all agents together: they are in the thread's sum, but not in the agents' own numbers";

const FROM_TOTAL =
  "its output has only the counts with which responses began, and not every response: what is missing comes from the total that the product stated at the end";
const SHARED = "what is not stated as the thread's own is in its sum, but not in the agents' own numbers";

const ABSURD = `a record has an impossible number of tokens: ${MAX_NUMBER} is counted instead`;

const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
const uriOf = (forest: Forest, key: AgentKey | null) => (key === null ? null : (forest.agents.get(key)?.uri ?? null));

export const kindOf = ({ kind, parent }: LinkedAgent) => kind ?? (parent === null ? "main" : "subagent");

/** When it ended; null if it may continue, or if nothing is known. */
export function endOf(agent: LinkedAgent): number | null {
  const { status } = agent.verdict;
  if (status === "running" || status === "pendingInit" || status === "notFound") return null;
  const reportedAt = agent.statements.findLast((s) => s.state !== "launched" && s.state !== "revived")?.at ?? null;
  return agent.own !== null && agent.own.state !== "open" ? agent.own.at : (reportedAt ?? agent.lastAt);
}

function linkOf(agent: LinkedAgent): LinkRecord | null {
  const decided = agent.evidence.find((e) => e.parent === agent.parent) ?? agent.evidence[0];
  if (agent.parent === null || decided === undefined) return null;
  const words = (e: typeof decided) => (e.from === null ? e.says : `${e.says} [${e.rule}, ${placeOf(e.from)}]`);
  const call = decided.call ?? agent.evidence.find((e) => e.call !== null && e.parent === agent.parent)?.call ?? null;
  return {
    rule: decided.rule,
    source: decided.source,
    confidence: decided.confidence,
    toolCallId: call === null ? null : nativeCall(call),
    evidence: [words(decided), ...agent.evidence.filter((e) => e !== decided).map(words)],
  };
}

function usageOf(calls: GatheredAgent["calls"], price: Price, provider: string): Usage {
  let sum = NO_USAGE;
  for (const call of calls) sum = addUsage(sum, { calls: 1, ...call.tokens, costUsd: price(call, provider) });
  return sum;
}

function countStatuses(children: readonly AgentTree[]): Partial<Record<Status, number>> {
  const counts: Partial<Record<Status, number>> = {};
  const add = (status: Status, n: number) => {
    counts[status] = (counts[status] ?? 0) + n;
  };
  for (const child of children) {
    add(child.status, 1);
    for (const [status, n] of Object.entries(child.counts.byStatus)) add(status as Status, n);
  }
  return counts;
}

/** A refused spawn never had a transcript. */
function missingTranscript(agent: LinkedAgent): string[] {
  const refused =
    agent.evidence[0]?.rule === SPAWN_CALL_RULE &&
    (agent.verdict.status === "errored" || agent.verdict.status === "shutdown");
  return agent.files.length > 0 || agent.records > 0 || refused ? [] : ["its transcript was not found"];
}
