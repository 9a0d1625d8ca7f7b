import { createRequire } from "node:module";
import { NO_TOKENS } from "../../core/facts/usage.ts";
import type { ModelCall } from "../../core/link/gather.ts";
import type { Price } from "../../core/views/record.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import type { OwnPrice } from "../settings/settings-table.ts";

type PriceList = typeof import("@pydantic/genai-prices");
let loaded: PriceList | undefined;

/**
 * Loaded by the first priced call, because the lists are large and most commands need no prices. Uses require(),
 * because callers are synchronous.
 */
function priceList(): PriceList {
  loaded ??= createRequire(import.meta.url)("@pydantic/genai-prices") as PriceList;
  return loaded;
}

/** The cost of a model call: by the user's prices, else the product's own figure, else the public price list. */
export function pricesWith(own: ReadonlyMap<string, OwnPrice>): Price {
  return (call, provider) => {
    const price = own.get(call.model);
    return price === undefined
      ? listPrice(call, provider)
      : ownPrice(price, asListed(call, provider)) * (call.fast ? (fastFactor(call) ?? 1) : 1);
  };
}

/** US dollars per million tokens; NaN for a kind of token without a price. */
interface FlatPrice {
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly cache_write_1h: number;
}

/** NaN if the call has tokens of a kind without a price. */
function ownPrice(price: FlatPrice, { tokens }: ModelCall): number {
  const shortWrites = tokens.cacheWriteTokens - tokens.cacheWrite1hTokens;
  return (
    (times(tokens.inputTokens, price.input) +
      times(tokens.outputTokens, price.output) +
      times(tokens.cacheReadTokens, price.cache_read) +
      times(shortWrites, price.cache_write) +
      times(tokens.cacheWrite1hTokens, price.cache_write_1h)) /
    1e6
  );
}

const times = (tokens: number, price: number) => (tokens === 0 ? 0 : tokens * price);

/**
 * The cost that the product states, else by the public price lists at the time of the call. Null if the model is not
 * listed, or if its fast price is unknown. Tiered prices depend on the size of each request.
 */
export const listPrice: Price = (modelCall: ModelCall, provider: string) => {
  if (modelCall.costUsd !== undefined) return modelCall.costUsd;
  const standard = standardPrice(modelCall, provider);
  if (!modelCall.fast || standard === null) return standard;
  const factor = fastFactor(modelCall);
  return factor === null ? null : standard * factor;
};

const standardPrice: Price = (modelCall: ModelCall, provider: string) => {
  const vendor = modelCall.vendor ?? productOf(provider)?.vendor ?? undefined;
  const call = asListed(modelCall, provider);
  const name = `${vendor} ${call.model}`;
  const day = () => (call.at === null ? name : `${name} ${Math.floor(call.at / DAY_MS)}`);
  const known = listed.get(name) ?? listed.get(day());
  if (known === "unknown") return null;
  const flat = known?.flat.get(bracketOf(known.starts, call));
  const cost = flat === undefined ? Number.NaN : ownPrice(flat, call);
  if (!Number.isNaN(cost)) return cost;
  const found = lookUp(call, vendor) ?? lookUp(call, undefined);
  if (found === null) {
    listed.set(name, "unknown");
    return null;
  }
  const entry = known ?? { starts: tierStarts(found), flat: new Map() };
  const bracket = bracketOf(entry.starts, call);
  const price = Number.isNaN(bracket) || dependsOnTimeOfDay(found) ? null : flatPriceIn(found, call);
  if (price === null) return found.total_price;
  listed.set(Array.isArray(found.model.prices) ? day() : name, entry);
  entry.flat.set(bracket, price);
  // The same formula for every call, so that sums do not depend on which call was looked up.
  return ownPrice(price, call);
};

/** A property of the model, whichever product called it. */
const fastFactor = ({ model }: ModelCall) =>
  PROVIDERS.map((p) => p.fastFactor?.(model) ?? null).find((factor) => factor !== null) ?? null;
const products = new Map(PROVIDERS.map((product) => [product.name, product]));
const productOf = (provider: string) => products.get(provider);

/** The call as price lists count it: reasoning is output. */
function asListed(call: ModelCall, provider: string): ModelCall {
  if (productOf(provider)?.thoughtsBesideOutput !== true) return call;
  const { outputTokens, reasoningTokens } = call.tokens;
  return { ...call, tokens: { ...call.tokens, outputTokens: outputTokens + reasoningTokens } };
}

const DAY_MS = 86_400_000;

/**
 * A lookup is a hundred times slower than a multiplication: each price is looked up once per tier, and once per day if
 * it changed over time.
 */
const listed = new Map<string, Listed | "unknown">();

interface Listed {
  /** Input token counts at which another tier begins. */
  readonly starts: readonly number[];
  readonly flat: Map<number, FlatPrice>;
}

type Found = NonNullable<ReturnType<PriceList["calcPrice"]>>;
type Tiered = Exclude<Found["model_price"][string], number | undefined>;

const dependsOnTimeOfDay = ({ model: { prices } }: Found) =>
  Array.isArray(prices) && prices.some(({ constraint }) => constraint?.type === "time_of_date");
const isTiered = (price: Found["model_price"][string]): price is Tiered => typeof price === "object";

function tierStarts({ model_price }: Found): number[] {
  const starts = Object.values(model_price).flatMap((price) =>
    isTiered(price) ? price.tiers.map((tier) => tier.start) : [],
  );
  return [...new Set(starts)].sort((a, b) => a - b);
}

/** All input tokens including caches, as the library and its tiers expect. */
const inputOf = ({ tokens }: Pick<ModelCall, "tokens">) =>
  tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;

/** Calls in the same bracket have the same price. A call exactly on a boundary is in none (NaN) and is looked up. */
function bracketOf(starts: readonly number[], call: ModelCall): number {
  const input = inputOf(call);
  let bracket = 0;
  for (const start of starts) {
    if (input === start) return Number.NaN;
    if (input > start) bracket += 1;
  }
  return bracket;
}

/** Null unless the kinds of tokens of the call have a price and their sum matches the library's total. */
function flatPriceIn({ model_price, total_price }: Found, call: ModelCall): FlatPrice | null {
  const input = inputOf(call);
  const of = (kind: string) => {
    const price = model_price[kind];
    return isTiered(price)
      ? (price.tiers.findLast((tier) => input > tier.start)?.price ?? price.base)
      : (price ?? Number.NaN);
  };
  const price = {
    input: of("input_mtok"),
    output: of("output_mtok"),
    cache_read: of("cache_read_mtok"),
    cache_write: of("cache_write_mtok"),
    cache_write_1h: of("cache_write_1h_mtok"),
  };
  return Math.abs(ownPrice(price, call) - total_price) <= 1e-9 * Math.max(1, total_price) ? price : null;
}

/** Tokens that fit into the context of a model, by the public list; null if it is not listed. */
export function contextWindow(model: string, vendor: string | null): number | null {
  const name = `${vendor} ${model}`;
  const known = windows.get(name);
  if (known !== undefined) return known;
  const call = { model, tokens: NO_TOKENS, at: null };
  const window = (lookUp(call, vendor ?? undefined) ?? lookUp(call, undefined))?.model.context_window ?? null;
  windows.set(name, window);
  return window;
}

const windows = new Map<string, number | null>();

function lookUp(call: Pick<ModelCall, "model" | "tokens" | "at">, vendor: string | undefined): Found | null {
  const { model, tokens, at } = call;
  const usage = {
    input_tokens: inputOf(call),
    output_tokens: tokens.outputTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
    cache_write_1h_tokens: tokens.cacheWrite1hTokens,
  };
  const when = {
    ...(vendor === undefined ? {} : { providerId: vendor }),
    ...(at === null ? {} : { timestamp: new Date(at) }),
  };
  try {
    return priceList().calcPrice(usage, model, when) ?? null;
  } catch {
    // The library throws for inconsistent numbers; the cost is then unknown.
    return null;
  }
}
