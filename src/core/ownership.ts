import { type Claim, Copies } from "./copies.ts";
import type { AgentKey, RecordKey } from "./ids.ts";
import type { Observation } from "./observation.ts";

/**
 * Products copy records: a forked session begins with the history of the first one, a forked agent with its parent's last answer,
 * a promoted agent with everything it ever did. Every copy keeps the ids of the original, and nothing marks it as a copy.
 * This decides whose a record is, so that what it says and what it cost count once.
 *
 * The rule: of two claimants, the one that did anything else before the record was written is the original; the other began later and copied it.
 * Where that proves nothing, `copies.ts` knows more signs.
 */
export interface Ownership {
  /** False for everything that stands in a copied record. */
  readonly isOriginal: (observation: Observation) => boolean;
  readonly ownerOf: (key: RecordKey) => AgentKey | undefined;
  /** For an agent that holds copies: the owner of the newest of them. */
  readonly copiedFrom: ReadonlyMap<AgentKey, AgentKey>;
}

export function decideOwnership(observations: readonly Observation[]): Ownership {
  const claims = collectClaims(observations);
  const overruled = claimsOfWitnesses(observations, claims);
  const shared = new Map([...claims].filter(([, claim]) => claim.holders.size > 1));
  const owners = new Map<RecordKey, AgentKey>();
  if (shared.size > 0) {
    const winner = decideWinners(
      observations.filter((o) => o.witness === undefined),
      claims,
      shared,
    );
    for (const [key, claim] of shared) owners.set(key, winner(key, claim));
  }
  for (const key of overruled) {
    const owner = owners.get(key) ?? claims.get(key)?.holders.values().next().value;
    if (owner !== undefined) owners.set(key, owner);
  }
  const ownerOf = (key: RecordKey) => owners.get(key) ?? claims.get(key)?.holders.values().next().value;
  // The last key is the response's, where there is one: all rows of a response go to one owner, whatever the times of single rows suggest.
  const isOriginal = (o: Observation) => o.keys.slice(-1).every((key) => (owners.get(key) ?? o.speaker) === o.speaker);
  return { isOriginal, ownerOf, copiedFrom: newestCopies(observations, owners) };
}

function collectClaims(observations: readonly Observation[]): Map<RecordKey, Claim> {
  const claims = new Map<RecordKey, Claim>();
  for (const o of observations) if (o.witness === undefined) for (const key of o.keys) claim(claims, key, o);
  return claims;
}

function claim(claims: Map<RecordKey, Claim>, key: RecordKey, o: Observation) {
  const known = claims.get(key);
  const at = o.at ?? Number.POSITIVE_INFINITY;
  if (known === undefined) claims.set(key, { at, holders: new Set([o.speaker]) });
  else {
    known.at = Math.min(known.at, at);
    known.holders.add(o.speaker);
  }
}

/** Adds what only witnesses tell of; says which records they take for somebody's who does not hold them. */
function claimsOfWitnesses(observations: readonly Observation[], claims: Map<RecordKey, Claim>): ReadonlySet<RecordKey> {
  const overruled = new Set<RecordKey>();
  const ofProduct = new Set(claims.keys());
  for (const o of observations) {
    if (o.witness === undefined) continue;
    for (const key of o.keys) {
      if (!ofProduct.has(key)) claim(claims, key, o);
      else if (claims.get(key)?.holders.has(o.speaker) === false) overruled.add(key);
    }
  }
  return overruled;
}

function decideWinners(observations: readonly Observation[], claims: ReadonlyMap<RecordKey, Claim>, shared: ReadonlyMap<RecordKey, Claim>) {
  const copies = new Copies(observations, claims, new Set([...shared.values()].flatMap((claim) => [...claim.holders])));
  const spawned = new Set(observations.flatMap((o) => (o.type === "call-spawned" ? [o.child] : [])));
  // Where nothing else is known, an agent that a parent is known to have spawned is no copy; then the name decides, so that any order gives the same.
  const rank = (holder: AgentKey) => `${spawned.has(holder) ? 0 : 1}${holder}`;
  const decide = (key: RecordKey, { at, holders }: Claim): AgentKey => {
    const all = [...holders];
    const unbeaten = all.filter((b) => !all.some((a) => a !== b && copies.beats(a, b, key, at)));
    return (unbeaten.length > 0 ? unbeaten : all).reduce((best, holder) => (rank(holder) < rank(best) ? holder : best));
  };
  // Forks hold the same records by the thousand, and most of these look the same from all sides: they are decided once.
  const decided = new Map<string, AgentKey>();
  return (key: RecordKey, claim: Claim): AgentKey => {
    const look = copies.look(key, claim);
    const winner = decided.get(look) ?? decide(key, claim);
    decided.set(look, winner);
    return winner;
  };
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
