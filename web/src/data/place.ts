import type { EventRef } from "./types.ts";

/** The place of a record, as a URL parameter. */
export const placeOf = (ref: EventRef) => ("row" in ref ? `${ref.path}#${ref.row}` : `${ref.path}:${ref.line}`);
