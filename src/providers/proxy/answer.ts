import { asObject, asWords, type JsonObject } from "../../core/json.ts";

/** What an answer turns out to say while it comes. */
export type Said =
  | { readonly is: "opened"; readonly response: string; readonly model: string | null; readonly usage: JsonObject | null }
  | { readonly is: "block"; readonly block: JsonObject };

/** What is known of an answer so far. */
export interface AnswerState {
  readonly stop: string | null;
  readonly usage: JsonObject | null;
  readonly error: string | null;
  /** The API itself says that the answer is complete. */
  readonly isWhole: boolean;
}

/** Puts the answer of one API together from its events, or reads it whole. */
export interface AnswerReader extends AnswerState {
  event(data: JsonObject): Generator<Said>;
  /** The stream says that it is over. */
  done(): Generator<Said>;
  whole(body: JsonObject): Generator<Said>;
}

export const errorIn = (value: unknown): string | null => {
  const error = asObject(value);
  if (error === null) return asWords(value);
  const [kind, words] = [asWords(error.type) ?? asWords(error.code), asWords(error.message)];
  return kind !== null && words !== null ? `${kind}: ${words}` : (words ?? kind);
};

/** An error that came instead of an answer, in the API's words. */
export const errorOf = (body: JsonObject): string | null => errorIn(body.error) ?? asWords(body.message) ?? asWords(body.detail);
