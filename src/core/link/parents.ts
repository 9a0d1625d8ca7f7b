import { type AgentKey, type CallKey, partsOf, threadOf } from "../facts/ids.ts";
import type { AgentKind, Observation } from "../facts/observation.ts";
import type { Problem } from "../facts/problem.ts";
import { CallBook, type SpawnCall } from "./call-book.ts";
import { type AcyclicParents, cutCycles } from "./cycles.ts";
import { Evidence, type EvidenceOf, inItsThread, type ParentEvidence, UNASSIGNED_RULE } from "./evidence.ts";
import { decideStarts, type Starts } from "./external.ts";
import type { Fold } from "./fold.ts";
import type { StartedThread } from "./shell-runs.ts";
import { matchCalls } from "./spawn-matching.ts";
import { type UnseenAgents, unseenAgents } from "./unseen-agents.ts";

export interface ManualLink {
  readonly child: AgentKey;
  readonly parent: AgentKey;
  readonly at: number;
  /** The spawn call of the child; null if only the parent is known. */
  readonly call: CallKey | null;
  /** The proxied request that was named as the parent; null if the parent was named by its URI. */
  readonly request: string | null;
}

export interface Parentage
  extends Pick<UnseenAgents, "refused" | "warnings">,
    Pick<Starts, "undecided">,
    Omit<AcyclicParents, "placed"> {
  /** All agents that are mentioned, and those created for spawn calls without an agent. */
  readonly agents: ReadonlySet<AgentKey>;
  /** Strongest first; empty for a root. */
  readonly evidence: ReadonlyMap<AgentKey, readonly ParentEvidence[]>;
  readonly spawnCall: (agent: AgentKey) => SpawnCall | undefined;
  /** Agents created for spawn calls without an agent, with their kinds, if the product states them. */
  readonly unseen: ReadonlyMap<AgentKey, AgentKind | undefined>;
  readonly agentsOfCall: (call: CallKey) => readonly AgentKey[];
  /** Whether a shell command of its parent started it. */
  readonly isExternal: (agent: AgentKey) => boolean;
}

/**
 * Finds every agent's parent. `facts` are originals only; `mentioned` are all agents that are mentioned; `started` are
 * threads that a shell command may have started.
 */
export function decideParents(
  facts: readonly Observation[],
  mentioned: Iterable<AgentKey>,
  manual: readonly ManualLink[],
  folded: ReadonlyMap<AgentKey, Fold> = new Map(),
  started: readonly StartedThread[] = [],
): Parentage {
  const agents = new Set(mentioned);
  const calls = new CallBook(facts, folded);
  const evidence = new Evidence();
  evidence.add(statedParents(facts, calls));
  evidence.add(unnamedParents([...agents].filter((agent) => evidence.of(agent).length === 0)));
  // Before calls are matched: a manually assigned call and its child take no part in matching.
  const isKnown = ({ child, parent }: ManualLink) => agents.has(child) && agents.has(parent);
  const early = new Set(manual.filter(isKnown));
  evidence.add([...early].map((link) => manualEvidence(link, calls)));
  evidence.add(matchCalls(facts, calls, evidence));
  const matched = evidence.calls();
  const isFree = (thread: AgentKey) => evidence.of(thread).every(({ source }) => source === "manual");
  const starts = decideStarts({ facts, agents: started, isFree, resolve: calls.resolve });
  evidence.add(starts.evidence.map(({ child, ...piece }) => [child, { ...piece, external: true }]));
  // A process may name an agent that nothing else mentions.
  const starters = new Set(starts.evidence.map(({ parent }) => parent)).difference(agents);
  for (const starter of starters) agents.add(starter).add(threadOf(starter));
  evidence.add(unnamedParents([...starters]));
  const unseen = unseenAgents(facts, calls, matched);
  for (const { agent } of unseen.agents) agents.add(agent);
  evidence.add(unseen.agents.map(({ agent, evidence: piece }) => [agent, piece]));
  // Agents of open spawn calls exist only now.
  const late = manual.filter((link) => !early.has(link));
  evidence.add(late.filter(isKnown).map((link) => manualEvidence(link, calls)));
  const unknown = late.filter((link) => !isKnown(link));
  evidence.sort();
  for (const { parent } of [...evidence.byChild.values()].flat()) agents.add(parent);
  const conflicting = [...conflicts(evidence.byChild)];
  const { parents, placed, problems: cycles } = cutCycles(agents, evidence);
  evidence.add(placed);
  return {
    agents,
    evidence: evidence.byChild,
    parents,
    unseen: new Map(unseen.agents.map(({ agent, kind }) => [agent, kind])),
    refused: unseen.refused,
    warnings: unseen.warnings,
    isExternal: (agent) => evidence.of(agent).find((e) => e.parent === parents.get(agent))?.external === true,
    undecided: starts.undecided,
    problems: [...unknown.map(unknownLink), ...conflicting, ...cycles],
    ...callsOfAgents(agents, evidence, calls),
  };
}

/** Parents that a record names, directly or by naming the spawn call. */
function* statedParents(facts: readonly Observation[], calls: CallBook): Generator<EvidenceOf> {
  const mains = new Set(facts.flatMap((o) => (o.type === "agent-described" && o.kind === "main" ? [o.agent] : [])));
  for (const o of facts) {
    // "Unassigned" is ignored for an agent that is known to be a root.
    if (o.type === "parent-named" && !(o.rule === UNASSIGNED_RULE && mains.has(o.child)))
      yield [o.child, { ...o, call: null, from: o.id }];
    if (o.type !== "call-spawned") continue;
    const parent = calls.callerOf(o.call);
    if (parent !== undefined) yield [o.child, { ...o, parent, call: calls.resolve(o.call), confidence: 1, from: o.id }];
  }
}

/** Of these agents, sub-agents are placed in their threads. */
const unnamedParents = (agents: readonly AgentKey[]): EvidenceOf[] =>
  agents
    .filter((agent) => partsOf(agent).agent !== null)
    .map((agent) => inItsThread(agent, "nothing names its parent"));

function manualEvidence({ child, parent, call, request, at }: ManualLink, calls: CallBook): EvidenceOf {
  const says = `manually linked on ${new Date(at).toISOString()}${request === null ? "" : ` to request ${request}`}`;
  const by = { rule: "manual", source: "manual", confidence: 1, says, at, from: null } as const;
  const resolved = call === null ? null : calls.resolve(call);
  return [child, { parent, call: resolved, ...by, ...(request === null ? {} : { request }) }];
}

const unknownLink = ({ child, parent }: ManualLink): Problem => ({
  code: "manual-link-unknown",
  where: child,
  detail: `manually linked to ${parent}`,
});

function* conflicts(evidence: ReadonlyMap<AgentKey, readonly ParentEvidence[]>): Generator<Problem> {
  for (const [child, list] of evidence) {
    const [best] = list;
    const other = list.find(
      (e) => best && e.parent !== best.parent && e.confidence === best.confidence && e.source === best.source,
    );
    if (best && other)
      yield {
        code: "parent-conflict",
        where: child,
        detail: `${best.rule} names ${best.parent}, ${other.rule} names ${other.parent}`,
      };
  }
}

/** From an agent to its spawn call, and from a call to its agents. */
function callsOfAgents(
  agents: ReadonlySet<AgentKey>,
  evidence: Evidence,
  calls: CallBook,
): Pick<Parentage, "spawnCall" | "agentsOfCall"> {
  // The result of a shell command says nothing about the state of the agents that it started.
  const callOf = (agent: AgentKey) =>
    evidence.of(agent).find((e) => e.call !== null && e.external !== true)?.call ?? undefined;
  const byCall = Map.groupBy(agents, callOf);
  return {
    spawnCall: (agent) => {
      const call = callOf(agent);
      return call === undefined ? undefined : calls.spawn(call);
    },
    agentsOfCall: (call) => byCall.get(calls.resolve(call)) ?? [],
  };
}
