import type { Budget } from "../../core/views/budget.ts";
import { auditChange } from "./audit.ts";
import type { Database, Queries } from "./database.ts";
import { TOKENS } from "./token-statements.ts";

/** Budgets of people, teams and projects. Changes are in the audit log. */
export class Budgets {
  readonly #database: Database;
  readonly #reads: Queries;

  /** `reads` answers what is only read. */
  constructor(database: Database, reads: Queries = database) {
    this.#database = database;
    this.#reads = reads;
  }

  list(): Promise<Budget[]> {
    return this.#reads.all<Budget & object>(TOKENS.budgets);
  }

  /** Replaces an earlier one. */
  set({ of, name, usd }: Budget): Promise<void> {
    return this.#database.transaction(async (queries) => {
      await queries.all(TOKENS.setBudget, [of, name, usd]);
      await auditChange(queries, "budget-set", `${of} ${name} ${usd}`);
    });
  }

  /** False if there was none. */
  remove({ of, name }: Omit<Budget, "usd">): Promise<boolean> {
    return this.#database.transaction(async (queries) => {
      if ((await queries.all(TOKENS.removeBudget, [of, name])).length === 0) return false;
      await auditChange(queries, "budget-removed", `${of} ${name}`);
      return true;
    });
  }
}
