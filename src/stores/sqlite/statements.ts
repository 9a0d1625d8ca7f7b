import type { DatabaseSync, StatementSync } from "node:sqlite";
import { cached } from "../../core/tools/collections.ts";

/** Prepares each statement once. */
export type Statements = (text: string) => StatementSync;

export function statementsOf(db: DatabaseSync): Statements {
  const known = new Map<string, StatementSync>();
  return (text) => cached(known, text, () => db.prepare(text));
}
