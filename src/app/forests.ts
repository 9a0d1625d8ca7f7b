import type { AgentKey } from "../core/ids.ts";
import type { Forest } from "../core/link.ts";
import type { ManualLink } from "../core/parents.ts";

/** What a forest was worked out from. */
export interface Basis {
  readonly versions: ReadonlyMap<AgentKey, number>;
  readonly manual: readonly ManualLink[];
  readonly under: readonly string[];
}

/** Forests are large. */
const KEPT = 2;
/** While something runs, its process may die and its silence may grow too long; that is looked after once a second. */
const RUNNING_MS = 900;
const SETTLED_MS = 60_000;

/** Forests that were worked out a moment ago: whoever follows along asks about the same facts again and again, and need not wait for them to be linked. */
export class Forests {
  #kept: { readonly name: string; readonly forest: Forest; readonly until: number }[] = [];
  /** What is asked for once is worked out for this very moment. */
  isKeeping = false;

  keep(basis: Basis, forest: Forest): void {
    if (!this.isKeeping) return;
    const name = nameOf(basis);
    const isRunning = [...forest.agents.values()].some(({ verdict: { status } }) => status === "running" || status === "pendingInit");
    const one = { name, forest, until: performance.now() + (isRunning ? RUNNING_MS : SETTLED_MS) };
    this.#kept = [one, ...this.#kept.filter((other) => other.name !== name)].slice(0, KEPT);
  }

  find(basis: Basis): Forest | null {
    if (!this.isKeeping) return null;
    const name = nameOf(basis);
    return this.#kept.find((one) => one.name === name && performance.now() < one.until)?.forest ?? null;
  }
}

const nameOf = ({ versions, manual, under }: Basis) => JSON.stringify([[...versions].sort(([a], [b]) => (a < b ? -1 : 1)), manual, under]);
