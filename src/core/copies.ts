import { type AgentKey, placeOf, type RecordKey, threadOf } from "./ids.ts";
import type { Observation } from "./observation.ts";

/** Which agents hold a record, and when it was written. */
export interface Claim {
  at: number;
  readonly holders: Set<AgentKey>;
}

/** Clocks and file systems are not exact. */
const SLACK_MS = 2_000;

/**
 * Signs by which one of two holders of the same record can be told to have copied it.
 * Each is silent where it proves nothing; they are asked in order, the surest first.
 */
export class Copies {
  readonly #claims: ReadonlyMap<RecordKey, Claim>;
  readonly #byHolder = new Map<AgentKey, Observation[]>();
  readonly #born = new Map<AgentKey, number>();
  readonly #speakers = new Set<AgentKey>();
  readonly #firsts = new Map<string, number>();
  readonly #inverted = new Map<AgentKey, ReadonlySet<RecordKey>>();

  /** `rivals` are all agents that hold a record somebody else holds too. */
  constructor(observations: readonly Observation[], claims: ReadonlyMap<RecordKey, Claim>, rivals: ReadonlySet<AgentKey>) {
    this.#claims = claims;
    const wanted = new Set([...rivals, ...[...rivals].map(threadOf)]);
    for (const o of observations) {
      if (o.type === "record") this.#speakers.add(o.speaker);
      if (o.type === "agent-described" && o.file?.bornMs != null)
        this.#born.set(o.agent, Math.min(this.#born.get(o.agent) ?? Number.POSITIVE_INFINITY, o.file.bornMs));
      for (const holder of new Set([o.speaker, threadOf(o.speaker)])) {
        if (!wanted.has(holder) || (holder !== o.speaker && rivals.has(holder))) continue;
        const list = this.#byHolder.get(holder);
        if (list === undefined) this.#byHolder.set(holder, [o]);
        else list.push(o);
      }
    }
  }

  /** True if `b` is known to have copied from `a` the record `key`, written at `at`. */
  beats(a: AgentKey, b: AgentKey, key: RecordKey, at: number): boolean {
    const signs: ((holder: AgentKey, other: AgentKey) => boolean)[] = [
      (holder, other) => this.#beganAfter(holder, other, at),
      (holder) => (this.#born.get(holder) ?? Number.NEGATIVE_INFINITY) > at + SLACK_MS,
      (holder) => this.#invertedIn(holder).has(key),
      (holder, other) => !this.#hasChildren(holder, other),
      (holder, other) => this.#beganAfter(threadOf(holder), threadOf(other), at),
    ];
    for (const copied of signs) {
      const [late, early] = [copied(b, a), copied(a, b)];
      if (late !== early) return late;
    }
    return false;
  }

  /** It did nothing of its own before the record was written. Holding nothing of its own at all proves nothing. */
  #beganAfter(holder: AgentKey, other: AgentKey, at: number): boolean {
    const first = this.#firstWithout(holder, other);
    return Number.isFinite(first) && first > at;
  }

  /** When `holder` first did something that `other` does not hold. */
  #firstWithout(holder: AgentKey, other: AgentKey): number {
    const pair = `${holder} ${other}`;
    const known = this.#firsts.get(pair);
    if (known !== undefined) return known;
    let first = Number.POSITIVE_INFINITY;
    for (const o of this.#byHolder.get(holder) ?? []) {
      if (o.at !== null && o.at < first && !this.#isHeldBy(o, other)) first = o.at;
    }
    this.#firsts.set(pair, first);
    return first;
  }

  #isHeldBy(o: Observation, other: AgentKey): boolean {
    return o.keys.some((key) => this.#claims.get(key)?.holders.has(other));
  }

  /** Records that stand below something written later: a session that is forked begins its file, and then copies. */
  #invertedIn(holder: AgentKey): ReadonlySet<RecordKey> {
    const known = this.#inverted.get(holder);
    if (known !== undefined) return known;
    const inverted = new Set<RecordKey>();
    const newest = new Map<string, number>();
    const inOrder = (this.#byHolder.get(holder) ?? []).filter((o) => o.speaker === holder && o.at !== null).sort((a, b) => a.order - b.order);
    for (const o of inOrder) {
      const file = placeOf(o.id).replace(/:\d+$/, "");
      const before = newest.get(file) ?? Number.NEGATIVE_INFINITY;
      if ((o.at ?? 0) < before - SLACK_MS) for (const key of o.keys) inverted.add(key);
      newest.set(file, Math.max(before, o.at ?? 0));
    }
    this.#inverted.set(holder, inverted);
    return inverted;
  }

  /** Agents' own files stay where they were made: only the original has records of the agents that the shared records tell of. */
  #hasChildren(holder: AgentKey, other: AgentKey): boolean {
    return (this.#byHolder.get(holder) ?? []).some(
      (o) => o.type === "call-spawned" && o.speaker === holder && this.#speakers.has(o.child) && this.#isHeldBy(o, other),
    );
  }
}
