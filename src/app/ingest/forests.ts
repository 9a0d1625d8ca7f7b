import type { AgentKey } from "../../core/facts/ids.ts";
import type { Forest } from "../../core/link/forest.ts";
import type { ManualLink } from "../../core/link/parents.ts";
import { boundWaiting } from "../../stores/heap.ts";

/** The versions of the facts that a forest was linked from. */
interface Basis {
  readonly versions: ReadonlyMap<AgentKey, number>;
  readonly manual: readonly ManualLink[];
  readonly under: readonly string[];
}

/** Number of cached forests: enough for about twenty busy threads. */
const KEPT = 32;
/** Maximum number of unfolded facts in cached forests, which keep them in memory. */
const KEPT_FACTS = 40_000;
/** How long a forest with running agents is valid: their processes may end without a new record. */
const RUNNING_MS = 900;
const SETTLED_MS = 60_000;

interface Kept {
  readonly name: string;
  readonly threads: readonly AgentKey[];
  readonly forest: Forest;
  readonly until: number;
}

/** A cache of recently linked forests, for clients that follow the same threads. */
export class Forests {
  readonly #isEnabled: boolean;
  #kept: Kept[] = [];

  /** Caches nothing unless `isEnabled`. */
  constructor(isEnabled: boolean) {
    this.#isEnabled = isEnabled;
  }

  keep(basis: Basis, forest: Forest): void {
    if (!this.#isEnabled) return;
    boundWaiting();
    const name = nameOf(basis);
    const isRunning = [...forest.agents.values()].some(
      ({ verdict: { status } }) => status === "running" || status === "pendingInit",
    );
    const one: Kept = {
      name,
      threads: [...basis.versions.keys()],
      forest,
      until: performance.now() + (isRunning ? RUNNING_MS : SETTLED_MS),
    };
    let facts = 0;
    const isRoom = ({ forest: { facts: more } }: Kept, i: number) => {
      facts += more;
      return i === 0 || (i < KEPT && facts <= KEPT_FACTS);
    };
    // Forests of older versions are not requested again.
    const isOther = (other: Kept) => !other.threads.some((thread) => basis.versions.has(thread));
    this.#kept = [one, ...this.#kept.filter(isOther)].filter(isRoom);
  }

  find(basis: Basis): Forest | null {
    if (!this.#isEnabled) return null;
    const name = nameOf(basis);
    return this.#kept.find((one) => one.name === name && performance.now() < one.until)?.forest ?? null;
  }
}

const nameOf = ({ versions, manual, under }: Basis) =>
  JSON.stringify([[...versions].sort(([a], [b]) => (a < b ? -1 : 1)), manual, under]);
