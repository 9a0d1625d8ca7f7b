import { asNonBlank, asObject, type JsonObject } from "../../core/tools/json.ts";

/** A part of a response, as it arrives. */
export type ResponsePart =
  | {
      readonly is: "opened";
      readonly response: string;
      readonly model: string | null;
      readonly usage: JsonObject | null;
    }
  | { readonly is: "block"; readonly block: JsonObject };

/** The state of a response so far. */
export interface ResponseState {
  readonly stop: string | null;
  readonly usage: JsonObject | null;
  readonly error: string | null;
  /** The API marked the response as complete. */
  readonly isWhole: boolean;
}

/** Assembles the response of one API from its events, or reads it whole. */
export interface ResponseReader extends ResponseState {
  event(data: JsonObject): Generator<ResponsePart>;
  /** The stream ended. */
  done(): Generator<ResponsePart>;
  whole(body: JsonObject): Generator<ResponsePart>;
}

/** The last usage counts, whether it is sent once or repeatedly; fields that it omits keep their value. */
export const mergedUsage = (before: JsonObject | null, usage: JsonObject | null): JsonObject | null =>
  usage === null
    ? before
    : { ...before, ...Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null)) };

export const errorIn = (value: unknown): string | null => {
  const error = asObject(value);
  if (error === null) return asNonBlank(value);
  const [kind, message] = [asNonBlank(error.type) ?? asNonBlank(error.code), asNonBlank(error.message)];
  return kind !== null && message !== null ? `${kind}: ${message}` : (message ?? kind);
};

/** An error instead of a response, with the API's message. */
export const errorOf = (body: JsonObject): string | null =>
  errorIn(body.error) ?? asNonBlank(body.message) ?? asNonBlank(body.detail);
