import { createHash, randomBytes } from "node:crypto";
import type { Scope } from "../../core/ports/team.ts";
import { type AuditEntry, type AuditPlace, auditChange, auditPage, auditVisit } from "./audit.ts";
import type { Database, Queries } from "./database.ts";
import { CHANNEL, NOTIFY } from "./ingest-statements.ts";
import { TOKENS } from "./token-statements.ts";

export interface Grant {
  /** Public id of the token. */
  readonly id: string;
  readonly owner: string;
  readonly scope: Scope;
  readonly teams: readonly string[];
}

export interface ListedToken extends Grant {
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

export interface NewToken {
  readonly owner: string;
  readonly scope: Scope;
  readonly teams: readonly string[];
  /** ISO 8601. */
  readonly expiresAt: string | null;
}

/** Names of owners and teams: they are parts of URLs and of searches. */
export const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** So that scanners for leaked secrets can recognise it. */
const PREFIX = "rtn_";
const digest = (secret: string) => createHash("sha256").update(secret).digest("hex");
const newSecret = (prefix: string) => `${prefix}${randomBytes(24).toString("base64url")}`;

/** The notification that tokens, sessions or teams have changed; those of shipments name an owner. */
const ACCESS_CHANGED = "[]";
const accessChanged = (queries: Queries) => queries.all(NOTIFY, [CHANNEL, ACCESS_CHANGED]);

/** Tokens of a team server. Only their hashes are stored. */
export class Tokens {
  readonly #database: Database;
  readonly #reads: Queries;

  /** `reads` answers what is only read. */
  constructor(database: Database, reads: Queries = database) {
    this.#database = database;
    this.#reads = reads;
  }

  /** Returns the token, which is stored nowhere. A token for shipping shares the threads of its owner with its teams. */
  create({ owner, scope, teams, expiresAt }: NewToken): Promise<{ readonly id: string; readonly token: string }> {
    const token = newSecret(PREFIX);
    const id = randomBytes(6).toString("hex");
    return this.#database.transaction(async (queries) => {
      await queries.all(TOKENS.create, [id, digest(token), owner, scope, [...teams], expiresAt]);
      if (scope === "ship") {
        await queries.all(TOKENS.share, [owner, [...teams]]);
        await accessChanged(queries);
      }
      await auditChange(queries, "token-created", `${id} ${scope} ${owner}`);
      return { id, token };
    });
  }

  async list(): Promise<ListedToken[]> {
    const rows = await this.#database.all<
      Grant & { readonly created_at: Date; readonly expires_at: Date | null; readonly revoked_at: Date | null }
    >(TOKENS.list);
    return rows.map(({ created_at, expires_at, revoked_at, ...grant }) => ({
      ...grant,
      createdAt: created_at.toISOString(),
      expiresAt: expires_at?.toISOString() ?? null,
      revokedAt: revoked_at?.toISOString() ?? null,
    }));
  }

  /** `unknown`: there is no such token. `already`: it was revoked before. */
  revoke(id: string): Promise<"revoked" | "already" | "unknown"> {
    return this.#database.transaction(async (queries) => {
      if ((await queries.all(TOKENS.revoke, [id])).length > 0) {
        await auditChange(queries, "token-revoked", id);
        await accessChanged(queries);
        return "revoked";
      }
      return (await queries.all(TOKENS.exists, [id])).length > 0 ? "already" : "unknown";
    });
  }

  /** Returns the teams with which the threads of the owner were shared until now. */
  unshare(owner: string, teams: readonly string[]): Promise<string[]> {
    return this.#database.transaction(async (queries) => {
      const ended = await queries.all<{ team: string }>(TOKENS.unshare, [owner, [...teams]]);
      const names = ended.map(({ team }) => team).sort();
      if (names.length > 0) {
        await auditChange(queries, "unshared", `${owner} ${names.join(",")}`);
        await accessChanged(queries);
      }
      return names;
    });
  }

  /** What a token allows; null if it is unknown, expired or revoked. */
  async grantOf(token: string): Promise<Grant | null> {
    return (await this.#reads.all<Grant>(TOKENS.byHash, [digest(token)]))[0] ?? null;
  }

  /** Opens a session for a browser. Returns its secret, for a cookie. */
  async openSession({ id }: Grant): Promise<string> {
    const secret = newSecret("");
    await this.#database.all(TOKENS.forgetSessions);
    await this.#database.all(TOKENS.openSession, [digest(secret), id]);
    return secret;
  }

  async grantOfSession(secret: string): Promise<Grant | null> {
    return (await this.#reads.all<Grant>(TOKENS.bySession, [digest(secret)]))[0] ?? null;
  }

  async closeSession(secret: string): Promise<void> {
    await this.#database.transaction(async (queries) => {
      await queries.all(TOKENS.closeSession, [digest(secret)]);
      await accessChanged(queries);
    });
  }

  /** Owners whose threads this token may read. */
  async readable({ scope, owner, teams }: Grant): Promise<string[]> {
    if (scope === "ship") return [];
    const rows =
      scope === "admin"
        ? [...(await this.shippers())]
        : (await this.#reads.all<{ owner: string }>(TOKENS.sharedWith, [[...teams]])).map((row) => row.owner);
    return [...new Set([owner, ...rows])].sort();
  }

  /** Owners who have a token for shipping, or had one. */
  async shippers(): Promise<Set<string>> {
    return new Set((await this.#reads.all<{ owner: string }>(TOKENS.everyOwner)).map(({ owner }) => owner));
  }

  /** The teams with which these owners share their threads. */
  teamsOf(owners: readonly string[]): Promise<{ readonly team: string; readonly owner: string }[]> {
    return this.#reads.all(TOKENS.teamsOf, [[...owners]]);
  }

  audit(entry: Omit<AuditEntry, "at">): Promise<void> {
    return auditVisit(this.#database, entry);
  }

  /** A page of the audit log, the newest entries first. */
  audited(limit: number, after: AuditPlace | null = null) {
    return auditPage(this.#reads, limit, after);
  }
}
