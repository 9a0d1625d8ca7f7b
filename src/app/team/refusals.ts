/** Why a database cannot be used, and what to do about it. */
import { StoreFault } from "../../stores/fault.ts";
import { BadAddress } from "../../stores/postgres/address.ts";
import { NO_TLS } from "../../stores/postgres/connect.ts";
import { NoCitus } from "../../stores/postgres/distribute.ts";
import { NewerSchema, OtherEncoding, UnknownSchema, UnreleasedSchema } from "../../stores/postgres/migrate.ts";
import { asFailure, Failure } from "../failure.ts";

/** Errors that the user can do something about, as such. */
export function explained(error: unknown): never {
  if (error instanceof BadAddress)
    throw new Failure("usage", error.message, ["check the address given to --store, and those in store.replicas"]);
  if (error instanceof UnreleasedSchema)
    throw new Failure("failed", error.message, [
      "create a new database and new tokens: the machines send everything again",
    ]);
  if (error instanceof UnknownSchema)
    throw new Failure("failed", error.message, [
      "restore the database from a backup, or create a new one and new tokens: the machines send everything again",
    ]);
  if (error instanceof OtherEncoding)
    throw new Failure("failed", error.message, [
      "create one with `create database retinue encoding 'UTF8' template template0`",
    ]);
  if (error instanceof NewerSchema) throw new Failure("failed", error.message, ["update retinue on this machine"]);
  if (error instanceof NoCitus)
    throw new Failure("failed", error.message, [
      "run `create extension citus` in it, and citus_add_node for each node; see docs/team.md",
    ]);
  throw refused(error) ?? asFailure(error, "the database cannot be used") ?? error;
}

/** Citus' own words, for example about missing nodes. */
export function refusedByCitus(error: unknown): unknown {
  if (!(error instanceof Error && "severity" in error)) return error;
  const next = "what was distributed stays so; run it again when the cause is gone";
  return new Failure("failed", `Citus refuses: ${error.message}`, [next], error);
}

/** PostgreSQL's own words about a wrong name, password, permission or certificate; null if it is something else. */
function refused(error: unknown): Failure | null {
  const isConnecting = error instanceof StoreFault;
  const reason = isConnecting ? error.cause : error;
  if (!(reason instanceof Error)) return null;
  const { code = "", message } = reason as NodeJS.ErrnoException;
  const next = isConnecting ? adviceOnConnecting(code, message) : (STATEMENTS.get(code) ?? null);
  const what = /^\d\w{4}$/.test(code) ? "refuses" : "cannot be used";
  return next === null ? null : new Failure("failed", `the database ${what}: ${message}`, [next], error);
}

function adviceOnConnecting(code: string, message: string): string | null {
  if (message === NO_TLS) return "switch on TLS in PostgreSQL (ssl = on), or write ?sslmode=disable";
  if (message.startsWith("unsupported startup parameter"))
    return "if the address leads to pgbouncer, add ?pgbouncer=session or ?pgbouncer=transaction to it, after its pool_mode; in transaction mode it can have no other parameters of a session";
  if (UNTRUSTED.test(code))
    return "name a file with the certificate of its authority in NODE_EXTRA_CA_CERTS, or write ?sslmode=require to encrypt without checking the certificate";
  return LOGINS.get(code) ?? LOGINS.get(code.slice(0, 2)) ?? null;
}

/** Codes of OpenSSL for certificates. */
const UNTRUSTED = /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)/;

const PARAMETERS = "check the parameters after the ? of the address given to --store";

/** What to do if a connection is refused, by PostgreSQL's codes (its appendix A) or their first two characters. */
const LOGINS: ReadonlyMap<string, string> = new Map([
  [
    "28P01",
    "check the user in the address given to --store, and the password: in PGPASSWORD, or in .pgpass, which only its user may be able to read (chmod 600)",
  ],
  [
    "28",
    "check the user in the address given to --store, and the lines of pg_hba.conf for it; if they ask for encryption, write ?sslmode=require",
  ],
  ["08P01", "check the user, the password and the database in the address given to --store, and the log of pgbouncer"],
  ["3D", "check the name of the database in the address given to --store"],
  ["42501", "its user needs the right to connect: grant connect on database <name> to <user>"],
  ["42704", PARAMETERS],
  ["22", PARAMETERS],
  ["55P02", PARAMETERS],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "write a host name that the certificate has in the address given to --store"],
]);

/** The same for the statements of a migration. */
const STATEMENTS: ReadonlyMap<string, string> = new Map([
  [
    "42501",
    "its user must own the schema retinue, or have the right to create it: grant create on database <name> to <user>, or restore a backup as that user",
  ],
]);
