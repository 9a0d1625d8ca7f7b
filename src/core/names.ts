import { type AgentKey, agentKey, type CallKey, partsOf, type RecordKey, threadOf } from "./ids.ts";
import { byTime, type Observation } from "./observation.ts";

export type Renamed = ReadonlyMap<AgentKey, AgentKey>;

/** Says everything of every agent under the last of its names. Of several that an alias is said to stand for, the first by name counts. */
export function byOneName(observations: readonly Observation[]): readonly Observation[] {
  const names = new Map<AgentKey, AgentKey>();
  for (const o of observations) {
    if (o.type !== "agent-aliased" || o.alias === o.agent) continue;
    const known = names.get(o.alias);
    if (known === undefined || o.agent < known) names.set(o.alias, o.agent);
  }
  for (const [alias, agent] of seenTwice(observations)) if (!names.has(alias) && partsOf(alias).provider === partsOf(agent).provider) names.set(alias, agent);
  return renameAll(observations, names);
}

/** Agents that only a proxy speaks of, although the answers they got, the first of them and all that are known, stand in the product's records of one other agent. */
function seenTwice(observations: readonly Observation[]): Renamed {
  const found = new Map<AgentKey, AgentKey>();
  const isAnswer = (o: Observation) => o.type === "model-call" && o.keys.length > 0;
  const seen = observations.filter((o) => o.witness && isAnswer(o));
  if (seen.length === 0) return found;
  const namesOf = (o: Observation) => (o.type === "model-call" && o.fingerprint !== undefined ? [...o.keys, o.fingerprint] : o.keys);
  const wanted = new Set(seen.flatMap(namesOf));
  const recorded = new Set<AgentKey>();
  const holders = new Map<RecordKey, AgentKey[]>();
  for (const o of observations) {
    if (o.witness) continue;
    if (o.type === "record") recorded.add(o.speaker);
    if (isAnswer(o)) for (const key of namesOf(o)) if (wanted.has(key)) holders.set(key, [...(holders.get(key) ?? []), o.speaker]);
  }
  for (const [speaker, answers] of Map.groupBy(seen.sort(byTime), (o) => o.speaker)) {
    if (recorded.has(speaker)) continue;
    const of = answers.map((o) => namesOf(o).flatMap((key) => holders.get(key) ?? []));
    const owner = of[0]?.[0];
    if (owner !== undefined && of.every((list) => list.every((one) => one === owner))) found.set(speaker, owner);
  }
  return found;
}

/**
 * Conversations that a proxy could not tell the product of, and that the product's own records hold: these tell all of them.
 * Gives what is left, and whose the answers are that were told twice.
 */
export function withoutRecordedTraffic(observations: readonly Observation[]): {
  readonly left: readonly Observation[];
  readonly owners: ReadonlyMap<RecordKey, AgentKey>;
} {
  const twice = new Map([...seenTwice(observations)].filter(([seen, agent]) => partsOf(seen).provider !== partsOf(agent).provider));
  const owners = new Map<RecordKey, AgentKey>();
  if (twice.size === 0) return { left: observations, owners };
  for (const o of observations) {
    const owner = twice.get(o.speaker);
    if (owner !== undefined && o.type === "model-call") owners.set(o.response, owner);
  }
  return { left: observations.filter((o) => !o.witness || !twice.has(o.speaker)), owners };
}

/**
 * Agents that a copy of a thread names by its own id. A session that is resumed or forked while an agent works copies the call for it, and gets the result
 * or the notification: it takes the agent for one of its own. The agent belongs to the thread whose call it is.
 * `facts` are originals only; `copiedFrom` tells of each copy what it is a copy of.
 */
export function agentsOfCopies(facts: readonly Observation[], copiedFrom: ReadonlyMap<AgentKey, AgentKey>): Renamed {
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
    const home = isOwn ? undefined : namesakes(o.child, copiedFrom).find((key) => threadOf(key) === threadOf(caller));
    if (home === undefined) known.add(o.child);
    else {
      const other = names.get(o.child);
      if (other === undefined || home < other) names.set(o.child, home);
    }
  }
  for (const home of names.values()) known.add(home);
  for (const o of facts) {
    if (o.type !== "lifecycle" || typeof o.of !== "string" || known.has(o.of) || names.has(o.of)) continue;
    const home = namesakes(o.of, copiedFrom).find((key) => known.has(key));
    if (home !== undefined) names.set(o.of, home);
  }
  return new Map([...names].map(([copy, home]) => [copy, lastName(home, names)]));
}

/** A copy may be copied in turn: the name at the end of the chain. */
function lastName(first: AgentKey, names: Renamed): AgentKey {
  const seen = new Set([first]);
  for (const key of seen) {
    const next = names.get(key);
    if (next === undefined) return key;
    seen.add(next);
  }
  return first;
}

/** What the agent would be called in the threads that its own thread is a copy of, nearest first. */
function namesakes(agent: AgentKey, copiedFrom: ReadonlyMap<AgentKey, AgentKey>): AgentKey[] {
  const { agent: id, provider } = partsOf(agent);
  const seen = new Set([threadOf(agent)]);
  if (id === null) return [];
  for (const copy of seen) {
    const origin = copiedFrom.get(copy);
    if (origin !== undefined && partsOf(origin).provider === provider) seen.add(threadOf(origin));
  }
  return [...seen].slice(1).map((thread) => agentKey(provider, partsOf(thread).thread, id));
}

export function renameAll(observations: readonly Observation[], names: Renamed): readonly Observation[] {
  return names.size === 0 ? observations : observations.map((o) => renamed(o, (key) => names.get(key) ?? key));
}

function renamed(o: Observation, name: (key: AgentKey) => AgentKey): Observation {
  const seen = { ...o, speaker: name(o.speaker) };
  switch (seen.type) {
    case "agent-described":
    case "answers":
    case "waits":
    case "file-refused":
      return { ...seen, agent: name(seen.agent) };
    case "call-spawned":
      return { ...seen, child: name(seen.child) };
    case "parent-named":
      return { ...seen, child: name(seen.child), parent: name(seen.parent) };
    case "lifecycle":
      return typeof seen.of === "string" ? { ...seen, of: name(seen.of) } : seen;
    default:
      return seen;
  }
}
