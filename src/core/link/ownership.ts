import { type AgentKey, messageIn, type RecordKey } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { isOutside } from "../facts/origin.ts";
import { cached } from "../tools/collections.ts";
import { type Claim, Copies } from "./copies.ts";

/**
 * Products copy records: a forked session begins with the history of the original, a forked agent with its parent's
 * last response, a promoted agent with all its records. A copy keeps the ids of the original and is not marked. This
 * decides which agent owns a record, so that it counts once.
 * The rule: of two holders, the one with other activity before the record was written is the original; the other one
 * began later and copied it. If that is inconclusive, `copies.ts` has further evidence.
 */
interface Ownership {
  /** False for everything in a copied record. */
  readonly isOriginal: (observation: Observation) => boolean;
  readonly ownerOf: (key: RecordKey) => AgentKey | undefined;
  /** For an agent with copies: the owner of the newest one. */
  readonly copiedFrom: ReadonlyMap<AgentKey, AgentKey>;
  /** The same with the owners of all copies, that of the newest one first, then by name. */
  readonly copiedFromAll: ReadonlyMap<AgentKey, readonly AgentKey[]>;
}

export function decideOwnership(observations: readonly Observation[]): Ownership {
  const claims = collectClaims(observations);
  const overruled = addWitnessClaims(observations, claims);
  const shared = new Map([...claims].filter(([, claim]) => claim.holders.size > 1));
  const owners = new Map<RecordKey, AgentKey>();
  if (shared.size > 0) {
    const winner = decideWinners(
      observations.filter((o) => !isOutside(o)),
      claims,
      shared,
    );
    for (const [key, claim] of shared) owners.set(key, winner(key, claim));
  }
  const ownerOf = (key: RecordKey) => owners.get(key) ?? claims.get(key)?.holders.values().next().value;
  for (const key of overruled) {
    const owner = ownerOf(key);
    if (owner !== undefined) owners.set(key, owner);
  }
  // All rows of a message get the same owner.
  const isOriginal = (o: Observation) => {
    const message = messageIn(o);
    return message === undefined || (owners.get(message) ?? o.speaker) === o.speaker;
  };
  const copiedFromAll = ownersOfCopies(observations, owners);
  const copiedFrom = new Map([...copiedFromAll].flatMap(([holder, [newest]]) => (newest ? [[holder, newest]] : [])));
  return { isOriginal, ownerOf, copiedFrom, copiedFromAll };
}

function collectClaims(observations: readonly Observation[]): Map<RecordKey, Claim> {
  const claims = new Map<RecordKey, Claim>();
  for (const o of observations) if (!isOutside(o)) for (const key of o.keys) claim(claims, key, o);
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

/**
 * Adds claims of witnesses to records that the product does not keep. Returns the records that the product keeps and
 * that a witness assigns to an agent whose records do not contain them.
 */
function addWitnessClaims(observations: readonly Observation[], claims: Map<RecordKey, Claim>): ReadonlySet<RecordKey> {
  const overruled = new Set<RecordKey>();
  const ofProduct = new Set(claims.keys());
  for (const o of observations) {
    if (!isOutside(o)) continue;
    for (const key of o.keys) {
      if (!ofProduct.has(key)) claim(claims, key, o);
      else if (claims.get(key)?.holders.has(o.speaker) === false) overruled.add(key);
    }
  }
  return overruled;
}

function decideWinners(
  observations: readonly Observation[],
  claims: ReadonlyMap<RecordKey, Claim>,
  shared: ReadonlyMap<RecordKey, Claim>,
) {
  const copies = new Copies(observations, claims, new Set([...shared.values()].flatMap((claim) => [...claim.holders])));
  const spawned = new Set(observations.flatMap((o) => (o.type === "call-spawned" ? [o.child] : [])));
  // Without other evidence, an agent with a known parent is not a copy; then the name decides, so that the order does
  // not matter.
  const rank = (holder: AgentKey) => `${spawned.has(holder) ? 0 : 1}${holder}`;
  const decide = (key: RecordKey, { at, holders }: Claim): AgentKey => {
    const all = [...holders];
    const unbeaten = all.filter((b) => !all.some((a) => a !== b && copies.beats(a, b, key, at)));
    return (unbeaten.length > 0 ? unbeaten : all).reduce((best, holder) => (rank(holder) < rank(best) ? holder : best));
  };
  // Forks share thousands of records, most with the same evidence: each group is decided once.
  const decided = new Map<string, AgentKey>();
  return (key: RecordKey, claim: Claim): AgentKey =>
    cached(decided, copies.evidenceKey(key, claim), () => decide(key, claim));
}

function ownersOfCopies(
  observations: readonly Observation[],
  owners: ReadonlyMap<RecordKey, AgentKey>,
): Map<AgentKey, readonly AgentKey[]> {
  const copies = new Map<AgentKey, { at: number; newest: AgentKey; readonly all: Set<AgentKey> }>();
  for (const o of observations) {
    for (const key of o.keys) {
      const owner = owners.get(key);
      if (owner === undefined || owner === o.speaker) continue;
      const at = o.at ?? Number.NEGATIVE_INFINITY;
      const known = cached(copies, o.speaker, () => ({ at, newest: owner, all: new Set<AgentKey>() }));
      known.all.add(owner);
      if (at > known.at || (at === known.at && owner < known.newest)) Object.assign(known, { at, newest: owner });
    }
  }
  return new Map(
    [...copies].map(([holder, { newest, all }]) => [
      holder,
      [newest, ...[...all].sort().filter((one) => one !== newest)],
    ]),
  );
}
