import type { Tokens } from "../../core/facts/usage.ts";
import { asCount } from "../../core/tools/json.ts";

/** The prompt includes cached tokens, and the output includes thoughts. */
export function tokensOf(prompt: unknown, output: unknown, cached: unknown, thoughts: unknown): Tokens {
  const cacheReadTokens = asCount(cached);
  return {
    inputTokens: Math.max(0, asCount(prompt) - cacheReadTokens),
    outputTokens: asCount(output),
    reasoningTokens: asCount(thoughts),
    cacheReadTokens,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
  };
}
