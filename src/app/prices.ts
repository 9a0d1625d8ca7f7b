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

/** What a call cost by the user's own prices, else by the public ones. */
export function pricesWith(own: ReadonlyMap<string, OwnPrice>): Price {
  return (call, provider) => {
    const price = own.get(call.model);
    return price === undefined ? listPrice(call, provider) : ownPrice(price, call);
  };
}

function ownPrice(price: OwnPrice, { tokens }: ModelCall): number {
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
  return priceOf(call, vendor) ?? priceOf(call, undefined);
};

function priceOf({ model, tokens, at }: ModelCall, vendor: string | undefined): number | null {
  // The library wants all input together, caches included.
  const input = tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
  const usage = {
    input_tokens: input,
    output_tokens: tokens.outputTokens,
    cache_read_tokens: tokens.cacheReadTokens,
    cache_write_tokens: tokens.cacheWriteTokens,
    cache_write_1h_tokens: tokens.cacheWrite1hTokens,
  };
  try {
    return (
      priceList().calcPrice(usage, model, { ...(vendor === undefined ? {} : { providerId: vendor }), ...(at === null ? {} : { timestamp: new Date(at) }) })
        ?.total_price ?? null
    );
  } catch {
    // It throws for numbers that do not add up; an unknown cost is said as unknown.
    return null;
  }
}
