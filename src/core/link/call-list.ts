import type { RecordKey } from "../facts/ids.ts";
import type { Tokens } from "../facts/usage.ts";
import { NumberRows, TextColumn } from "../tools/columns.ts";
import type { ModelCall } from "./gather.ts";

/** Model calls, oldest first: an array, or a list that creates each on access. */
export interface Calls extends Iterable<ModelCall> {
  readonly length: number;
  /** For a growing list: the closed calls. Every longer version of the list begins with them. */
  readonly closed?: Closed;
}

interface Closed {
  readonly count: number;
  readonly keptIn: object;
  /** The calls from this index on, including open ones. */
  readonly from: (first: number) => Iterable<ModelCall>;
}

/** All calls of an array are closed, because an array does not grow. */
export const closedIn = (calls: Calls): Closed =>
  calls.closed ?? {
    count: calls.length,
    keptIn: calls,
    from: (first) => (first === 0 ? calls : first >= calls.length ? [] : [...calls].slice(first)),
  };

export interface Adding<Sum> {
  readonly start: () => Sum;
  readonly copy: (sum: Sum) => Sum;
  readonly add: (sum: Sum, call: ModelCall) => void;
}

/**
 * Computes a sum over a growing list. The sum of the closed calls is cached, so that only new ones are visited.
 */
export class CallSums<Sum> {
  readonly #adding: Adding<Sum>;
  readonly #known = new WeakMap<object, { count: number; readonly sum: Sum }>();

  constructor(adding: Adding<Sum>) {
    this.#adding = adding;
  }

  of(calls: Calls): Sum {
    const { start, copy, add } = this.#adding;
    const { count, keptIn, from } = closedIn(calls);
    const known = this.#known.get(keptIn);
    // An older, shorter list is summed from its beginning.
    const closed = known === undefined || known.count > count ? { count: 0, sum: start() } : known;
    if (known === undefined) this.#known.set(keptIn, closed);
    let sum: Sum | null = null;
    let i = closed.count;
    for (const call of from(closed.count)) {
      if (i === count) sum = copy(closed.sum);
      add(sum ?? closed.sum, call);
      i += 1;
    }
    closed.count = count;
    return sum ?? copy(closed.sum);
  }
}

/** The kinds of tokens. */
const KINDS = 6;
/** The columns of numbers: the time, the index into `#common`, then the tokens. */
const AT = 0;
const COMMON = 1;
const TOKENS = 2;

/**
 * Closed calls stay in memory until this many newer lists exist: by then they have been summed. The latest ones stay
 * longer, for readers that skip lists.
 */
const KEPT_LISTS = 4;
const KEPT_CALLS = 32;
const KEPT_LONGER_LISTS = 24;
/** Calls that were loaded again stay in memory until this many lists were created without access to them. */
const HELD_LISTS = 1_024;

/**
 * The closed model calls of one agent: numbers in columns, and the fields that many of them share once. Only recent
 * ones are kept; `reload` returns all of them from the facts, in columns of its own.
 */
export class CallColumns {
  readonly #reload: () => CallColumns;
  readonly #numbers = new NumberRows(TOKENS + KINDS);
  readonly #responses = new TextColumn();
  readonly #common: Common[] = [];
  readonly #numberOf = new Map<string, number>();
  #last = -1;
  /** Fields that few calls have. */
  readonly #own = new Map<number, Own>();
  /** Index of the first call in memory; earlier ones were dropped. */
  #first = 0;
  /** Lengths of the latest lists, oldest list first. */
  readonly #counts: number[] = [];
  #reloaded: CallColumns | null = null;
  #heldFor = 0;

  constructor(reload: () => CallColumns) {
    this.#reload = reload;
  }

  get length(): number {
    return this.#numbers.length;
  }

  get bytes(): number {
    return this.#numbers.bytes + this.#responses.bytes + 128 * this.#own.size + (this.#reloaded?.bytes ?? 0);
  }

  push(call: ModelCall): void {
    const { response, at, tokens, rows, askedAt, costUsd } = call;
    if (rows !== null || askedAt !== undefined || costUsd !== undefined)
      this.#own.set(this.length, {
        rows,
        ...(askedAt === undefined ? {} : { askedAt }),
        ...(costUsd === undefined ? {} : { costUsd }),
      });
    const number = this.#commonNumber(call);
    this.#responses.push(response);
    this.#numbers.push([
      at ?? Number.NaN,
      number,
      tokens.inputTokens,
      tokens.outputTokens,
      tokens.reasoningTokens,
      tokens.cacheReadTokens,
      tokens.cacheWriteTokens,
      tokens.cacheWrite1hTokens,
    ]);
  }

  /** The index of these fields in `#common`. Most calls share them with the previous call. */
  #commonNumber(call: ModelCall): number {
    const last = this.#common[this.#last];
    if (last !== undefined && isCommonEqual(call, last)) return this.#last;
    const { response: _, at: __, tokens: ___, rows: ____, askedAt: _____, costUsd: ______, ...common } = call;
    const name = JSON.stringify(common);
    this.#last = this.#numberOf.get(name) ?? this.#common.push(common) - 1;
    this.#numberOf.set(name, this.#last);
    return this.#last;
  }

  /** A list of all closed calls so far, followed by `last`. */
  with(last: readonly ModelCall[]): Calls {
    this.#dropOld();
    const [columns, count] = [this, this.length];
    const from = function* (first: number) {
      for (let i = first; i < count; i += 1) yield* columns.#callAt(i);
      yield* first > count ? last.slice(first - count) : last;
    };
    return { length: count + last.length, closed: { count, keptIn: this, from }, [Symbol.iterator]: () => from(0) };
  }

  #dropOld() {
    if (this.#counts.push(this.length) > KEPT_LONGER_LISTS) this.#counts.shift();
    const olderLength = this.#counts.at(-1 - KEPT_LISTS) ?? 0;
    const oldestLength = this.#counts.length < KEPT_LONGER_LISTS ? 0 : (this.#counts[0] ?? 0);
    const unneeded = Math.max(oldestLength, Math.min(olderLength, this.length - KEPT_CALLS));
    if (this.#heldFor > 0) {
      this.#heldFor -= 1;
      return;
    }
    this.#reloaded = null;
    const first = this.#numbers.dropBefore(unneeded);
    this.#responses.dropBefore(unneeded);
    if (first === this.#first) return;
    this.#first = first;
    for (const i of this.#own.keys()) if (i < first) this.#own.delete(i);
  }

  /** Empty if the call was dropped and its facts no longer exist. */
  #callAt(i: number): readonly ModelCall[] {
    if (i >= this.#first) return [this.#call(i)];
    this.#reloaded ??= this.#reload();
    this.#heldFor = HELD_LISTS;
    return i < this.#reloaded.length ? [this.#reloaded.#call(i)] : [];
  }

  #call(i: number): ModelCall {
    const at = this.#numbers.get(i, AT);
    const amount = (kind: number) => this.#numbers.get(i, TOKENS + kind);
    const tokens: Tokens = {
      inputTokens: amount(0),
      outputTokens: amount(1),
      reasoningTokens: amount(2),
      cacheReadTokens: amount(3),
      cacheWriteTokens: amount(4),
      cacheWrite1hTokens: amount(5),
    };
    const common = this.#common[this.#numbers.get(i, COMMON)] as Common;
    return {
      response: this.#responses.get(i) as RecordKey,
      rows: null,
      at: Number.isNaN(at) ? null : at,
      ...this.#own.get(i),
      ...common,
      tokens,
    };
  }
}

type Own = Pick<ModelCall, "rows" | "askedAt" | "costUsd">;
type Common = Omit<ModelCall, "response" | "at" | "tokens" | keyof Own>;
/** Field by field, because it is called for every model call. */
const isCommonEqual = (a: Common, b: Common): boolean =>
  a.model === b.model &&
  a.vendor === b.vendor &&
  a.counted === b.counted &&
  a.end === b.end &&
  a.fast === b.fast &&
  a.fromTotals === b.fromTotals &&
  a.outputOnly === b.outputOnly &&
  a.outsideTotals === b.outsideTotals &&
  a.unrecorded === b.unrecorded;
