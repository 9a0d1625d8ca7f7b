import { cached } from "../tools/collections.ts";
import { NumberRows, TextColumn } from "../tools/columns.ts";
import { SPAN_ENDS, SPAN_KINDS, type Span } from "./span.ts";
import type { Order, Slot } from "./span-list.ts";

const FROM = 0;
const TO = 1;
/** Kind, end and group in one number. */
const CODE = 2;
const NUMBER = 3;
const NAME = 4;
const TOKENS = 5;
const OUTPUT = 6;
const WIDTH = 7;
/** More than there are kinds, ends and groups. */
const CODES = 8;

/** Spans that no longer change, in columns: a fifth of the memory of objects. */
export class SettledSpans {
  readonly #numbers = new NumberRows(WIDTH);
  /** The calls of tool spans; empty texts for others. */
  readonly #calls = new TextColumn();
  readonly #names: (string | null)[] = [];
  readonly #numberOf = new Map<string | null, number>();
  /** Few spans have agents. */
  readonly #agents = new Map<number, readonly string[]>();

  /** Returns its number here. */
  add({ group, number }: Slot, { kind, from, to, name, callId, tokens, outputTokens, end, agents }: Span): number {
    const row = this.#numbers.length;
    const ends = end === null ? SPAN_ENDS.length : SPAN_ENDS.indexOf(end);
    const code = (SPAN_KINDS.indexOf(kind) * CODES + ends) * CODES + group;
    this.#numbers.push([from, to ?? Number.NaN, code, number, this.#nameNumber(name), tokens, outputTokens]);
    this.#calls.push(callId === null ? "" : `#${callId}`);
    if (agents.length > 0) this.#agents.set(row, agents);
    return row;
  }

  span(row: number): Span {
    const get = (column: number) => this.#numbers.get(row, column);
    const code = get(CODE);
    const call = this.#calls.get(row) ?? "";
    return {
      kind: SPAN_KINDS[Math.floor(code / CODES ** 2)] as Span["kind"],
      from: get(FROM),
      to: this.#end(row),
      name: this.#names[get(NAME)] ?? null,
      callId: call === "" ? null : call.slice(1),
      tokens: get(TOKENS),
      outputTokens: get(OUTPUT),
      end: SPAN_ENDS[Math.floor(code / CODES) % CODES] ?? null,
      agents: this.#agents.get(row) ?? [],
    };
  }

  order(row: number): Order {
    const code = this.#numbers.get(row, CODE);
    return {
      from: this.#numbers.get(row, FROM),
      to: this.#end(row),
      kind: Math.floor(code / CODES ** 2),
      group: (code % CODES) as Slot["group"],
      number: this.#numbers.get(row, NUMBER),
    };
  }

  #end(row: number): number | null {
    const to = this.#numbers.get(row, TO);
    return Number.isNaN(to) ? null : to;
  }

  #nameNumber(name: string | null): number {
    return cached(this.#numberOf, name, () => this.#names.push(name) - 1);
  }
}
