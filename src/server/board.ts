import type { CardAgents, Cards } from "../app/cards.ts";
import type { AgentKey } from "../core/ids.ts";
import type { Forest } from "../core/link.ts";
import type { Change } from "./journal.ts";

/** Knows how the cards stood when they were last told of, and so what is news about them. */
export class Board {
  readonly #cards: Cards;
  readonly #known = new Map<string, string>();
  #threads: readonly AgentKey[] = [];

  constructor(cards: Cards) {
    this.#cards = cards;
  }

  /** Takes what is there as known: whoever begins to follow asks for it. */
  async learn(): Promise<void> {
    await this.#look();
  }

  /** What changed. Where only these trees may have, and no card is about any of them, nothing is looked at. */
  async changes(forest: Forest | null): Promise<Change[]> {
    if (forest !== null && !this.#threads.some((key) => forest.agents.has(key)) && !hasUnassigned(forest)) return [];
    return this.#look(forest === null ? undefined : (thread) => forest.agents.has(thread));
  }

  async #look(changed?: (thread: AgentKey) => boolean): Promise<Change[]> {
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
    const gone = [...this.#known.keys()].filter((id) => !cards.some(({ card }) => card.id === id));
    for (const id of gone) this.#known.delete(id);
    return gone.map((id) => change("card-removed", id, JSON.stringify({ id })));
  }
}

const change = (type: "card" | "card-removed", id: string, data: string): Change => ({ type, subject: `card ${id}`, isThread: false, chain: [], data });

const hasUnassigned = (forest: Forest) => [...forest.agents.values()].some(({ kind }) => kind === "unassigned");
