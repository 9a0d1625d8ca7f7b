import type { Usage } from "../support/judge.ts";
import type { WireUsage } from "./wire.ts";

export const NO_USAGE: Usage = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
};

/**
 * Generated usage of the n-th response of a run. Numbers are unique and unevenly spaced, so that two agents with
 * swapped, doubled or lost responses cannot have the right sums by chance. Every third response has a one-hour cache
 * write, which is part of all cache writes.
 */
export function inventedUsage(n: number): WireUsage {
  const fiveMinutes = 5 + 4 * n + n * n;
  const oneHour = n % 3 === 2 ? 200 + 7 * n + n * n : 0;
  return {
    input_tokens: 100 + 10 * n + n * n,
    output_tokens: 20 + 3 * n + 2 * n * n,
    cache_read_input_tokens: 1000 + n + 100 * (n ** 3 % 101),
    cache_creation_input_tokens: fiveMinutes + oneHour,
    cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: oneHour },
  };
}

export function usageOfCall(usage: WireUsage): Usage {
  return {
    calls: 1,
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheReadTokens: usage.cache_read_input_tokens,
    cacheWriteTokens: usage.cache_creation_input_tokens,
    cacheWrite1hTokens: usage.cache_creation.ephemeral_1h_input_tokens,
  };
}

export function sum(usages: Iterable<Usage>): Usage {
  const total = { ...NO_USAGE };
  for (const usage of usages) {
    total.calls += usage.calls;
    total.inputTokens += usage.inputTokens;
    total.outputTokens += usage.outputTokens;
    total.cacheReadTokens += usage.cacheReadTokens;
    total.cacheWriteTokens += usage.cacheWriteTokens;
    total.cacheWrite1hTokens += usage.cacheWrite1hTokens;
  }
  return total;
}
