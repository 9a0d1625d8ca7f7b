import type { RecordKey } from "../../core/ids.ts";
import { asCount, asObject, asWords, type JsonObject } from "../../core/json.ts";
import type { Tokens } from "../../core/usage.ts";
import * as key from "./keys.ts";

const FIELDS = ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens"] as const;
/** Input with both caches in it, cache reads, cache writes, output with the reasoning in it, reasoning. */
type Counts = readonly [number, number, number, number, number];

const NONE: Counts = [0, 0, 0, 0, 0];

export interface Counted {
  readonly response: RecordKey;
  readonly tokens: Tokens;
  readonly fromTotals?: true;
}

/**
 * Counts every answer once. Since 0.153 each has a record with its id. Before that there are only running totals: these are written several times over,
 * a forked thread goes on from its parent's, and what stands beside them as the last answer is made up after a compaction.
 */
export class TokenCounter {
  readonly #thread: string;
  #total: Counts;

  constructor(thread: string, saved?: unknown) {
    this.#thread = thread;
    this.#total = (saved as Counts | undefined) ?? NONE;
  }

  save = (): Counts => this.#total;

  /** A total that stands in a copied part: what the thread goes on from. */
  inherit(payload: JsonObject): void {
    const total = asObject(asObject(payload.info)?.total_token_usage);
    if (total !== null) this.#total = countsIn(total);
  }

  /** `token_usage_record`. It may be of another thread: forks copy them. */
  record(payload: JsonObject): Counted | null {
    const [usage, id, whose] = [asObject(payload.usage), asWords(payload.response_id), asWords(payload.thread_id)];
    if (usage === null || (whose !== null && whose.toLowerCase() !== this.#thread)) return null;
    const total = asObject(payload.thread_token_usage);
    this.#total = total === null ? plus(this.#total, countsIn(usage)) : countsIn(total);
    return { response: id === null ? key.total(this.#thread, this.#total) : key.response(id), tokens: tokensOf(countsIn(usage)) };
  }

  /** `token_count`: what its total says beyond what is known already. */
  total(payload: JsonObject): Counted | null {
    const info = asObject(payload.info);
    const total = asObject(info?.total_token_usage);
    if (total === null) return null;
    const now = countsIn(total);
    const more = minus(now, this.#total);
    if (more.every((n) => n >= 0) && more.some((n) => n > 0)) return this.#count(now, more);
    // It began anew, which shows where everything so far is the last answer; else it only repeats an older total.
    const last = countsIn(asObject(info?.last_token_usage) ?? {});
    const isNew = more.some((n) => n < 0) && now.every((n, i) => n === last[i]) && now.some((n) => n > 0);
    return isNew ? this.#count(now, now) : null;
  }

  #count(now: Counts, tokens: Counts): Counted {
    this.#total = now;
    return { response: key.total(this.#thread, now), tokens: tokensOf(tokens), fromTotals: true };
  }
}

const countsIn = (usage: JsonObject) => FIELDS.map((field) => asCount(usage[field])) as unknown as Counts;
const plus = (a: Counts, b: Counts) => a.map((n, i) => n + (b[i] ?? 0)) as unknown as Counts;
const minus = (a: Counts, b: Counts) => a.map((n, i) => n - (b[i] ?? 0)) as unknown as Counts;

function tokensOf([input, cached, written, output, reasoning]: Counts): Tokens {
  return {
    inputTokens: Math.max(0, input - cached - written),
    outputTokens: output,
    reasoningTokens: reasoning,
    cacheReadTokens: cached,
    cacheWriteTokens: written,
    cacheWrite1hTokens: 0,
  };
}
