import type { StatusVerdict } from "./agent.ts";
import type { SpawnCall } from "./call-book.ts";
import { displayName } from "./display-name.ts";
import { type Fold, NAME } from "./fold.ts";
import { folderOf, partFacts } from "./folded.ts";
import { plural } from "./format.ts";
import { type GatheredAgent, gatherAgents, type ModelCall, type PendingCall } from "./gather.ts";
import { type AgentKey, type CallKey, type RecordKey, threadOf } from "./ids.ts";
import { type Liveness, processViews } from "./liveness.ts";
import { agentsOfCopies, byOneName, renameAll, withoutRecordedTraffic } from "./names.ts";
import { byTime, type Observation, type ObservationOf } from "./observation.ts";
import { decideOwnership } from "./ownership.ts";
import { decideParents, type ManualLink, type Parentage, type ParentEvidence } from "./parents.ts";
import type { Problem } from "./problem.ts";
import { type Settled, settleTotals } from "./settle.ts";
import { nameAll, type Place, subtreeActivity, topDown } from "./shape.ts";
import { decide, type Ending, type OwnStand, type ProcessView } from "./status.ts";

export interface LinkOptions {
  readonly now: number;
  readonly liveness: Liveness;
  readonly manual?: readonly ManualLink[];
  readonly staleAfterMs?: number;
}

export const STALE_AFTER_MS = 10 * 60_000;

export interface LinkedAgent extends GatheredAgent {
  readonly uri: string;
  readonly sessionId: string;
  readonly agentId: string | null;
  readonly parent: AgentKey | null;
  readonly depth: number;
  /** Oldest first. */
  readonly children: readonly AgentKey[];
  /** Strongest first; the first one decided, unless a circle had to be cut. */
  readonly evidence: readonly ParentEvidence[];
  readonly spawnCall: SpawnCall | undefined;
  readonly verdict: StatusVerdict;
  /** How sure it is that it ended so; null where it has not ended, or where that is concluded from silence alone. */
  readonly ending: Ending | null;
  /** What a person has to give it before it goes on; null where it waits for nobody. */
  readonly waiting: WaitForPerson | null;
  readonly statements: readonly ObservationOf<"lifecycle">[];
  readonly forkedFrom: AgentKey | null;
  /** Whether the operating-system process of its thread is there. */
  readonly process: ProcessView["is"];
  /** Last sign of life of the agent or of anybody below it. */
  readonly lastActivity: number | null;
  /** What the product did on its own behalf in this thread. */
  readonly ownBehalf: readonly GatheredAgent[];
  /** What it did so for this agent and kept no record of, where its own totals tell. */
  readonly revealed: readonly ModelCall[];
  /** What only a total of the product's tells, for all agents of this thread together. */
  readonly undivided: readonly ModelCall[];
  /** The totals that the product stated for this thread; null where it stated none. */
  readonly settled: Settled | null;
}

export interface WaitForPerson {
  /** A permission, an answer. */
  readonly for: string;
  /** What it wants to do, in words. */
  readonly says: string;
  readonly since: number | null;
  /** The tool call that is held up; null where it is not known. */
  readonly call: CallKey | null;
}

export interface Forest {
  readonly now: number;
  readonly agents: ReadonlyMap<AgentKey, LinkedAgent>;
  /** Threads that nobody spawned, newest activity first. */
  readonly roots: readonly AgentKey[];
  readonly problems: readonly Problem[];
  /** Whose a record is, where several hold it. */
  readonly ownerOf: (record: RecordKey) => AgentKey | undefined;
  /** The key under which an agent is in `agents`, where a copy of its thread names it by another. */
  readonly nameOf: (agent: AgentKey) => AgentKey;
  /** How many facts it took to work it out, without those that were folded. */
  readonly facts: number;
}

/** Forests that have nothing to do with each other, as one. */
export function together(forests: readonly Forest[]): Forest {
  const [only] = forests;
  if (forests.length === 1 && only !== undefined) return only;
  const agents = new Map(forests.flatMap((forest) => [...forest.agents]));
  const first = <T>(look: (forest: Forest) => T | undefined) =>
    forests
      .values()
      .map(look)
      .find((found) => found !== undefined);
  return {
    now: Math.max(0, ...forests.map(({ now }) => now)),
    agents,
    roots: forests.flatMap(({ roots }) => roots).sort(newestFirst((key) => agents.get(key)?.lastActivity)),
    problems: forests.flatMap(({ problems }) => problems),
    ownerOf: (record) => first((forest) => forest.ownerOf(record)),
    nameOf: (agent) => first((forest) => (forest.nameOf(agent) === agent ? undefined : forest.nameOf(agent))) ?? agent,
    facts: forests.reduce((sum, forest) => sum + forest.facts, 0),
  };
}

const newestFirst = (lastActivity: (key: AgentKey) => number | null | undefined) => (a: AgentKey, b: AgentKey) =>
  (lastActivity(b) ?? 0) - (lastActivity(a) ?? 0) || (a < b ? -1 : 1);

/** For keys that come from the forest itself. */
export function agentOf(forest: Forest, key: AgentKey): LinkedAgent {
  const agent = forest.agents.get(key);
  if (agent === undefined) throw new Error(`no agent ${key} in the forest`);
  return agent;
}

/** The agent and everybody below it, parents first. */
export function subtreeOf(forest: Forest, root: AgentKey): AgentKey[] {
  const keys = [root];
  // Grows while it is walked, so that depth costs no stack.
  for (const key of keys) for (const child of agentOf(forest, key).children) keys.push(child);
  return keys;
}

/**
 * Builds the forest from whatever was observed: in any order, with repeats, piecewise or at once, the result is the same.
 * Every agent that any observation mentions is in it, under its parent or as a root.
 * Bulk facts may come folded: that gives the same forest, and most of them are never looked at.
 */
export function link(observations: Iterable<Observation>, options: LinkOptions, folds: readonly Fold[] = []): Forest {
  const { facts: seen, folded } = partFacts([...observations], folds, options.manual ?? []);
  const sorted = [...new Map(seen.map((o) => [o.id, o])).values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const { left, owners } = withoutRecordedTraffic(sorted);
  const all = byOneName(left);
  const ownership = decideOwnership(all);
  const originals = withoutRefused(all.filter(ownership.isOriginal));
  const renamed = agentsOfCopies(originals, ownership.copiedFrom);
  const nameOf = (key: AgentKey) => renamed.get(key) ?? key;
  const ownerOf = (record: RecordKey) => {
    const owner = ownership.ownerOf(record) ?? owners.get(record) ?? folderOf(folded, record, NAME.key);
    return owner === undefined ? undefined : nameOf(owner);
  };
  const facts = withoutEchoes(renameAll(originals, renamed));
  const gathered = gatherAgents(facts, ownerOf, [], folded);
  const named = new Set(gathered.keys());
  for (const key of [...named]) named.add(threadOf(key));
  const parentage = decideParents(facts, named, options.manual ?? [], folded);

  /** The thread on whose behalf something is done; nobody's where a thread of its own has no parent. */
  const hostOf = (key: AgentKey) => (threadOf(key) === key ? (parentage.parents.get(key) ?? null) : threadOf(key));
  const spawned = new Set(facts.flatMap((f) => (f.type === "call-spawned" ? [f.child] : [])));
  const isInternal = (key: AgentKey) => {
    const internal = gathered.get(key)?.internal;
    if (internal === undefined || internal === null || hostOf(key) === null) return false;
    // Somebody's call made it, even where the record of the call itself is lost.
    return !internal.unlessSpawned || !(spawned.has(key) || parentage.evidence.get(key)?.some((e) => e.call !== null || e.source === "manual"));
  };
  const agents = [...named].filter((key) => !isInternal(key));
  const parentOf = (key: AgentKey): AgentKey | null => {
    let parent = parentage.parents.get(key) ?? null;
    while (parent !== null && isInternal(parent)) parent = parentage.parents.get(parent) ?? null;
    return parent;
  };
  const infoOf = (key: AgentKey) => gathered.get(key) ?? emptyAgent(key);
  const settled = settleTotals(gathered, ownership.copiedFrom);
  const revealed = Map.groupBy(
    [...settled.values()].flatMap(({ settlements }) => settlements.flatMap((s) => s.revealed ?? [])),
    (found) => found.agent,
  );
  const internals = Map.groupBy([...named].filter(isInternal).map(infoOf), (g) => hostOf(g.key));

  const order = topDown(agents, parentOf, infoOf, (key) => parentage.spawnCall(key)?.at ?? null);
  const processes = processViews(facts, infoOf, options.liveness);
  const said = statementsByAgent(facts, parentage, ownership.copiedFrom);
  const lastActivity = subtreeActivity(order, infoOf);
  const names = nameAll(order, parentOf, (key) => parentage.spawnCall(key));
  const idsOf = (key: AgentKey) => {
    const ids = names.get(key);
    if (ids === undefined) throw new Error(`no name for ${key}`);
    return ids;
  };

  const linked = new Map<AgentKey, LinkedAgent>();
  for (const { key, depth, children } of order) {
    const info = infoOf(key);
    const label = (child: AgentKey) => displayName({ ...namesOf(infoOf(child), parentage.spawnCall(child)), ...idsOf(child) });
    const statements = said.get(key) ?? [];
    const process = processes(threadOf(key));
    const { verdict, ending } = decide({
      own: withoutDoubt(info, children.map(infoOf)),
      statements,
      process,
      lastActivity: lastActivity.get(key) ?? parentage.spawnCall(key)?.at ?? null,
      doing: doing(info, children, label),
      missing: missingWords(info, parentage.unanswered.has(key), ownership.copiedFrom.get(key), parentOf(key) === null),
      now: options.now,
      staleAfterMs: options.staleAfterMs ?? STALE_AFTER_MS,
    });
    const name = idsOf(key);
    linked.set(key, {
      ...info,
      kind: info.kind ?? parentage.unseenKinds.get(key) ?? null,
      warnings: [...info.warnings, ...(parentage.lost.get(key) ?? [])],
      ...name,
      parent: parentOf(key),
      depth,
      children,
      evidence: parentage.evidence.get(key) ?? [],
      spawnCall: parentage.spawnCall(key),
      verdict,
      ending,
      waiting: verdict.status === "running" ? waitOf(info) : null,
      statements,
      process: process.is,
      lastActivity: lastActivity.get(key) ?? null,
      forkedFrom: parentOf(key) === null ? (info.saysForkedFrom ?? ownership.copiedFrom.get(key) ?? null) : null,
      ownBehalf: internals.get(key) ?? [],
      revealed: (revealed.get(key) ?? []).map((found) => found.call),
      undivided: settled.get(key)?.settlements.flatMap((s) => s.undivided) ?? [],
      settled: settled.get(key) ?? null,
    });
  }
  awaitBackground(linked, order, (key) => processes(threadOf(key)));
  attributeProcessWaits(linked, processes);
  const roots = order.filter((o) => o.depth === 0).map((o) => o.key);
  roots.sort(newestFirst((key) => lastActivity.get(key)));
  const problems = [...parentage.problems, ...missingThreads(order, infoOf)];
  return { now: options.now, agents: linked, roots, problems, ownerOf, nameOf, facts: sorted.length };
}

/** What may have been a finished answer was none if a child began after it and nothing was said since: it asked for the child. */
function withoutDoubt({ own }: GatheredAgent, children: readonly GatheredAgent[]): OwnStand | null {
  if (own === null || own.certain || own.stands !== "answered" || own.at === null) return own;
  const { at } = own;
  return children.some((child) => (child.firstAt ?? at) > at) ? { ...own, stands: "open", certain: true } : own;
}

/** Takes out what nothing but a refused file's place vouches for; what others say of the agent stays. */
function withoutRefused(facts: readonly Observation[]): readonly Observation[] {
  const refused = new Set(facts.flatMap((f) => (f.type === "file-refused" ? [f.agent] : [])));
  for (const f of facts) if (f.type === "record") refused.delete(f.speaker);
  return refused.size === 0 ? facts : facts.filter((f) => !refused.has(f.speaker));
}

/** What a live source told of a record that the product itself wrote down: said twice, and counted once. */
function withoutEchoes(facts: readonly Observation[]): readonly Observation[] {
  const tells = (f: Observation) => f.type === "record" || f.type === "model-call";
  if (!facts.some((f) => f.live)) return facts;
  const written = new Set(facts.flatMap((f) => (tells(f) && !f.live ? f.keys.slice(0, 1) : [])));
  return facts.filter((f) => !(f.live && tells(f) && f.keys.slice(0, 1).some((key) => written.has(key))));
}

function emptyAgent(key: AgentKey): GatheredAgent {
  return gatherAgents([], () => undefined, [key]).get(key) as GatheredAgent;
}

/** What a copy of a thread says of a call that it copied gives way to the agent's own records: the call was interrupted in the copy, where it never ran. */
function statementsByAgent(facts: readonly Observation[], { agentsOfCall, spawnCall }: Parentage, copiedFrom: ReadonlyMap<AgentKey, AgentKey>) {
  const said = new Map<AgentKey, ObservationOf<"lifecycle">[]>();
  for (const fact of facts) {
    if (fact.type !== "lifecycle") continue;
    const agents = typeof fact.of === "string" ? [fact.of] : agentsOfCall(fact.of.call);
    for (const agent of agents) {
      const caller = spawnCall(agent)?.speaker;
      const isOfCopy = copiedFrom.has(fact.speaker) && caller !== undefined && caller !== fact.speaker;
      const list = said.get(agent) ?? [];
      list.push(isOfCopy ? { ...fact, yields: true } : fact);
      said.set(agent, list);
    }
  }
  for (const list of said.values()) list.sort(byTime);
  return said;
}

/** What its records and the call that spawned it say of what an agent is called. */
export const namesOf = (info: GatheredAgent, call: SpawnCall | undefined) => ({
  type: info.agentType ?? call?.agentType ?? null,
  name: info.name ?? call?.name ?? null,
  title: info.title,
  description: info.description ?? call?.description ?? null,
  prompt: call?.prompt ?? info.prompt,
});

function doing(info: GatheredAgent, children: readonly AgentKey[], label: (key: AgentKey) => string): string {
  const waiting = info.pending.filter((p) => p.spawns).length;
  const tools = info.pending.filter((p) => !p.spawns).map((p) => p.name);
  const awaited = waitOf(info);
  if (awaited !== null) return waitingWords(awaited);
  const [stated] = info.waits;
  if (stated !== undefined) return `waits ${stated.says}`;
  if (tools.length > 0) return `runs ${[...new Set(tools)].join(", ")}`;
  if (waiting > 0) {
    const [only] = children;
    return waiting === 1 && only !== undefined && children.length === 1
      ? `waits for its agent ${JSON.stringify(label(only))}`
      : `waits for ${plural(waiting, "agent")}`;
  }
  return "waits for the model";
}

const article = (word: string) => `${/^[aeiou]/.test(word) ? "an" : "a"} ${word}`;

const waitingWords = ({ for: what, says }: WaitForPerson) => `waits for ${article(what)} (${says})`;

/** Only what the product states: a request it reports, or a tool that does nothing but ask a person. A tool that has not returned may just be running. */
function waitOf({ pending, waits }: GatheredAgent): WaitForPerson | null {
  for (const { for: what, says, since, call } of waits) if (what !== null) return { for: what, says, since, call };
  const asking = pending.filter((call) => call.waitsFor !== null);
  const [first] = asking;
  return first === undefined ? null : { for: first.waitsFor ?? "", says: toolNames(asking), since: first.at, call: first.call };
}

const toolNames = (calls: readonly PendingCall[]) => [...new Set(calls.map((call) => call.name))].join(", ");

/**
 * Some products state that a process waits for a person, but not which of its agents asked. It is the agent with an open tool call if there is only one;
 * of several nobody can tell, so the thread is said to wait and no agent is.
 */
function attributeProcessWaits(linked: Map<AgentKey, LinkedAgent>, processes: (thread: AgentKey) => ProcessView) {
  const open = [...linked.values()].filter(
    ({ verdict, waiting, pending }) => verdict.status === "running" && waiting === null && pending.some((p) => !p.spawns),
  );
  for (const [thread, agents] of Map.groupBy(open, ({ key }) => threadOf(key))) {
    const process = processes(thread);
    if (process.is !== "alive" || process.waitingFor === null) continue;
    const only = agents.length === 1 ? agents[0] : undefined;
    const waits = only ?? linked.get(thread);
    if (waits === undefined || waits.verdict.status !== "running") continue;
    const tools = only?.pending.filter((p) => !p.spawns) ?? [];
    const says = only !== undefined ? toolNames(tools) : `which of its ${agents.length} agents with open tool calls asked is not recorded`;
    const waiting = { for: process.waitingFor, says, since: tools[0]?.at ?? null, call: tools.length === 1 ? (tools[0]?.call ?? null) : null };
    linked.set(waits.key, { ...waits, waiting, verdict: { ...waits.verdict, activity: waitingWords(waiting) } });
  }
}

function missingWords(info: GatheredAgent, unanswered: boolean, copiedFrom: AgentKey | undefined, isRoot: boolean): string {
  if (unanswered) return "its parent asked for it, and no record of its own is known";
  if (copiedFrom !== undefined) return "all its records are copies of another thread's";
  if (info.files.length > 0) return "its transcript says nothing";
  return isRoot ? "agents name this thread, but its transcript is gone" : "its parent names it, but no transcript of its own is known";
}

/**
 * An agent whose own answer is finished still runs while its live process waits for agents below it: they will wake it.
 * Not so once its parent was told that it ended: then they report to the thread instead.
 */
function awaitBackground(linked: Map<AgentKey, LinkedAgent>, order: readonly Place[], processOf: (key: AgentKey) => ProcessView) {
  const running = new Map<AgentKey, number>();
  for (const { key, children } of order.toReversed()) {
    const below = children.reduce((sum, c) => sum + (running.get(c) ?? 0), 0);
    const agent = linked.get(key) as LinkedAgent;
    const waits = below > 0 && agent.verdict.status === "completed" && agent.verdict.statusSource !== "parent_rollout" && processOf(key).is === "alive";
    if (waits) linked.set(key, { ...agent, verdict: waiting(below), ending: null });
    running.set(key, below + (waits || agent.verdict.status === "running" ? 1 : 0));
  }
}

function waiting(below: number): StatusVerdict {
  const words = plural(below, "background agent");
  return {
    status: "running",
    statusSource: "inferred",
    statusReason: `its last answer is finished, but ${words} below it still ${below === 1 ? "runs" : "run"} in its live process`,
    activity: `waits for ${words}`,
  };
}

function* missingThreads(order: readonly Place[], infoOf: (key: AgentKey) => GatheredAgent): Generator<Problem> {
  for (const { key, depth, children } of order) {
    if (depth === 0 && children.length > 0 && infoOf(key).files.length === 0 && infoOf(key).records === 0)
      yield { code: "thread-missing", where: key, detail: `named by ${plural(children.length, "agent")}` };
  }
}
