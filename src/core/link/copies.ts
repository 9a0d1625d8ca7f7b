import { type AgentKey, fileOf, type RecordKey, threadOf } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { isReport } from "../facts/origin.ts";
import { addTo, cached, lowerBound } from "../tools/collections.ts";

/** The agents that contain a record, and when it was written. */
export interface Claim {
  at: number;
  readonly holders: Set<AgentKey>;
}

/** Observations of one agent whose records have the same holders, represented by the earliest. */
interface SameHolders {
  at: number;
  readonly holders: readonly ReadonlySet<AgentKey>[];
}

/**
 * Claims with the same holders, and the times at which their evidence changes: in between it is the same for every
 * record.
 */
interface Group {
  readonly number: number;
  changeTimes?: readonly number[];
}

/** Clocks and file systems are not exact. */
const SLACK_MS = 2_000;

/**
 * Evidence of which of two holders of a record copied it. Each kind may be inconclusive; they are checked in order,
 * most reliable first.
 */
export class Copies {
  readonly #claims: ReadonlyMap<RecordKey, Claim>;
  readonly #byHolder = new Map<AgentKey, Observation[]>();
  readonly #born = new Map<AgentKey, number>();
  readonly #speakers = new Set<AgentKey>();
  readonly #groups = new Map<string, Group>();
  readonly #groupOfClaim = new Map<Claim, Group>();
  readonly #sameHolders = new Map<AgentKey, readonly SameHolders[]>();
  readonly #spawns = new Map<AgentKey, readonly Observation[]>();
  readonly #firsts = new Map<AgentKey, Map<AgentKey, number>>();
  readonly #children = new Map<AgentKey, Map<AgentKey, boolean>>();
  readonly #inverted = new Map<AgentKey, ReadonlySet<RecordKey>>();

  /** `sharing` are all agents that contain a record which another agent contains, too. */
  constructor(
    observations: readonly Observation[],
    claims: ReadonlyMap<RecordKey, Claim>,
    sharing: ReadonlySet<AgentKey>,
  ) {
    this.#claims = claims;
    const wanted = new Set([...sharing, ...[...sharing].map(threadOf)]);
    for (const o of observations) {
      if (o.type === "record") this.#speakers.add(o.speaker);
      if (o.type === "agent-described" && o.file?.bornMs != null)
        this.#born.set(o.agent, Math.min(this.#born.get(o.agent) ?? Number.POSITIVE_INFINITY, o.file.bornMs));
      // Live sources do not copy records, and their times are by another clock.
      if (isReport(o)) continue;
      for (const holder of new Set([o.speaker, threadOf(o.speaker)])) {
        if (!wanted.has(holder) || (holder !== o.speaker && sharing.has(holder))) continue;
        addTo(this.#byHolder, holder, o);
      }
    }
  }

  /** True if `b` copied the record `key`, written at `at`, from `a`. */
  beats(a: AgentKey, b: AgentKey, key: RecordKey, at: number): boolean {
    const signsOfCopy: ((holder: AgentKey, other: AgentKey) => boolean)[] = [
      (holder, other) => this.#beganAfter(holder, other, at),
      (holder) => this.#bornAt(holder) > at,
      (holder) => this.#invertedIn(holder).has(key),
      (holder, other) => !this.#hasChildren(holder, other),
      (holder, other) => this.#beganAfter(threadOf(holder), threadOf(other), at),
    ];
    for (const isCopy of signsOfCopy) {
      const [isInB, isInA] = [isCopy(b, a), isCopy(a, b)];
      if (isInB !== isInA) return isInB;
    }
    return false;
  }

  /**
   * The holder had no activity of its own before the record was written. Having no records of its own at all proves
   * nothing.
   */
  #beganAfter(holder: AgentKey, other: AgentKey, at: number): boolean {
    const first = this.#firstWithout(holder, other);
    return Number.isFinite(first) && first > at;
  }

  /** The earliest possible creation time of its file. */
  #bornAt(holder: AgentKey): number {
    return (this.#born.get(holder) ?? Number.NEGATIVE_INFINITY) - SLACK_MS;
  }

  /** When `holder` first had a record that `other` does not contain. */
  #firstWithout(holder: AgentKey, other: AgentKey): number {
    return cachedPair(this.#firsts, holder, other, () => {
      let first = Number.POSITIVE_INFINITY;
      for (const { at, holders } of this.#sameHoldersIn(holder))
        if (at < first && !holders.some((set) => set.has(other))) first = at;
      return first;
    });
  }

  #sameHoldersIn(holder: AgentKey): readonly SameHolders[] {
    return cached(this.#sameHolders, holder, () => {
      const groups = new Map<string, SameHolders>();
      for (const o of this.#byHolder.get(holder) ?? []) {
        if (o.at === null) continue;
        const held = o.keys.flatMap((key) => this.#claims.get(key) ?? []);
        const name = held.map((claim) => this.#groupOf(claim).number).join(" ");
        const group = groups.get(name);
        if (group === undefined) groups.set(name, { at: o.at, holders: held.map((claim) => claim.holders) });
        else group.at = Math.min(group.at, o.at);
      }
      return [...groups.values()];
    });
  }

  #groupOf(claim: Claim): Group {
    return cached(this.#groupOfClaim, claim, () =>
      cached(this.#groups, [...claim.holders].sort().join(" "), () => ({ number: this.#groups.size })),
    );
  }

  /** Equal for records with the same holders and the same evidence. */
  evidenceKey(key: RecordKey, claim: Claim): string {
    const group = this.#groupOf(claim);
    group.changeTimes ??= this.#changeTimes(claim.holders);
    const changes = lowerBound(group.changeTimes, (time) => time <= claim.at);
    const inverted = [...claim.holders].filter((holder) => this.#invertedIn(holder).has(key)).sort();
    return [group.number, changes, ...inverted].join(" ");
  }

  #changeTimes(holders: ReadonlySet<AgentKey>): number[] {
    const times = new Set<number>();
    for (const a of holders) {
      times.add(this.#bornAt(a));
      for (const b of holders)
        if (a !== b) times.add(this.#firstWithout(a, b)).add(this.#firstWithout(threadOf(a), threadOf(b)));
    }
    return [...times].sort((x, y) => x - y);
  }

  #isHeldBy(o: Observation, other: AgentKey): boolean {
    return o.keys.some((key) => this.#claims.get(key)?.holders.has(other));
  }

  /** Records that follow a later one in the file: a forked session writes its own first record and then copies. */
  #invertedIn(holder: AgentKey): ReadonlySet<RecordKey> {
    return cached(this.#inverted, holder, () => {
      const inverted = new Set<RecordKey>();
      const newest = new Map<string, number>();
      const inOrder = (this.#byHolder.get(holder) ?? [])
        .filter((o) => o.speaker === holder && o.at !== null)
        .sort((a, b) => a.order - b.order);
      for (const o of inOrder) {
        const file = fileOf(o.id);
        const before = newest.get(file) ?? Number.NEGATIVE_INFINITY;
        if ((o.at ?? 0) < before - SLACK_MS) for (const key of o.keys) inverted.add(key);
        newest.set(file, Math.max(before, o.at ?? 0));
      }
      return inverted;
    });
  }

  /** Transcripts of agents are not copied: only the original has records of the agents that the shared records name. */
  #hasChildren(holder: AgentKey, other: AgentKey): boolean {
    return cachedPair(this.#children, holder, other, () =>
      this.#spawnsBy(holder).some((o) => this.#isHeldBy(o, other)),
    );
  }

  #spawnsBy(holder: AgentKey): readonly Observation[] {
    const isSpawn = (o: Observation) =>
      o.type === "call-spawned" && o.speaker === holder && this.#speakers.has(o.child);
    return cached(this.#spawns, holder, () => (this.#byHolder.get(holder) ?? []).filter(isSpawn));
  }
}

const cachedPair = <T>(cache: Map<AgentKey, Map<AgentKey, T>>, a: AgentKey, b: AgentKey, make: () => T): T =>
  cached(
    cached(cache, a, () => new Map<AgentKey, T>()),
    b,
    make,
  );
