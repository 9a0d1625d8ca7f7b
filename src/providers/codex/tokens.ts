import type { RecordKey } from "../../core/facts/ids.ts";
import type { TotalStated } from "../../core/facts/totals.ts";
import { addTokens, COMPARED, NO_TOKENS, type Tokens } from "../../core/facts/usage.ts";
import { ALL_MODELS } from "../../core/link/totals.ts";
import { asCount, asNonBlank, asObject, type JsonObject } from "../../core/tools/json.ts";
import * as key from "./keys.ts";

/** Input including caches, cache reads, cache writes, output including reasoning, reasoning. */
type Counts = readonly [number, number, number, number, number];

const NONE: Counts = [0, 0, 0, 0, 0];

export interface Counted {
  readonly response: RecordKey;
  readonly tokens: Tokens;
  readonly fromTotals?: true;
}

interface Memory {
  readonly total: Counts;
  readonly hasRecords: boolean;
  readonly stated: Stated;
}

/** The product's own totals. */
interface Stated {
  /** The last written total of each kind; null before the first record. */
  readonly count: Counts;
  readonly record: Counts | null;
  /** The thread's usage by the last `token_count`, plus the growth of the totals in records since then. */
  readonly used: Tokens;
  readonly pending: Tokens;
}

/**
 * Counts every response once. Since 0.153 each has a record with its id. Before, there are only running totals: they
 * are repeated, a forked thread continues its parent's, and the last response next to them is invented after a
 * compaction.
 */
export class TokenCounter {
  readonly #thread: string;
  #total: Counts;
  #hasRecords: boolean;
  #stated: Stated;

  constructor(thread: string, saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#thread = thread;
    this.#total = memory?.total ?? NONE;
    this.#hasRecords = memory?.hasRecords ?? false;
    this.#stated = memory?.stated ?? { count: NONE, record: null, used: NO_TOKENS, pending: NO_TOKENS };
  }

  save = (): Memory => ({ total: this.#total, hasRecords: this.#hasRecords, stated: this.#stated });

  /** Whether a response of this thread was counted from its own record. */
  get hasRecords(): boolean {
    return this.#hasRecords;
  }

  /**
   * The process was killed within a turn. The next `token_count` continues the last written one and omits responses
   * after that.
   */
  resumed(): void {
    const { used, pending } = this.#stated;
    this.#stated = { ...this.#stated, used: addTokens(used, pending), pending: NO_TOKENS };
  }

  /** A total in the copied part: what the thread continues from. */
  inherit(payload: JsonObject): void {
    const total = asObject(asObject(payload.info)?.total_token_usage);
    if (total === null) return;
    this.#total = countsIn(total);
    this.#stated = { ...this.#stated, count: this.#total };
  }

  /** `token_usage_record`. May belong to another thread, because forks copy them. */
  record(payload: JsonObject): Counted | null {
    const [usage, id, whose] = [
      asObject(payload.usage),
      asNonBlank(payload.response_id),
      asNonBlank(payload.thread_id),
    ];
    if (usage === null || (whose !== null && whose.toLowerCase() !== this.#thread)) return null;
    this.#hasRecords = true;
    const total = asObject(payload.thread_token_usage);
    this.#total = total === null ? plus(this.#total, countsIn(usage)) : countsIn(total);
    return {
      response: id === null ? key.total(this.#thread, this.#total) : key.response(id),
      tokens: tokensOf(countsIn(usage)),
    };
  }

  /** `token_count`: its growth beyond what is already known. */
  total(payload: JsonObject): Counted | null {
    const info = asObject(payload.info);
    const total = asObject(info?.total_token_usage);
    if (total === null) return null;
    const now = countsIn(total);
    const more = growth(now, this.#total, asObject(info?.last_token_usage));
    return more === null ? null : this.#count(now, more);
  }

  /**
   * The total in a `token_usage_record`, for comparison with retinue's sum. It includes what the following
   * `token_count` will state.
   */
  totalInRecord(payload: JsonObject, mayContinueFork: boolean): TotalStated | null {
    const [usage, total, whose] = [
      asObject(payload.usage),
      asObject(payload.thread_token_usage),
      asNonBlank(payload.thread_id),
    ];
    if (usage === null || (whose !== null && whose.toLowerCase() !== this.#thread)) return null;
    const { count, record, used, pending } = this.#stated;
    const now = total === null ? null : countsIn(total);
    const more =
      now === null ? countsIn(usage) : (growth(now, record ?? count, usage) ?? growth(now, count, usage) ?? NONE);
    this.#stated = { count, record: now ?? record, used, pending: addTokens(pending, tokensOf(more)) };
    return this.#totalSoFar(mayContinueFork);
  }

  /**
   * A `token_count`, for comparison with retinue's sum; null if it equals the records, or if there are no records: then
   * the sum is computed from it.
   */
  totalInCount(payload: JsonObject, mayContinueFork: boolean): TotalStated | null {
    const info = asObject(payload.info);
    const total = asObject(info?.total_token_usage);
    const now = total === null ? NONE : countsIn(total);
    const more = growth(now, this.#stated.count, asObject(info?.last_token_usage));
    if (more === null) return null;
    const { record, used, pending } = this.#stated;
    const tokens = tokensOf(more);
    this.#stated = { count: now, record, used: addTokens(used, tokens), pending: NO_TOKENS };
    return !this.#hasRecords || isSame(tokens, pending) ? null : this.#totalSoFar(mayContinueFork);
  }

  /** One sum for all models: Codex does not separate them here. */
  #totalSoFar(mayContinueFork: boolean): TotalStated {
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = addTokens(
      this.#stated.used,
      this.#stated.pending,
    );
    const amounts = { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens: null };
    return {
      type: "total-stated",
      byModel: [{ model: ALL_MODELS, amounts }],
      costUsd: null,
      began: null,
      activeMs: null,
      running: { mayContinueFork },
    };
  }

  #count(now: Counts, tokens: Counts): Counted {
    this.#total = now;
    return { response: key.total(this.#thread, now), tokens: tokensOf(tokens), fromTotals: true };
  }
}

/** The difference to an earlier total; null if nothing is new. */
function growth(now: Counts, before: Counts, lastResponse: JsonObject | null): Counts | null {
  const more = minus(now, before);
  if (more.every((n) => n >= 0)) return more.some((n) => n > 0) ? more : null;
  // Restarted if the total equals the last response; otherwise it repeats an older total.
  const last = countsIn(lastResponse ?? {});
  return now.every((n, i) => n === last[i]) && now.some((n) => n > 0) ? now : null;
}

const isSame = (a: Tokens, b: Tokens) => COMPARED.every((kind) => a[kind] === b[kind]);
const countsIn = (usage: JsonObject): Counts => [
  asCount(usage.input_tokens),
  asCount(usage.cached_input_tokens),
  asCount(usage.cache_write_input_tokens),
  asCount(usage.output_tokens),
  asCount(usage.reasoning_output_tokens),
];
const plus = (a: Counts, b: Counts): Counts => [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]];
const minus = (a: Counts, b: Counts): Counts => [a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4]];

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
