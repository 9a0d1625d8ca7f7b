/** Reads a string field of a hook's payload; null if it has none. */
export type PayloadField = (name: string) => string | null;
