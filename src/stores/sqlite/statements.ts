import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Prepares each statement once. */
export type Statements = (text: string) => StatementSync;

export function statementsOf(db: DatabaseSync): Statements {
  const known = new Map<string, StatementSync>();
  return (text) => {
    const statement = known.get(text) ?? db.prepare(text);
    known.set(text, statement);
    return statement;
  };
}
