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
  /** Whose thread the subject is; null if it is not one. */
  readonly threadOwner: string | null;
}

/** The place of an entry in the log: its time in microseconds, then its id. */
export type AuditPlace = readonly [at: number, id: string];

/** Before all entries: the newest come first. */
const NEWEST: AuditPlace = [8e15, ""];

const newId = () => randomBytes(12).toString("hex");

/** Who looked at what. */
export async function auditVisit(
  queries: Queries,
  { token, owner, action, subject, threadOwner }: Omit<AuditEntry, "at">,
): Promise<void> {
  await queries.all(TOKENS.audit, [newId(), token, owner, action, subject, threadOwner]);
}

/** What the user of this connection changed. */
export async function auditChange(queries: Queries, action: string, subject: string): Promise<void> {
  await queries.all(TOKENS.auditChange, [newId(), action, subject]);
}

/** The newest entries first, after this place. `next` is the place of the last one; null on the last page. */
export async function auditPage(
  queries: Queries,
  limit: number,
  after: AuditPlace | null,
): Promise<{ readonly items: readonly AuditEntry[]; readonly next: AuditPlace | null }> {
  const rows = await queries.all<{
    id: string;
    at: Date;
    micros: number;
    token: string | null;
    owner: string | null;
    action: string;
    subject: string | null;
    thread_owner: string | null;
  }>(TOKENS.audited, [limit + 1, ...(after ?? NEWEST)]);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(({ at, token, owner, action, subject, thread_owner: threadOwner }) => ({
      at: at.toISOString(),
      token,
      owner,
      action,
      subject,
      threadOwner,
    })),
    next: rows.length > limit && last !== undefined ? [last.micros, last.id] : null,
  };
}
