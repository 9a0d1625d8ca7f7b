/** Threads with totals of the product, for tests of what depends on them. */

import type { ModelCalled } from "../../src/core/facts/observation.ts";
import type { ModelCallMissing, TotalStated } from "../../src/core/facts/totals.ts";
import { NO_AMOUNTS, NO_TOKENS } from "../../src/core/facts/usage.ts";
import type { Forest } from "../../src/core/link/forest.ts";
import { link } from "../../src/core/link/link.ts";
import { type Verification, verifyThreadOf } from "../../src/core/views/verify.ts";
import { agent, LATER, notebook, parentNamed, record, row, thread } from "./observations.ts";

export const [main, worker, fork] = [thread("t"), agent("t", "worker"), thread("fork")];
export type Book = ReturnType<typeof notebook>;

/** A response of 100 output tokens, for the given input. */
export const answered = (response: string, inputTokens: number, more: Partial<ModelCalled> = {}): ModelCalled => ({
  type: "model-call",
  response: row(response),
  model: "big",
  tokens: { ...NO_TOKENS, inputTokens, outputTokens: 100 },
  chars: 0,
  ended: true,
  ...more,
});

/** Input and output tokens by model. */
export const total = (
  used: Readonly<Record<string, readonly [input: number, output: number]>>,
  more: Partial<TotalStated> = {},
): TotalStated => ({
  type: "total-stated",
  byModel: Object.entries(used).map(([model, [inputTokens, outputTokens]]) => ({
    model,
    amounts: { ...NO_AMOUNTS, inputTokens, outputTokens },
  })),
  costUsd: null,
  began: 500,
  activeMs: 9_500,
  ...more,
});

export const compaction: ModelCallMissing = { type: "model-call-missing", what: "compaction", on: "own", one: true };
export const title: ModelCallMissing = { type: "model-call-missing", what: "title", on: "any", one: false };

export function say(
  book: Book,
  at: number,
  response: string,
  inputTokens: number,
  more: Partial<ModelCalled> = {},
  by = main,
) {
  const keys = [`row of ${response}`, response];
  book.see({ by, at, keys }, record());
  book.see({ by, at, keys }, answered(response, inputTokens, more));
}

/** The thread has a response with 10 input tokens, its worker one with 20. */
export function family(): Book {
  const book = notebook();
  say(book, 1_000, "R1", 10);
  book.see({ by: worker, keys: ["w"] }, parentNamed(worker, main));
  say(book, 2_000, "R2", 20, {}, worker);
  return book;
}

export const forestOf = (book: Book): Forest => link(book.observations, LATER);
export const verify = (book: Book, key = main, price: () => number | null = () => null) =>
  verifyThreadOf(forestOf(book), key, price);
export const brief = ({ verdict, reasons, differences }: Verification) => ({
  verdict,
  reasons: reasons.map(({ code, tokens }) => `${code} ${tokens.inputTokens}/${tokens.outputTokens}`),
  differences: differences.map(({ model, kind, stated, counted }) => `${model} ${kind} ${stated} ${counted}`),
});
export const AGREES = { verdict: "agrees", reasons: [], differences: [] };
export const explained = (...reasons: readonly string[]) => ({ verdict: "explained", reasons, differences: [] });
export const differs = (...differences: readonly string[]) => ({ verdict: "differs", reasons: [], differences });
