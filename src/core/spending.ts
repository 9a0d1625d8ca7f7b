import { CallSums, type Calls } from "./call-list.ts";
import type { ModelCall } from "./gather.ts";
import { MOST } from "./json.ts";
import type { Price } from "./record.ts";
import { addUsage, NO_USAGE, type Usage } from "./usage.ts";

/** What model calls cost, in all and by day and model. */
export interface Spending {
  usage: Usage;
  /** In order of first use. */
  readonly models: Set<string>;
  readonly parts: Map<string, SpendingPart>;
  /** A call states a number of tokens that cannot be. */
  hasAbsurd: boolean;
}

export interface SpendingPart {
  /** In UTC; null where the calls carry no time. */
  readonly day: string | null;
  readonly model: string;
  readonly usage: Usage;
}

const copyOf = ({ usage, models, parts, hasAbsurd }: Spending): Spending => ({ usage, models: new Set(models), parts: new Map(parts), hasAbsurd });
const nothing = (): Spending => ({ usage: NO_USAGE, models: new Set(), parts: new Map(), hasAbsurd: false });
const isAbsurd = ({ tokens }: ModelCall) => Object.values(tokens).some((amount) => amount >= MOST);

function adder(price: Price, provider: string) {
  return (sum: Spending, call: ModelCall) => {
    const used = { calls: 1, ...call.tokens, costUsd: price(call, provider) };
    sum.usage = addUsage(sum.usage, used);
    sum.hasAbsurd ||= isAbsurd(call);
    if (call.model !== "") sum.models.add(call.model);
    const day = call.at === null ? null : new Date(call.at).toISOString().slice(0, 10);
    const name = `${day} ${call.model}`;
    sum.parts.set(name, { day, model: call.model, usage: addUsage(sum.parts.get(name)?.usage ?? NO_USAGE, used) });
  };
}

const sums = new WeakMap<Price, Map<string, CallSums<Spending>>>();

/** What an agent's own calls cost. Of calls that grow only the new ones are looked at. */
export function spendingOf(calls: Calls, price: Price, provider: string): Spending {
  const byProvider = sums.get(price) ?? new Map<string, CallSums<Spending>>();
  sums.set(price, byProvider);
  const known = byProvider.get(provider) ?? new CallSums({ start: nothing, copy: copyOf, add: adder(price, provider) });
  byProvider.set(provider, known);
  return known.of(calls);
}

/** The same, with the calls of others behind them. */
export function spendingWith(calls: Calls, others: readonly Calls[], price: Price, provider: string): Spending {
  const sum = spendingOf(calls, price, provider);
  const add = adder(price, provider);
  for (const other of others) for (const call of other) add(sum, call);
  return sum;
}
