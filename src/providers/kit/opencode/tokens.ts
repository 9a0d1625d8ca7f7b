import type { Tokens } from "../../../core/facts/usage.ts";
import { asCount, asNumber, asObject, type JsonObject } from "../../../core/tools/json.ts";

/**
 * Input excludes caches. Output includes reasoning up to 1.3.0 and excludes it from 1.14.41 on; the total, if present,
 * shows which.
 */
export function tokensOf(value: unknown): Tokens {
  const json: JsonObject = asObject(value) ?? {};
  const cache = asObject(json.cache);
  const [input, output, reasoning] = [asCount(json.input), asCount(json.output), asCount(json.reasoning)];
  const [cacheReadTokens, cacheWriteTokens] = [asCount(cache?.read), asCount(cache?.write)];
  const isReasoningSeparate =
    (asNumber(json.total) ?? 0) >= input + output + reasoning + cacheReadTokens + cacheWriteTokens;
  return {
    inputTokens: input,
    outputTokens: isReasoningSeparate ? output + reasoning : output,
    reasoningTokens: reasoning,
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite1hTokens: 0,
  };
}
