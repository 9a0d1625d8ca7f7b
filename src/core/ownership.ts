import { type AgentKey, type RecordKey, threadOf } from "./ids.ts";
import type { Observation } from "./observation.ts";

/**
 * Products copy records: a forked session begins with the history of the first one, a forked agent with its parent's last answer,
 * a promoted agent with everything it ever did. Every copy keeps the ids of the original, and nothing marks it as a copy.
 * This decides whose a record is, so that what it says and what it cost count once.
 *
 * The rule: of two claimants, the one that did anything else before the record was written is the original; the other began later and copied it.
 */
export interface Ownership {
  /** False for everything that stands in a copied record. */
  readonly isOriginal: (observation: Observation) => boolean;
  readonly ownerOf: (key: RecordKey) => AgentKey | undefined;
  /** For an agent that holds copies: the owner of the newest of them. */
  readonly copiedFrom: ReadonlyMap<AgentKey, AgentKey>;
}

interface Claim {
  at: number;
  readonly holders: Set<AgentKey>;
  /** Equal for claims with the same holders, once it was asked for. */
  group?: number;
}

export function decideOwnership(observations: readonly Observation[]): Ownership {
  const claims = collectClaims(observations);
  const shared = new Map([...claims].filter(([, claim]) => claim.holders.size > 1));
  const owners = new Map<RecordKey, AgentKey>();
  if (shared.size > 0) {
    const rival = rivalry(observations, claims, shared);
    for (const [key, claim] of shared) owners.set(key, rival.winner(claim));
  }
  const ownerOf = (key: RecordKey) => owners.get(key) ?? claims.get(key)?.holders.values().next().value;
  // The last key is the response's, where there is one: all rows of a response go to one owner, whatever the times of single rows suggest.
  const isOriginal = (o: Observation) => o.keys.slice(-1).every((key) => (owners.get(key) ?? o.speaker) === o.speaker);
  return { isOriginal, ownerOf, copiedFrom: newestCopies(observations, owners) };
}

function collectClaims(observations: readonly Observation[]): Map<RecordKey, Claim> {
  const claims = new Map<RecordKey, Claim>();
  for (const o of observations) {
    for (const key of o.keys) {
      const claim = claims.get(key);
      const at = o.at ?? Number.POSITIVE_INFINITY;
      if (claim === undefined) claims.set(key, { at, holders: new Set([o.speaker]) });
      else {
        claim.at = Math.min(claim.at, at);
        claim.holders.add(o.speaker);
      }
    }
  }
  return claims;
}

function rivalry(observations: readonly Observation[], claims: ReadonlyMap<RecordKey, Claim>, shared: ReadonlyMap<RecordKey, Claim>) {
  const rivals = new Set([...shared.values()].flatMap((claim) => [...claim.holders]));
  const threads = new Set([...rivals].map(threadOf));
  const spawned = new Set<AgentKey>();
  const byHolder = new Map<AgentKey, Observation[]>();
  const keep = (holder: AgentKey, o: Observation) => {
    const list = byHolder.get(holder);
    if (list === undefined) byHolder.set(holder, [o]);
    else list.push(o);
  };
  for (const o of observations) {
    if (o.type === "call-spawned") spawned.add(o.child);
    if (o.at === null) continue;
    if (rivals.has(o.speaker)) keep(o.speaker, o);
    const thread = threadOf(o.speaker);
    if (thread !== o.speaker && threads.has(thread) && !rivals.has(thread)) keep(thread, o);
  }

  // Forks hold the same records by the thousand: records with the same holders are looked at as one, and every pair of holders once.
  const groupNumbers = new Map<string, number>();
  const groupOf = (claim: Claim): number => {
    if (claim.group !== undefined) return claim.group;
    const names = [...claim.holders].sort().join(" ");
    claim.group = groupNumbers.get(names) ?? groupNumbers.size;
    groupNumbers.set(names, claim.group);
    return claim.group;
  };
  const groups = new Map([...byHolder].map(([holder, list]) => [holder, groupByHolders(list, claims, groupOf)]));
  const firsts = new Map<AgentKey, Map<AgentKey, number>>();
  /** When `holder` first did something that `other` does not hold; never, if it holds nothing of its own. */
  const firstWithout = (holder: AgentKey, other: AgentKey): number => {
    const known = firsts.get(holder)?.get(other);
    if (known !== undefined) return known;
    let first = Number.POSITIVE_INFINITY;
    for (const { at, holders } of groups.get(holder) ?? []) if (at < first && !holders.some((set) => set.has(other))) first = at;
    const row = firsts.get(holder) ?? new Map<AgentKey, number>();
    firsts.set(holder, row.set(other, first));
    return first;
  };
  /** Proof that `holder` came later than the record, seen beside `other`. Holding nothing of its own proves nothing. */
  const beganAfter = (holder: AgentKey, other: AgentKey, at: number) => {
    const first = firstWithout(holder, other);
    return Number.isFinite(first) && first > at;
  };
  const beats = (a: AgentKey, b: AgentKey, at: number): boolean => {
    const [late, early] = [beganAfter(b, a, at), beganAfter(a, b, at)];
    if (late !== early) return late;
    const [threadA, threadB] = [threadOf(a), threadOf(b)];
    if (threadA === threadB || (threadA === a && threadB === b)) return false;
    return beganAfter(threadB, threadA, at) && !beganAfter(threadA, threadB, at);
  };
  const decide = (claim: Claim): AgentKey => {
    const holders = [...claim.holders];
    const unbeaten = holders.filter((b) => !holders.some((a) => a !== b && beats(a, b, claim.at)));
    const field = unbeaten.length > 0 ? unbeaten : holders;
    // Where times prove nothing, an agent that a parent is known to have spawned is no copy; then the name decides, so that any order gives the same.
    const rank = (k: AgentKey) => `${spawned.has(k) ? 0 : 1}${k}`;
    return field.reduce((best, k) => (rank(k) < rank(best) ? k : best));
  };
  /** The moments at which the answer for these holders may change: between two of them it is the same for every record. */
  const turns = (holders: ReadonlySet<AgentKey>): number[] => {
    const times = new Set<number>();
    for (const a of holders) for (const b of holders) if (a !== b) times.add(firstWithout(a, b)).add(firstWithout(threadOf(a), threadOf(b)));
    return [...times].sort((x, y) => x - y);
  };
  const decided = new Map<number, { readonly turns: readonly number[]; readonly winners: Map<number, AgentKey> }>();
  const winner = (claim: Claim): AgentKey => {
    const known = decided.get(groupOf(claim)) ?? { turns: turns(claim.holders), winners: new Map() };
    decided.set(groupOf(claim), known);
    const span = known.turns.findLastIndex((turn) => turn <= claim.at);
    const best = known.winners.get(span) ?? decide(claim);
    known.winners.set(span, best);
    return best;
  };
  return { winner };
}

interface SameHolders {
  at: number;
  readonly holders: readonly ReadonlySet<AgentKey>[];
}

/** The earliest of all observations whose records have the same holders. */
function groupByHolders(observations: readonly Observation[], claims: ReadonlyMap<RecordKey, Claim>, groupOf: (claim: Claim) => number): SameHolders[] {
  const groups = new Map<string, SameHolders>();
  for (const o of observations) {
    if (o.at === null) continue;
    const held = o.keys.flatMap((key) => claims.get(key) ?? []);
    const name = held.map(groupOf).join(" ");
    const known = groups.get(name);
    if (known === undefined) groups.set(name, { at: o.at, holders: held.map((claim) => claim.holders) });
    else known.at = Math.min(known.at, o.at);
  }
  return [...groups.values()];
}

function newestCopies(observations: readonly Observation[], owners: ReadonlyMap<RecordKey, AgentKey>): Map<AgentKey, AgentKey> {
  const newest = new Map<AgentKey, { at: number; owner: AgentKey }>();
  for (const o of observations) {
    for (const key of o.keys) {
      const owner = owners.get(key);
      if (owner === undefined || owner === o.speaker) continue;
      const at = o.at ?? Number.NEGATIVE_INFINITY;
      const known = newest.get(o.speaker);
      if (known === undefined || at > known.at || (at === known.at && owner < known.owner)) newest.set(o.speaker, { at, owner });
    }
  }
  return new Map([...newest].map(([holder, copy]) => [holder, copy.owner]));
}
