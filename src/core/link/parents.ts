import {
  type AgentKey,
  agentKey,
  type CallKey,
  type MatchKey,
  nativeCall,
  type ObservationId,
  partsOf,
  threadOf,
} from "../facts/ids.ts";
import {
  type AgentKind,
  byTime,
  type Observation,
  type ObservationOf,
  SOURCES,
  type Source,
} from "../facts/observation.ts";
import type { Problem } from "../facts/problem.ts";
import { plural } from "../tools/format.ts";
import { CallBook, type SpawnCall } from "./call-book.ts";
import type { Fold } from "./fold.ts";

/** A piece of evidence that `parent` spawned the agent. */
export interface ParentEvidence {
  readonly parent: AgentKey;
  readonly call: CallKey | null;
  readonly rule: string;
  readonly source: Source;
  readonly confidence: number;
  readonly says: string;
  readonly at: number | null;
  /** The id of the observation, which breaks ties independently of the order of arrival; null if no record states it. */
  readonly from: ObservationId | null;
  /** The proxied request that a manual link names as the parent. */
  readonly request?: string;
}

export interface ManualLink {
  readonly child: AgentKey;
  readonly parent: AgentKey;
  readonly at: number;
  /** The spawn call of the child; null if only the parent is known. */
  readonly call: CallKey | null;
  /** The proxied request that was named as the parent; null if the parent was named by its URI. */
  readonly request: string | null;
}

/** The rule for an agent that is only known from its spawn call. */
export const UNANSWERED_RULE = "spawn-call";

/** The rule for an agent without a known thread. */
export const UNASSIGNED_RULE = "unassigned";

export interface Parentage {
  /** All agents that are mentioned, and those created for spawn calls without an agent. */
  readonly agents: ReadonlySet<AgentKey>;
  /** Strongest first; empty for a root. */
  readonly evidence: ReadonlyMap<AgentKey, readonly ParentEvidence[]>;
  /** Every agent's parent after cycles are cut. */
  readonly parents: ReadonlyMap<AgentKey, AgentKey | null>;
  readonly spawnCall: (agent: AgentKey) => SpawnCall | undefined;
  /** Agents created for spawn calls without an agent. */
  readonly unanswered: ReadonlySet<AgentKey>;
  /** Their kinds, if the product states them. */
  readonly unseenKinds: ReadonlyMap<AgentKey, AgentKind>;
  /** Warnings for agents whose sub-agents are only known by number. */
  readonly lost: ReadonlyMap<AgentKey, readonly string[]>;
  readonly agentsOfCall: (call: CallKey) => readonly AgentKey[];
  readonly problems: readonly Problem[];
}

/**
 * Manual links first, then by confidence, then by the order of SOURCES; a named parent before one found through a call;
 * then the earlier statement; then its place.
 */
function stronger(a: ParentEvidence, b: ParentEvidence): number {
  return (
    Number(b.source === "manual") - Number(a.source === "manual") ||
    b.confidence - a.confidence ||
    SOURCES.indexOf(a.source) - SOURCES.indexOf(b.source) ||
    Number(a.call !== null) - Number(b.call !== null) ||
    (a.at ?? Number.POSITIVE_INFINITY) - (b.at ?? Number.POSITIVE_INFINITY) ||
    ((a.from ?? "") < (b.from ?? "") ? -1 : 1)
  );
}

/** Finds every agent's parent. `facts` are originals only; `mentioned` are all agents that are mentioned. */
export function decideParents(
  facts: readonly Observation[],
  mentioned: Iterable<AgentKey>,
  manual: readonly ManualLink[],
  folded: ReadonlyMap<AgentKey, Fold> = new Map(),
): Parentage {
  const agents = new Set(mentioned);
  const evidence = new Map<AgentKey, ParentEvidence[]>();
  const add = (child: AgentKey, piece: ParentEvidence) => {
    const list = evidence.get(child);
    if (list === undefined) evidence.set(child, [piece]);
    else list.push(piece);
  };
  const calls = new CallBook(facts, folded);
  const problems: Problem[] = [];

  const mains = new Set(facts.flatMap((o) => (o.type === "agent-described" && o.kind === "main" ? [o.agent] : [])));
  for (const o of facts) {
    // "Unassigned" is ignored for an agent that is known to be a root.
    if (o.type === "parent-named" && !(o.rule === UNASSIGNED_RULE && mains.has(o.child)))
      add(o.child, { ...o, call: null, from: o.id });
    if (o.type === "call-spawned") {
      const parent = calls.callerOf(o.call);
      if (parent !== undefined) add(o.child, { ...o, parent, call: calls.resolve(o.call), confidence: 1, from: o.id });
    }
  }
  for (const agent of agents)
    if (partsOf(agent).agent !== null && !evidence.has(agent))
      add(agent, inItsThread(agent, "nothing names its parent"));
  // Before calls are matched: a manually assigned call and its child take no part in matching.
  const isKnown = ({ child, parent }: ManualLink) => agents.has(child) && agents.has(parent);
  const early = new Set(manual.filter(isKnown));
  for (const link of early) add(link.child, byHand(link, calls));
  const matched = new Set([...evidence.values()].flatMap((list) => list.flatMap((e) => e.call ?? [])));
  for (const match of matchCalls(facts, calls, evidence, matched)) add(match.child, match.evidence);

  const unanswered = new Set<AgentKey>();
  const unseenKinds = new Map<AgentKey, AgentKind>();
  for (const call of calls.spawns()) {
    if (call.makes !== "one" || matched.has(call.call) || calls.isRefused(call.call)) continue;
    const { provider, thread } = partsOf(call.speaker);
    const named = calls.unseen(call);
    const agent = agentKey(provider, thread, named?.id ?? nativeCall(call.call));
    if (named !== undefined) unseenKinds.set(agent, named.kind);
    agents.add(agent);
    unanswered.add(agent);
    const says = `the ${call.tool} call ${nativeCall(call.call)} spawned it, but none of its records were found`;
    add(agent, {
      parent: call.speaker,
      call: call.call,
      rule: UNANSWERED_RULE,
      source: "parent_rollout",
      confidence: 1,
      says,
      at: call.at,
      from: call.id,
    });
  }
  const lost = new Map<AgentKey, readonly string[]>();
  for (const stated of agentsWithoutRecords(facts, calls, matched)) {
    const { parent, call, agents: missing, kind, warning, at, id } = stated;
    lost.set(parent, [...(lost.get(parent) ?? []), warning]);
    for (const agent of missing) {
      agents.add(agent);
      unanswered.add(agent);
      unseenKinds.set(agent, kind);
      const says = "the product reports that the call spawned it, but none of its records were found";
      add(agent, { parent, call, rule: UNANSWERED_RULE, source: "parent_rollout", confidence: 1, says, at, from: id });
    }
  }
  for (const link of manual) {
    if (early.has(link)) continue;
    // Agents for open spawn calls exist only now.
    if (isKnown(link)) add(link.child, byHand(link, calls));
    else problems.push({ code: "manual-link-unknown", where: link.child, detail: `manually linked to ${link.parent}` });
  }
  for (const list of evidence.values()) {
    list.sort(stronger);
    for (const piece of list) agents.add(piece.parent);
  }
  for (const problem of conflicts(evidence)) problems.push(problem);
  const cut = cutCycles(agents, evidence);
  for (const problem of cut.problems) problems.push(problem);
  adopt(cut.parents, add);

  const callOf = (agent: AgentKey) => evidence.get(agent)?.find((e) => e.call !== null)?.call;
  const byCall = Map.groupBy(
    [...agents].filter((a) => callOf(a) != null),
    (a) => callOf(a) as CallKey,
  );
  return {
    agents,
    evidence,
    parents: cut.parents,
    unanswered,
    unseenKinds,
    lost,
    problems,
    spawnCall: (agent) => {
      const call = callOf(agent);
      return call == null ? undefined : calls.spawn(call);
    },
    agentsOfCall: (call) => byCall.get(calls.resolve(call)) ?? [],
  };
}

function byHand({ parent, call, request, at }: ManualLink, calls: CallBook): ParentEvidence {
  const says = `manually linked on ${new Date(at).toISOString()}${request === null ? "" : ` to request ${request}`}`;
  const resolved = call === null ? null : calls.resolve(call);
  return {
    parent,
    call: resolved,
    rule: "manual",
    source: "manual",
    confidence: 1,
    says,
    at,
    from: null,
    ...(request === null ? {} : { request }),
  };
}

/** The key names its thread: without other evidence the agent is placed there. */
function inItsThread(agent: AgentKey, why: string): ParentEvidence {
  const says = `${why}; its id belongs to this thread`;
  return {
    parent: threadOf(agent),
    call: null,
    rule: "thread",
    source: "inferred",
    confidence: 0.1,
    says,
    at: null,
    from: null,
  };
}

/** Agents that a call spawned according to the product, but that have no records; the first statement per call counts. */
function* agentsWithoutRecords(facts: readonly Observation[], calls: CallBook, matched: ReadonlySet<CallKey>) {
  const stated = facts.filter((o) => o.type === "agents-stated").sort(byTime);
  if (stated.length === 0) return;
  // Their records may exist while the one that links them to the call is missing: a proxy knows agents, but not their
  // calls.
  const spawned = new Set(
    facts.flatMap((o) => (o.type === "call-spawned" && calls.callerOf(o.call) !== undefined ? [o.child] : [])),
  );
  const untied = new Set(
    facts.flatMap((o) => {
      if (o.type === "call-spawned") return spawned.has(o.child) ? [] : [threadOf(o.child)];
      return o.type === "agent-described" && o.kind !== undefined && o.kind !== "main" && !spawned.has(o.agent)
        ? [`${threadOf(o.agent)} ${o.kind}`]
        : [];
    }),
  );
  const seen = new Set<CallKey>();
  for (const o of stated) {
    const call = calls.resolve(o.call);
    const parent = calls.callerOf(call);
    if (parent === undefined || matched.has(call) || seen.has(call)) continue;
    if (untied.has(threadOf(parent)) || untied.has(`${threadOf(parent)} ${o.kind}`)) continue;
    seen.add(call);
    const used = o.tokens === null ? "" : `, which used ${plural(o.tokens, "token")} by the product's own count`;
    const warning = `a ${o.kind} spawned ${plural(o.agents.length, "agent")}${used}: their transcripts are missing`;
    yield { ...o, call, parent, warning };
  }
}

/**
 * Matches agents without a call to spawn calls without an agent by a common key, in order of time, one agent per call.
 * `matched` grows by the matches.
 */
function* matchCalls(
  facts: readonly Observation[],
  calls: CallBook,
  evidence: ReadonlyMap<AgentKey, readonly ParentEvidence[]>,
  matched: Set<CallKey>,
): Generator<{ child: AgentKey; evidence: ParentEvidence }> {
  const unmatched = new Map<AgentKey, ObservationOf<"spawn-match">[]>();
  for (const o of [...facts].filter((f) => f.type === "spawn-match").sort(byTime)) {
    if (evidence.get(o.agent)?.some((e) => e.call !== null)) continue;
    const list = unmatched.get(o.agent);
    if (list === undefined) unmatched.set(o.agent, [o]);
    else if (!list.some((known) => known.match === o.match)) list.push(o);
  }
  if (unmatched.size === 0) return;
  const offers = new Map<MatchKey, Offers>();
  for (const call of calls.spawns()) {
    if (matched.has(call.call)) continue;
    for (const key of calls.offersOf(call)) {
      const known = offers.get(key);
      if (known === undefined) offers.set(key, new Offers(call));
      else known.calls.push(call);
    }
  }
  const byMatch = Map.groupBy([...unmatched.values()].flat(), (o) => o.match);
  for (const [child, matches] of unmatched) {
    // An agent with a stated parent cannot belong to a call of another.
    const stated = evidence.get(child)?.filter((e) => e.confidence === 1) ?? [];
    const manual = stated.filter((e) => e.source === "manual");
    const known = new Set((manual.length > 0 ? manual : stated).map((e) => e.parent));
    const mayBe = (call: SpawnCall) => call.speaker !== child && (known.size === 0 || known.has(call.speaker));
    for (const match of matches) {
      const offered = offers.get(match.match);
      const call =
        offered?.firstFree(match, mayBe, matched) ?? (match.exclusive ? undefined : offered?.newest(match, mayBe));
      if (call === undefined) continue;
      const alone = offered?.calls.length === 1 && (byMatch.get(match.match)?.length ?? 0) === 1;
      const says = alone ? match.says : `${match.says}; several matches, paired in order of time`;
      matched.add(call.call);
      yield {
        child,
        evidence: {
          parent: call.speaker,
          call: call.call,
          rule: match.rule,
          source: match.source,
          confidence: alone ? 0.9 : 0.6,
          says,
          at: match.at,
          from: match.id,
        },
      };
      break;
    }
  }
}

type Match = ObservationOf<"spawn-match">;

/**
 * The calls with one key, oldest first. There may be tens of thousands, so matched ones at the front are skipped
 * only once.
 */
class Offers {
  readonly calls: SpawnCall[];
  #free = 0;

  constructor(first: SpawnCall) {
    this.calls = [first];
  }

  firstFree(match: Match, mayBe: (call: SpawnCall) => boolean, matched: ReadonlySet<CallKey>): SpawnCall | undefined {
    const isMatched = (call: SpawnCall | undefined) => call !== undefined && matched.has(call.call);
    while (isMatched(this.calls[this.#free])) this.#free += 1;
    for (let i = this.#free; i < this.calls.length; i += 1) {
      const call = this.calls[i];
      if (call === undefined || !isBefore(call, match)) return undefined;
      if (
        !isMatched(call) &&
        mayBe(call) &&
        (match.at ?? 0) - (call.at ?? 0) <= (match.withinMs ?? Number.POSITIVE_INFINITY)
      )
        return call;
    }
    return undefined;
  }

  newest = (match: Match, mayBe: (call: SpawnCall) => boolean): SpawnCall | undefined =>
    this.calls.findLast((call) => isBefore(call, match) && mayBe(call));
}

const isBefore = (call: SpawnCall, match: Match) => (call.at ?? 0) <= (match.at ?? 0);

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

/**
 * Picks the strongest parent of every agent. If that closes a cycle, its weakest link is replaced by the agent's next
 * best parent outside of it.
 */
function cutCycles(agents: ReadonlySet<AgentKey>, evidence: ReadonlyMap<AgentKey, readonly ParentEvidence[]>) {
  const choice = new Map<AgentKey, readonly ParentEvidence[]>();
  const problems: Problem[] = [];
  for (const agent of [...agents].sort()) {
    const all = evidence.get(agent) ?? [];
    if (all[0]?.parent === agent)
      problems.push({ code: "parent-cycle", where: agent, detail: "it is named as its own parent" });
    choice.set(
      agent,
      all.filter((e) => e.parent !== agent),
    );
  }
  const done = new Set<AgentKey>();
  for (const start of [...agents].sort()) {
    for (;;) {
      const cycle = cycleFrom(start, choice, done);
      if (cycle === null) break;
      const weakest = cycle.reduce((w, a) => {
        const [ea, ew] = [choice.get(a)?.[0], choice.get(w)?.[0]];
        return ea && ew && stronger(ew, ea) < 0 ? a : w;
      });
      problems.push({ code: "parent-cycle", where: weakest, detail: someOf([...cycle].sort()) });
      const inCycle = new Set(cycle);
      choice.set(
        weakest,
        (choice.get(weakest) ?? []).filter((e) => !inCycle.has(e.parent)),
      );
    }
  }
  const parents = new Map([...agents].map((agent) => [agent, choice.get(agent)?.[0]?.parent ?? null]));
  return { parents, problems };
}

/** An agent without a parent after a cut is placed in its thread, unless the thread itself is below it. */
function adopt(parents: Map<AgentKey, AgentKey | null>, add: (child: AgentKey, piece: ParentEvidence) => void) {
  const isBelow = (key: AgentKey, agent: AgentKey) => {
    for (let at: AgentKey | null = key; at !== null; at = parents.get(at) ?? null) if (at === agent) return true;
    return false;
  };
  for (const agent of [...parents.keys()].sort()) {
    const thread = threadOf(agent);
    if (agent === thread || parents.get(agent) !== null || isBelow(thread, agent)) continue;
    add(agent, inItsThread(agent, "the agents named as its parents are below it"));
    parents.set(agent, thread);
  }
}

const SOME = 8;
const someOf = (names: readonly AgentKey[]) =>
  names.slice(0, SOME).join(" -> ") + (names.length > SOME ? ` and ${names.length - SOME} more` : "");

/** The agents of the cycle that `start` leads into, or null; agents that lead to a root are added to `done`. */
function cycleFrom(
  start: AgentKey,
  choice: ReadonlyMap<AgentKey, readonly ParentEvidence[]>,
  done: Set<AgentKey>,
): AgentKey[] | null {
  const path: AgentKey[] = [];
  const seen = new Map<AgentKey, number>();
  let at: AgentKey | undefined = start;
  while (at !== undefined && !done.has(at)) {
    const before = seen.get(at);
    if (before !== undefined) return path.slice(before);
    seen.set(at, path.length);
    path.push(at);
    at = choice.get(at)?.[0]?.parent;
  }
  for (const agent of path) done.add(agent);
  return null;
}
