import { randomBytes } from "node:crypto";
import type { Queries } from "./database.ts";
import { TOKENS } from "./token-statements.ts";

export interface AuditEntry {
  readonly at: string;
  /** Public id of the token. */
  readonly token: string | null;
  /** Who did it; `database:<user>` if it was done with access to the database. */
  readonly owner: string | null;
  readonly action: string;
  readonly subject: string | null;
}

const newId = () => randomBytes(12).toString("hex");

/** Who looked at what. */
export async function auditVisit(
  queries: Queries,
  { token, owner, action, subject }: Omit<AuditEntry, "at">,
): Promise<void> {
  await queries.all(TOKENS.audit, [newId(), token, owner, action, subject]);
}

/** What the user of this connection changed. */
export async function auditChange(queries: Queries, action: string, subject: string): Promise<void> {
  await queries.all(TOKENS.auditChange, [newId(), action, subject]);
}
