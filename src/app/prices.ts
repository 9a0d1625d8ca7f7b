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
    return price === undefined ? (listPrice(call, provider) ?? call.statedUsd) : ownPrice(price, call);
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

/** What a call cost by the public price lists, at the time it was made; null for a model that is on none of them. */
export const listPrice: Price = (call: ModelCall, provider: string) => {
  const vendor = PROVIDERS.find((p) => p.name === provider)?.vendor;
  const day = call.at === null ? "" : new Date(call.at).toISOString().slice(0, 10);
  const name = `${vendor} ${call.model} ${day}`;
  const flat = flatPrices.get(name);
  if (flat === "unknown") return null;
  if (flat !== undefined && flat !== "tiered") return ownPrice(flat, call);
  const found = look(call, vendor) ?? look(call, undefined);
  const known = found === null ? "unknown" : (flatPriceIn(found, call) ?? "tiered");
  flatPrices.set(name, known);
  // To the last digit the same, whichever call of the day happened to be looked up.
  return typeof known === "string" ? (found?.total_price ?? null) : ownPrice(known, call);
};

/** Looking a model up takes a hundred times longer than multiplying; a price without tiers is looked up once a day of calls. */
const flatPrices = new Map<string, FlatPrice | "tiered" | "unknown">();

type Found = NonNullable<ReturnType<PriceList["calcPrice"]>>;

/** Null unless every kind of token has one price, and the price list agrees with what follows from that. */
function flatPriceIn({ model_price, total_price }: Found, call: ModelCall): FlatPrice | null {
  const { input_mtok, output_mtok, cache_read_mtok, cache_write_mtok, cache_write_1h_mtok } = model_price as Readonly<Record<string, unknown>>;
  const flat = { input: input_mtok, output: output_mtok, cache_read: cache_read_mtok, cache_write: cache_write_mtok, cache_write_1h: cache_write_1h_mtok };
  if (!Object.values(flat).every((value) => typeof value === "number")) return null;
  const price = flat as FlatPrice;
  return Math.abs(ownPrice(price, call) - total_price) <= 1e-9 * Math.max(1, total_price) ? price : null;
}

function look({ model, tokens, at }: ModelCall, vendor: string | undefined): Found | null {
  // The library wants all input together, caches included.
  const input = tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
  const usage = {
    input_tokens: input,
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
