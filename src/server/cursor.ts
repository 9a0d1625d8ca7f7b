import { Failure } from "../app/failure.ts";

/** The place of an item in a sorted list: its sort value, then its id. */
export type CursorPlace = readonly [at: number, id: string];

/** Encodes the last item of a page as the `next` of the response. */
export const encodeCursor = (place: CursorPlace): string => Buffer.from(JSON.stringify(place)).toString("base64url");

/** Throws a `Failure` if a client sent anything other than a `next`. */
export function decodeCursor(cursor: string): CursorPlace {
  try {
    const [at, id] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (typeof at === "number" && typeof id === "string") return [at, id];
  } catch {
    // Not JSON, so not a valid cursor.
  }
  throw new Failure("usage", "invalid cursor", ["use `next` of the previous page"]);
}
