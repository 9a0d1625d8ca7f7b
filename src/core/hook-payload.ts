/** Reads one string field of a hook's payload; null where it has none. */
export type PayloadField = (name: string) => string | null;
