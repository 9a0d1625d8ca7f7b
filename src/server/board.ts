import type { CardAgents, Cards } from "../app/cards/cards.ts";
import type { AgentKey } from "../core/facts/ids.ts";
import type { Forest } from "../core/link/forest.ts";
import type { Change } from "./journal.ts";

/** Publishes changed cards: remembers the last published state of each. */
export class Board {
  readonly #cards: Cards;
  readonly #known = new Map<string, string>();
  #threads: readonly AgentKey[] = [];

  constructor(cards: Cards) {
    this.#cards = cards;
  }

  /** Marks the current cards as published, because new clients fetch them with a request. */
  async markPublished(): Promise<void> {
    await this.#update();
  }

  /** Returns the changed cards. Skips the work if the forest contains no thread of a card. */
  async changes(forest: Forest | null): Promise<Change[]> {
    if (forest !== null && !this.#threads.some((key) => forest.agents.has(key)) && !hasUnassigned(forest)) return [];
    return this.#update(forest === null ? undefined : (thread) => forest.agents.has(thread));
  }

  async #update(changed?: (thread: AgentKey) => boolean): Promise<Change[]> {
    const cards = await this.#cards.list(changed);
    this.#threads = cards.flatMap(({ threads }) => threads);
    const changes = cards.flatMap(({ card }) => {
      const data = JSON.stringify(card);
      if (this.#known.get(card.id) === data) return [];
      this.#known.set(card.id, data);
      return [change("card", card.id, data)];
    });
    return [...changes, ...this.#removed(cards)];
  }

  #removed(cards: readonly CardAgents[]): Change[] {
    const removed = [...this.#known.keys()].filter((id) => !cards.some(({ card }) => card.id === id));
    for (const id of removed) this.#known.delete(id);
    return removed.map((id) => change("card-removed", id, JSON.stringify({ id })));
  }
}

const change = (type: "card" | "card-removed", id: string, data: string): Change => ({
  type,
  subject: `card ${id}`,
  isThread: false,
  chain: [],
  data,
});

const hasUnassigned = (forest: Forest) => [...forest.agents.values()].some(({ kind }) => kind === "unassigned");
