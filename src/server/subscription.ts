import type { AgentKey } from "../core/facts/ids.ts";
import type { Entry } from "./journal.ts";

/** The subscriptions of a client. None means everything. */
export interface Subscription {
  readonly threads: boolean;
  readonly trees: readonly AgentKey[];
  readonly events: readonly AgentKey[];
  readonly logs: readonly AgentKey[];
  readonly cards: boolean;
  /** Spans of these agents and their subtrees. They are sent only if they are requested. */
  readonly spans: readonly AgentKey[];
}

export const isUnfiltered = ({ threads, trees, events, logs, cards, spans }: Subscription) =>
  !threads && !cards && trees.length + events.length + logs.length + spans.length === 0;

/** Whether a journal entry is sent to a client with these subscriptions. */
export function concerns(subscription: Subscription, { type, isThread, chain: [own, ...above] }: Entry): boolean {
  if (type === "spans") return subscription.spans.some((key) => key === own);
  if (isUnfiltered(subscription) || type === "troubles") return true;
  if (type === "card" || type === "card-removed") return subscription.cards;
  const isIn = (keys: readonly AgentKey[]) => keys.some((key) => key === own || above.includes(key));
  const asEvent = () => isIn(subscription.logs) || subscription.events.some((key) => key === own);
  const asRecord = () => (subscription.threads && isThread) || isIn(subscription.trees);
  return type === "event"
    ? asEvent()
    : type === "reset"
      ? asEvent() || asRecord() || isIn(subscription.spans)
      : asRecord();
}
