import type { AgentKey } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { Holders, hashOf } from "../tools/name-table.ts";
import { type Fold, NAME } from "./fold.ts";

/** Comparisons done so far among folds that are linked together. Folds only grow, so results stay valid. */
interface Compared {
  /** Number of compared keys of each fold. */
  readonly counts: Map<Fold, number>;
  /** Facts that are not folded, by their lists of keys. */
  readonly facts: WeakSet<object>;
  readonly sharing: Set<AgentKey>;
}

const compared = new WeakMap<Fold, Compared>();

/**
 * Agents whose records are also in the records of another agent. Keys that were compared in an earlier call with the
 * same folds are not visited again.
 */
export function sharingRecords(rare: readonly Observation[], folds: readonly Fold[]): ReadonlySet<AgentKey> {
  const fresh = freshIn(folds);
  return fresh === null ? compareAll(rare, folds) : compareFresh(rare, folds, fresh);
}

interface Fresh {
  readonly before: Compared;
  readonly keys: ReadonlyMap<Fold, readonly number[]>;
}

/** The keys that are new since the last comparison; null if all have to be compared. */
function freshIn(folds: readonly Fold[]): Fresh | null {
  const before = folds[0] === undefined ? undefined : compared.get(folds[0]);
  if (before === undefined || !new Set(folds).isSupersetOf(new Set(before.counts.keys()))) return null;
  const keys = new Map<Fold, readonly number[]>();
  let [count, all] = [0, 0];
  for (const fold of folds) {
    const known = before.counts.get(fold);
    const more = known === undefined ? [...fold.hashes(NAME.key)] : fold.keysSince(known);
    if (more === null) return null;
    if (more.length > 0) keys.set(fold, more);
    count += more.length;
    all += fold.nameCount;
  }
  // Every new key is looked up in every fold.
  return count * folds.length > all ? null : { before, keys };
}

function compareFresh(rare: readonly Observation[], folds: readonly Fold[], fresh: Fresh): ReadonlySet<AgentKey> {
  const { facts, sharing, counts } = fresh.before;
  const share = (a: AgentKey, b: AgentKey) => {
    if (a !== b) sharing.add(a).add(b);
  };
  const speakers = new Map<number, AgentKey>();
  for (const o of rare) {
    // Its other names are not in the list of keys.
    const isNew = o.type === "model-call" || !facts.has(o.keys);
    for (const name of namesOf(o)) {
      const hashed = hashOf(name);
      share(speakers.get(hashed) ?? o.speaker, o.speaker);
      speakers.set(hashed, o.speaker);
      if (isNew) for (const fold of folds) if (fold.names(hashed, NAME.key)) share(fold.speaker, o.speaker);
    }
  }
  for (const { keys } of rare) facts.add(keys);
  for (const [one, keys] of fresh.keys)
    for (const hashed of keys) {
      share(speakers.get(hashed) ?? one.speaker, one.speaker);
      for (const fold of folds) if (fold !== one && fold.names(hashed, NAME.key)) share(fold.speaker, one.speaker);
    }
  for (const fold of folds) counts.set(fold, fold.keyCount);
  remember(folds, fresh.before);
  return new Set(sharing);
}

function compareAll(rare: readonly Observation[], folds: readonly Fold[]): ReadonlySet<AgentKey> {
  const agents = [...new Set([...rare.map((o) => o.speaker), ...folds.map((fold) => fold.speaker)])];
  const numbers = new Map(agents.map((agent, number) => [agent, number]));
  const names = rare.map(namesOf);
  const sharing = new Set<number>();
  // Keys are looked up in the largest fold instead of copied, so that a huge transcript takes no extra memory.
  const largest = folds.reduce((a, b) => (b.nameCount > a.nameCount ? b : a));
  const ofLargest = numbers.get(largest.speaker) ?? 0;
  const others = folds.filter((fold) => fold !== largest);
  const holders = new Holders(
    names.reduce((sum, list) => sum + list.length, 0) + others.reduce((sum, fold) => sum + fold.nameCount, 0),
  );
  const hold = (hashed: number, holder: number) => {
    const other = largest.names(hashed, NAME.key) ? ofLargest : holders.hold(hashed, holder);
    if (other !== holder) sharing.add(other).add(holder);
  };
  for (const [i, o] of rare.entries())
    for (const name of names[i] ?? []) hold(hashOf(name), numbers.get(o.speaker) ?? 0);
  for (const fold of others) for (const hashed of fold.hashes(NAME.key)) hold(hashed, numbers.get(fold.speaker) ?? 0);
  const found = new Set([...sharing].map((number) => agents[number] as AgentKey));
  remember(folds, {
    counts: new Map(folds.map((fold) => [fold, fold.keyCount])),
    facts: new WeakSet(rare.map((o) => o.keys)),
    sharing: new Set(found),
  });
  return found;
}

function remember(folds: readonly Fold[], what: Compared) {
  for (const fold of folds) compared.set(fold, what);
}

function namesOf(o: Observation): readonly string[] {
  return o.type === "model-call"
    ? [...o.keys, ...[o.request, o.alias].filter((name) => name !== undefined), ...(o.fingerprints ?? [])]
    : o.keys;
}
