import { addUsage, NO_USAGE, type Usage } from "../facts/usage.ts";
import { CallSums, type Calls } from "../link/call-list.ts";
import type { LinkedAgent } from "../link/forest.ts";
import type { ModelCall } from "../link/gather.ts";
import type { Undivided } from "../link/reconcile.ts";
import { cached } from "../tools/collections.ts";
import { MAX_NUMBER } from "../tools/json.ts";
import type { Price } from "./record.ts";

/** The cost of model calls, in total and by day and model. */
export interface Spending {
  usage: Usage;
  /** In order of first use. */
  readonly models: Set<string>;
  readonly parts: Map<string, SpendingPart>;
  /** A call has an impossible number of tokens. */
  hasAbsurd: boolean;
}

interface SpendingPart {
  /** In UTC; null if the calls have no time. */
  readonly day: string | null;
  readonly model: string;
  readonly usage: Usage;
}

const copyOf = ({ usage, models, parts, hasAbsurd }: Spending): Spending => ({
  usage,
  models: new Set(models),
  parts: new Map(parts),
  hasAbsurd,
});
const nothing = (): Spending => ({ usage: NO_USAGE, models: new Set(), parts: new Map(), hasAbsurd: false });
const isAbsurd = ({ tokens }: ModelCall) =>
  tokens.inputTokens >= MAX_NUMBER ||
  tokens.outputTokens >= MAX_NUMBER ||
  tokens.reasoningTokens >= MAX_NUMBER ||
  tokens.cacheReadTokens >= MAX_NUMBER ||
  tokens.cacheWriteTokens >= MAX_NUMBER ||
  tokens.cacheWrite1hTokens >= MAX_NUMBER;

const DAY_MS = 86_400_000;
let lastDay = { number: Number.NaN, name: "" };

/** Cached, because most calls are on the same day as the previous one. */
function dayOf(at: number): string {
  const number = Math.floor(at / DAY_MS);
  if (number !== lastDay.number) lastDay = { number, name: new Date(at).toISOString().slice(0, 10) };
  return lastDay.name;
}

function adder(price: Price, provider: string) {
  return (sum: Spending, call: ModelCall) => {
    addUsed(sum, call, { calls: 1, ...call.tokens, costUsd: price(call, provider) });
    sum.hasAbsurd ||= isAbsurd(call);
    if (call.model !== "") sum.models.add(call.model);
  };
}

function addUsed(sum: Spending, { at, model }: ModelCall, used: Usage) {
  sum.usage = addUsage(sum.usage, used);
  const day = at === null ? null : dayOf(at);
  const name = `${day} ${model}`;
  sum.parts.set(name, { day, model, usage: addUsage(sum.parts.get(name)?.usage ?? NO_USAGE, used) });
}

/** What only a total states: no model call. Its cost is the rest of a stated cost, if there is one. */
export function usageOfRest(rest: Undivided, price: Price, provider: string): Usage {
  const counted = rest.costOf?.calls.reduce<number | null>((sum, call) => {
    const cost = price(call, provider);
    return sum === null || cost === null ? null : sum + cost;
  }, 0);
  const { costOf, tokens } = rest;
  const costUsd =
    costOf === undefined || counted === undefined
      ? price(rest, provider)
      : counted === null
        ? null
        : Math.max(0, costOf.costUsd - counted);
  return { calls: 0, ...tokens, costUsd };
}

const sums = new WeakMap<Price, Map<string, CallSums<Spending>>>();

/** The cost of an agent's own calls. For a growing list only new calls are visited. */
export function spendingOf(calls: Calls, price: Price, provider: string): Spending {
  const byProvider = sums.get(price) ?? new Map<string, CallSums<Spending>>();
  sums.set(price, byProvider);
  const add = adder(price, provider);
  return cached(byProvider, provider, () => new CallSums({ start: nothing, copy: copyOf, add })).of(calls);
}

/** Everything that counts for an agent: its own calls, internal ones, and what only a total states. */
export function spendingWithInternal(agent: LinkedAgent, price: Price, provider: string): Spending {
  const sum = spendingOf(agent.calls, price, provider);
  const add = adder(price, provider);
  for (const other of [...agent.ownBehalf.map(({ calls }) => calls), agent.revealed])
    for (const call of other) add(sum, call);
  for (const rest of agent.undivided) addUsed(sum, rest, usageOfRest(rest, price, provider));
  return sum;
}
