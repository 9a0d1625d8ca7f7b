import { createRequire } from "node:module";
import type { ModelCall } from "../core/gather.ts";
import type { Price } from "../core/record.ts";
import { PROVIDERS } from "../providers/index.ts";
import type { OwnPrice } from "./settings-table.ts";

type PriceList = typeof import("@pydantic/genai-prices");
let loaded: PriceList | undefined;

/** Loaded by the first call that has to be priced: the lists are large, and most commands price nothing. Not with `import`, which nobody could wait for here. */
function priceList(): PriceList {
  loaded ??= createRequire(import.meta.url)("@pydantic/genai-prices") as PriceList;
  return loaded;
}

/** What a call cost by the user's own prices, else by the public ones, else by the product's own word. */
export function pricesWith(own: ReadonlyMap<string, OwnPrice>): Price {
  return (call, provider) => {
    const price = own.get(call.model);
    return price === undefined ? listPrice(call, provider) : ownPrice(price, asListed(call, provider)) * (call.fast ? (fastFactor(call) ?? 1) : 1);
  };
}

/** US dollars for a million tokens of each kind. */
interface FlatPrice {
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly cache_write_1h: number;
}

function ownPrice(price: FlatPrice, { tokens }: ModelCall): number {
  const shortWrites = tokens.cacheWriteTokens - tokens.cacheWrite1hTokens;
  return (
    (tokens.inputTokens * price.input +
      tokens.outputTokens * price.output +
      tokens.cacheReadTokens * price.cache_read +
      shortWrites * price.cache_write +
      tokens.cacheWrite1hTokens * price.cache_write_1h) /
    1e6
  );
}

/**
 * What a call cost by the product's own word, else by the public price lists at the time it was made; null for a model that is on none of them, and in fast
 * mode for a model whose fast price is not known. Prices that depend on the size of a request are those of each request.
 */
export const listPrice: Price = (asked: ModelCall, provider: string) => {
  if (asked.costUsd !== undefined) return asked.costUsd;
  const standard = standardPrice(asked, provider);
  if (!asked.fast || standard === null) return standard;
  const factor = fastFactor(asked);
  return factor === null ? null : standard * factor;
};

const standardPrice: Price = (asked: ModelCall, provider: string) => {
  const vendor = asked.vendor ?? productOf(provider)?.vendor ?? undefined;
  const call = asListed(asked, provider);
  const name = `${vendor} ${call.model}`;
  const day = () => (call.at === null ? name : `${name} ${new Date(call.at).toISOString().slice(0, 10)}`);
  const known = listed.get(name) ?? listed.get(day());
  if (known === "unknown") return null;
  const flat = known?.flat.get(bracketOf(known.starts, call));
  if (flat !== undefined) return ownPrice(flat, call);
  const found = look(call, vendor) ?? look(call, undefined);
  if (found === null) {
    listed.set(name, "unknown");
    return null;
  }
  const entry = known ?? { starts: tierStarts(found), flat: new Map() };
  const bracket = bracketOf(entry.starts, call);
  const price = Number.isNaN(bracket) || changesWithTheHour(found) ? null : flatPriceIn(found, call);
  if (price === null) return found.total_price;
  listed.set(Array.isArray(found.model.prices) ? day() : name, entry);
  entry.flat.set(bracket, price);
  // To the last digit the same, whichever call happened to be looked up.
  return ownPrice(price, call);
};

/** It belongs to the model, whichever product asked it. */
const fastFactor = ({ model }: ModelCall) => PROVIDERS.map((p) => p.fastFactor?.(model) ?? null).find((factor) => factor !== null) ?? null;
const productOf = (provider: string) => PROVIDERS.find((p) => p.name === provider);

/** The call as price lists count: what a model thought is output. */
function asListed(call: ModelCall, provider: string): ModelCall {
  if (productOf(provider)?.thoughtsBesideOutput !== true) return call;
  const { outputTokens, reasoningTokens } = call.tokens;
  return { ...call, tokens: { ...call.tokens, outputTokens: outputTokens + reasoningTokens } };
}

/** Looking a model up takes a hundred times longer than multiplying: a price is looked up once for each of its tiers, and once a day of calls where it changed with time. */
const listed = new Map<string, Listed | "unknown">();

interface Listed {
  /** Numbers of input tokens from which other prices hold. */
  readonly starts: readonly number[];
  readonly flat: Map<number, FlatPrice>;
}

type Found = NonNullable<ReturnType<PriceList["calcPrice"]>>;
type Tiered = Exclude<Found["model_price"][string], number | undefined>;

const changesWithTheHour = ({ model: { prices } }: Found) => Array.isArray(prices) && prices.some(({ constraint }) => constraint?.type === "time_of_date");
const isTiered = (price: Found["model_price"][string]): price is Tiered => typeof price === "object";

function tierStarts({ model_price }: Found): number[] {
  const starts = Object.values(model_price).flatMap((price) => (isTiered(price) ? price.tiers.map((tier) => tier.start) : []));
  return [...new Set(starts)].sort((a, b) => a - b);
}

/** The library wants all input together, caches included; so do its tiers. */
const inputOf = ({ tokens }: ModelCall) => tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;

/** Calls in the same bracket have the same prices. One that stands right on a step is in none (NaN): the list knows what holds there. */
function bracketOf(starts: readonly number[], call: ModelCall): number {
  const input = inputOf(call);
  return starts.includes(input) ? Number.NaN : starts.filter((start) => input > start).length;
}

/** Null unless every kind of token has a price, and the price list agrees with what follows from that. */
function flatPriceIn({ model_price, total_price }: Found, call: ModelCall): FlatPrice | null {
  const input = inputOf(call);
  const of = (kind: string) => {
    const price = model_price[kind];
    return isTiered(price) ? (price.tiers.findLast((tier) => input > tier.start)?.price ?? price.base) : price;
  };
  const [inputs, outputs, reads, writes, longWrites] = ["input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok"].map(of);
  if (inputs === undefined || outputs === undefined || reads === undefined || writes === undefined || longWrites === undefined) return null;
  const price = { input: inputs, output: outputs, cache_read: reads, cache_write: writes, cache_write_1h: longWrites };
  return Math.abs(ownPrice(price, call) - total_price) <= 1e-9 * Math.max(1, total_price) ? price : null;
}

function look(call: ModelCall, vendor: string | undefined): Found | null {
  const { model, tokens, at } = call;
  const usage = {
    input_tokens: inputOf(call),
    output_tokens: tokens.outputTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
    cache_write_1h_tokens: tokens.cacheWrite1hTokens,
  };
  const when = { ...(vendor === undefined ? {} : { providerId: vendor }), ...(at === null ? {} : { timestamp: new Date(at) }) };
  try {
    return priceList().calcPrice(usage, model, when) ?? null;
  } catch {
    // It throws for numbers that do not add up; an unknown cost is said as unknown.
    return null;
  }
}
