import type { ModelCall } from "./gather.ts";
import type { RecordKey } from "./ids.ts";
import type { Tokens } from "./usage.ts";

/** Model calls, oldest first: an array of them, or something that makes each when it is asked for. */
export interface Calls extends Iterable<ModelCall> {
  readonly length: number;
  /** Of calls that grow: those that are closed, and will be the first ones of every longer list that is kept in the same place. */
  readonly closed?: Closed;
}

interface Closed {
  readonly count: number;
  readonly keptIn: object;
  /** The calls from this one on, with those that are not closed. */
  readonly from: (first: number) => Iterable<ModelCall>;
}

/** An array does not grow. */
export const closedIn = (calls: Calls): Closed =>
  calls.closed ?? { count: calls.length, keptIn: calls, from: (first) => (first === 0 ? calls : first >= calls.length ? [] : [...calls].slice(first)) };

/** How something is added up over calls. */
export interface Adding<Sum> {
  readonly start: () => Sum;
  readonly copy: (sum: Sum) => Sum;
  readonly add: (sum: Sum, call: ModelCall) => void;
}

/** Adds up something over calls that grow: what the closed ones come to is remembered, so that only new ones are looked at. */
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
    // A list that somebody kept while it grew elsewhere is added up from its beginning.
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

const KINDS = [
  "inputTokens",
  "outputTokens",
  "reasoningTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "cacheWrite1hTokens",
] as const satisfies readonly (keyof Tokens)[];
/** Its time, then its tokens. */
const NUMBERS = 1 + KINDS.length;

/** Model calls by the hundred thousand: numbers in one row, and what most of them have in common once. */
export class CallColumns {
  #numbers = new Float64Array(NUMBERS);
  readonly #responses: RecordKey[] = [];
  /** For each, the number of what it has in common with others. */
  #kinds = new Uint32Array(1);
  readonly #common: Common[] = [];
  readonly #numberOf = new Map<string, number>();
  /** What each has for itself, where it has any. */
  readonly #own = new Map<number, Own>();

  get length(): number {
    return this.#responses.length;
  }

  get bytes(): number {
    return this.#numbers.byteLength + this.#kinds.byteLength + 64 * this.#responses.length + 128 * this.#own.size;
  }

  push({ response, at, tokens, rows, askedAt, costUsd, ...common }: ModelCall): void {
    const i = this.#responses.length;
    this.#responses.push(response);
    if (NUMBERS * i === this.#numbers.length) {
      this.#numbers = grown(this.#numbers, new Float64Array(2 * this.#numbers.length));
      this.#kinds = grown(this.#kinds, new Uint32Array(2 * this.#kinds.length));
    }
    this.#numbers[NUMBERS * i] = at ?? Number.NaN;
    for (const [k, kind] of KINDS.entries()) this.#numbers[NUMBERS * i + 1 + k] = tokens[kind];
    const name = JSON.stringify(common);
    const number = this.#numberOf.get(name) ?? this.#common.push(common) - 1;
    this.#numberOf.set(name, number);
    this.#kinds[i] = number;
    if (rows !== null || askedAt !== undefined || costUsd !== undefined)
      this.#own.set(i, { rows, ...(askedAt === undefined ? {} : { askedAt }), ...(costUsd === undefined ? {} : { costUsd }) });
  }

  /** Those that are there by now, and these behind them. */
  with(last: readonly ModelCall[]): Calls {
    const [columns, count] = [this, this.length];
    const from = function* (first: number) {
      for (let i = first; i < count; i += 1) yield columns.#call(i);
      yield* first > count ? last.slice(first - count) : last;
    };
    return { length: count + last.length, closed: { count, keptIn: this, from }, [Symbol.iterator]: () => from(0) };
  }

  #call(i: number): ModelCall {
    const number = (k: number) => this.#numbers[NUMBERS * i + k] ?? 0;
    const at = number(0);
    const [inputTokens, outputTokens, reasoningTokens] = [number(1), number(2), number(3)];
    const tokens = { inputTokens, outputTokens, reasoningTokens, cacheReadTokens: number(4), cacheWriteTokens: number(5), cacheWrite1hTokens: number(6) };
    const common = this.#common[this.#kinds[i] ?? 0] as Common;
    return { response: this.#responses[i] as RecordKey, rows: null, at: Number.isNaN(at) ? null : at, ...this.#own.get(i), ...common, tokens };
  }
}

type Own = Pick<ModelCall, "rows" | "askedAt" | "costUsd">;
type Common = Omit<ModelCall, "response" | "at" | "tokens" | keyof Own>;

function grown<T extends Float64Array | Uint32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
