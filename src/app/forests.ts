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

/** Forests that were worked out a moment ago: whoever asks about the same facts again need not wait for them to be linked again. */
export class Forests {
  #kept: { readonly name: string; readonly forest: Forest; readonly lastsMs: number }[] = [];

  keep(basis: Basis, forest: Forest): void {
    const name = nameOf(basis);
    const isRunning = [...forest.agents.values()].some(({ verdict: { status } }) => status === "running" || status === "pendingInit");
    const one = { name, forest, lastsMs: isRunning ? RUNNING_MS : SETTLED_MS };
    this.#kept = [one, ...this.#kept.filter((other) => other.name !== name)].slice(0, KEPT);
  }

  find(basis: Basis, now: number): Forest | null {
    const name = nameOf(basis);
    return this.#kept.find((one) => one.name === name && Math.abs(now - one.forest.now) < one.lastsMs)?.forest ?? null;
  }
}

const nameOf = ({ versions, manual, under }: Basis) => JSON.stringify([[...versions].sort(([a], [b]) => (a < b ? -1 : 1)), manual, under]);
