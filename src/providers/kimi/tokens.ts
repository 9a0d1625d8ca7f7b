import type { Tokens } from "../../core/facts/usage.ts";
import { asCount, type JsonObject } from "../../core/tools/json.ts";

/** Input excludes both caches; output includes reasoning, which is not reported. */
export const tokensOf = (usage: JsonObject): Tokens => ({
  inputTokens: asCount(usage.inputOther ?? usage.input_other),
  outputTokens: asCount(usage.output),
  reasoningTokens: 0,
  cacheReadTokens: asCount(usage.inputCacheRead ?? usage.input_cache_read),
  cacheWriteTokens: asCount(usage.inputCacheCreation ?? usage.input_cache_creation),
  cacheWrite1hTokens: 0,
});
