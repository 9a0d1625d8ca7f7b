import type { AgentKey } from "../core/ids.ts";
import type { Entry } from "./journal.ts";

/** What a client wants to hear of. Nothing named means everything. */
export interface Wishes {
  readonly threads: boolean;
  readonly trees: readonly AgentKey[];
  readonly events: readonly AgentKey[];
  readonly logs: readonly AgentKey[];
  readonly cards: boolean;
}

export const isEverything = ({ threads, trees, events, logs, cards }: Wishes) => !threads && !cards && trees.length + events.length + logs.length === 0;

export function concerns(wishes: Wishes, { type, isThread, chain: [own, ...above] }: Entry): boolean {
  if (isEverything(wishes) || type === "troubles") return true;
  if (type === "card" || type === "card-removed") return wishes.cards;
  const isIn = (keys: readonly AgentKey[]) => keys.some((key) => key === own || above.includes(key));
  const asEvent = () => isIn(wishes.logs) || wishes.events.some((key) => key === own);
  const asRecord = () => (wishes.threads && isThread) || isIn(wishes.trees);
  return type === "event" ? asEvent() : type === "reset" ? asEvent() || asRecord() : asRecord();
}
