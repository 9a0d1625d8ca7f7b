import { type AgentKey, agentKey, type CallKey, messageIn, partsOf, type RecordKey, threadOf } from "../facts/ids.ts";
import { byTime, type Observation } from "../facts/observation.ts";
import { isOutside } from "../facts/origin.ts";
import { addTo } from "../tools/collections.ts";
import { agentsIn, mapAgents } from "./mentions.ts";

export type Renamed = ReadonlyMap<AgentKey, AgentKey>;

/** The final key of every alias. If an alias has several targets, the first by name counts. */
export function aliasesIn(observations: readonly Observation[]): Renamed {
  const names = new Map<AgentKey, AgentKey>();
  for (const o of observations) {
    if (o.type !== "agent-aliased" || o.alias === o.agent) continue;
    const known = names.get(o.alias);
    if (known === undefined || o.agent < known) names.set(o.alias, o.agent);
  }
  for (const [alias, agent] of proxiedTwins(observations))
    if (!names.has(alias) && partsOf(alias).provider === partsOf(agent).provider) names.set(alias, agent);
  return new Map([...names.keys()].map((alias) => [alias, finalKey(alias, names)]));
}

/** Agents known only from a proxy, all of whose responses are in the product's records of one other agent. */
function proxiedTwins(observations: readonly Observation[]): Renamed {
  const found = new Map<AgentKey, AgentKey>();
  const isResponse = (o: Observation) => o.type === "model-call" && o.keys.length > 0;
  const seen = observations.filter((o) => isOutside(o) && isResponse(o));
  if (seen.length === 0) return found;
  const namesOf = (o: Observation) =>
    o.type === "model-call" && o.fingerprints !== undefined ? [...o.keys, ...o.fingerprints] : o.keys;
  const wanted = new Set(seen.flatMap(namesOf));
  const recorded = new Set<AgentKey>();
  const holders = new Map<RecordKey, AgentKey[]>();
  for (const o of observations) {
    if (isOutside(o)) continue;
    if (o.type === "record") recorded.add(o.speaker);
    if (isResponse(o)) for (const key of namesOf(o)) if (wanted.has(key)) addTo(holders, key, o.speaker);
  }
  for (const [speaker, responses] of Map.groupBy(seen.sort(byTime), (o) => o.speaker)) {
    if (recorded.has(speaker)) continue;
    const [first = [], ...others] = responses.map((o) => namesOf(o).flatMap((key) => holders.get(key) ?? []));
    // If several agents have equal responses, the other responses decide.
    const fitting = [...new Set(first)].filter((one) =>
      others.every((list) => list.length === 0 || list.includes(one)),
    );
    const [owner] = fitting;
    if (owner !== undefined && fitting.length === 1) found.set(speaker, owner);
  }
  return found;
}

/**
 * Removes conversations that the product's records contain, too, and whose product the proxy could not identify.
 * Returns the remaining observations, and the owners of the removed responses.
 */
export function withoutRecordedTraffic(observations: readonly Observation[]): {
  readonly left: readonly Observation[];
  readonly owners: ReadonlyMap<RecordKey, AgentKey>;
} {
  const twice = new Map(
    [...proxiedTwins(observations)].filter(([seen, agent]) => partsOf(seen).provider !== partsOf(agent).provider),
  );
  const owners = new Map<RecordKey, AgentKey>();
  if (twice.size === 0) return { left: observations, owners };
  for (const o of observations) {
    const owner = twice.get(o.speaker);
    if (owner !== undefined && o.type === "model-call") owners.set(o.response, owner);
  }
  const all = new Map([...unansweredBelow(observations, twice), ...twice]);
  const left = observations.flatMap((o) => {
    const owner = isOutside(o) ? all.get(o.speaker) : undefined;
    if (owner === undefined) return [o];
    // Internal requests beside the conversation, which the product does not record.
    const isBeside = o.type === "parent-named" && o.parent === o.speaker && !all.has(o.child);
    return isBeside ? [{ ...o, speaker: owner, parent: owner }] : [];
  });
  return { left, owners };
}

/** Conversations without a response that a recorded conversation spawned, each with the agent that spawned it. */
function unansweredBelow(observations: readonly Observation[], recorded: Renamed): Renamed {
  const callers = new Map<string, AgentKey>();
  for (const o of observations) {
    const owner = o.type === "spawn-called" ? recorded.get(o.speaker) : undefined;
    if (o.type === "spawn-called" && owner !== undefined) for (const offer of o.offers) callers.set(offer, owner);
  }
  const found = new Map<AgentKey, AgentKey>();
  for (const o of observations) {
    const caller = o.type === "spawn-match" && isOutside(o) ? callers.get(o.match) : undefined;
    if (caller !== undefined) found.set(o.speaker, caller);
  }
  for (const o of observations) if (o.type === "model-call") found.delete(o.speaker);
  return found;
}

/**
 * Agents that a copy of a thread names under its own id. A session resumed or forked while an agent runs copies the
 * spawn call and gets the result or notification, so it claims the agent. The agent belongs to the original thread.
 * `facts` are originals only; `copiedFrom` has for each copy the agents whose records it contains.
 */
export function agentsOfCopies(
  facts: readonly Observation[],
  copiedFrom: ReadonlyMap<AgentKey, readonly AgentKey[]>,
): Renamed {
  const names = new Map<AgentKey, AgentKey>();
  if (copiedFrom.size === 0) return names;
  const callers = new Map<CallKey, AgentKey>();
  const known = new Set<AgentKey>();
  for (const o of facts.toSorted(byTime)) {
    known.add(o.speaker);
    if (o.type === "spawn-called" && !callers.has(o.call)) callers.set(o.call, o.speaker);
  }
  for (const o of facts) {
    if (o.type !== "call-spawned") continue;
    const caller = callers.get(o.call);
    const isOwn = caller === undefined || threadOf(caller) === threadOf(o.child);
    const home = isOwn
      ? undefined
      : keysInOriginals(o.child, copiedFrom).find((key) => threadOf(key) === threadOf(caller));
    if (home === undefined) known.add(o.child);
    else {
      const other = names.get(o.child);
      if (other === undefined || home < other) names.set(o.child, home);
    }
  }
  for (const home of names.values()) known.add(home);
  for (const o of facts) {
    if (o.type !== "lifecycle" || typeof o.of !== "string" || known.has(o.of) || names.has(o.of)) continue;
    const home = keysInOriginals(o.of, copiedFrom).find((key) => known.has(key));
    if (home !== undefined) names.set(o.of, home);
  }
  return new Map([...names].map(([copy, home]) => [copy, finalKey(home, names)]));
}

/** The key at the end of a chain; of a cycle, the first by name. */
function finalKey(first: AgentKey, names: Renamed): AgentKey {
  const chain = [first];
  for (const key of chain) {
    const next = names.get(key);
    if (next === undefined) return key;
    const again = chain.indexOf(next);
    if (again >= 0) return chain.slice(again).reduce((a, b) => (b < a ? b : a));
    chain.push(next);
  }
  return first;
}

/** The keys that the agent would have in the originals of its thread, nearest first. */
function keysInOriginals(agent: AgentKey, copiedFrom: ReadonlyMap<AgentKey, readonly AgentKey[]>): AgentKey[] {
  const { agent: id, provider } = partsOf(agent);
  const seen = new Set([threadOf(agent)]);
  if (id === null) return [];
  for (const copy of seen) {
    for (const origin of copiedFrom.get(copy) ?? [])
      if (partsOf(origin).provider === provider) seen.add(threadOf(origin));
  }
  return [...seen].slice(1).map((thread) => agentKey(provider, partsOf(thread).thread, id));
}

/**
 * Agents that a fork of their thread copied with all their records, and their originals. Such a copy has done nothing.
 * An agent that began with a copy of its parent's history is not one.
 */
export function copiedAgents(originals: readonly Observation[], copiedFrom: ReadonlyMap<AgentKey, AgentKey>): Renamed {
  const copies = new Map<AgentKey, AgentKey>();
  if (copiedFrom.size === 0) return copies;
  const parents = new Map<AgentKey, AgentKey>();
  const active = new Set<AgentKey>();
  for (const o of originals) {
    if (o.type === "parent-named") parents.set(o.child, o.parent);
    else if (messageIn(o) !== undefined) active.add(o.speaker);
  }
  const isForkOf = (fork: AgentKey, thread: AgentKey) => {
    const chain = new Set([fork]);
    for (const key of chain) chain.add(copiedFrom.get(key) ?? key);
    return fork !== thread && chain.has(thread);
  };
  for (const [copy, origin] of copiedFrom) {
    const [fork, thread] = [parents.get(copy), parents.get(origin)];
    if (fork === undefined || thread === undefined || active.has(copy)) continue;
    if (isForkOf(fork, thread)) copies.set(copy, origin);
  }
  return copies;
}

/** The observations that mention none of the agents. */
export const withoutAgents = (observations: readonly Observation[], agents: Renamed): readonly Observation[] =>
  agents.size === 0 ? observations : observations.filter((o) => !agentsIn(o).some((agent) => agents.has(agent)));

export function renameAll(observations: readonly Observation[], names: Renamed): readonly Observation[] {
  return names.size === 0 ? observations : observations.map((o) => mapAgents(o, (key) => names.get(key) ?? key));
}
