import type { JSONValue, ParameterOrJSON, Sql } from "postgres";
import { StoreFault } from "../fault.ts";
import { boundHeap } from "../heap.ts";
import { postgresFault } from "./fault.ts";
import { withTimeout } from "./timeout.ts";

/** Numbers and strings, alone or in arrays; times are ISO 8601, and truth values of arrays are text. */
export type Parameter = string | number | boolean | null | readonly (string | number | null)[];

/** Runs statements, alone or in a transaction. Errors of the database are `StoreFault`s. */
export interface Queries {
  /** The rows of a statement. Statements are constants of a `*-statements.ts` file, which a test reads. */
  all<Row extends object>(statement: string, parameters?: readonly Parameter[]): Promise<Row[]>;
}

/** What the database was asked, for its latency and errors. */
export interface DatabaseCounts {
  statements: number;
  /** From the request to the answer, of all statements together. */
  seconds: number;
  failed: number;
}

export interface Database extends Queries {
  readonly counts: Readonly<DatabaseCounts>;
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** Runs a script of several statements, such as a migration. */
  script(text: string): Promise<void>;
  /**
   * Calls back for every notification of a channel. `onListen` is called whenever notifications may have been missed:
   * at the start, and after each reconnect. Ends when the database is closed.
   */
  listen(channel: string, onNotify: (payload: string) => void, onListen: () => void): Promise<void>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Largest number of connections. */
  readonly connections?: number;
  /** Milliseconds until a statement is cancelled; 0: never. */
  readonly statementMs?: number;
}

const CONNECTIONS = 10;
const CONNECT_SECONDS = 10;
const RECONNECT_SECONDS = 0.25;
const IDLE_SECONDS = 300;
/** No query of the API takes this long; a forgotten one must not hold its locks. */
const STATEMENT_MS = 60_000;
/** With several hosts, the client looks for the primary without end. */
const SEARCH_MS = 30_000;
const POLL_MS = 1_000;
const INT8 = 20;

/** The client is loaded on demand: only team servers need it. */
export async function openDatabase(address: string, options: DatabaseOptions = {}): Promise<Database> {
  const { default: postgres } = await import("postgres");
  const { url, isPooled } = pooling(address);
  const timeout = { statement_timeout: options.statementMs ?? STATEMENT_MS };
  const sql = postgres(url, {
    max: options.connections ?? CONNECTIONS,
    connect_timeout: CONNECT_SECONDS,
    idle_timeout: IDLE_SECONDS,
    backoff: () => RECONNECT_SECONDS,
    onnotice: () => {},
    ...(isOfSeveral(url) ? { target_session_attrs: "primary" as const } : {}),
    // A pooler refuses parameters of a session that it does not know.
    connection: { application_name: "retinue", ...(isPooled ? {} : timeout) },
    prepare: !isPooled,
    // Revisions and sizes are below 2^53.
    types: { bigint: { to: INT8, from: [INT8], parse: Number, serialize: String } },
  });
  const counts: DatabaseCounts = { statements: 0, seconds: 0, failed: 0 };
  const faulty: Guard = (work) => measured(counts, work);
  const guarded: Guard = isOfSeveral(url)
    ? <T>(work: () => Promise<T>) => withTimeout(SEARCH_MS, faulty(work))
    : faulty;
  const ended = new AbortController();
  const script = async (text: string) => void (await guarded(() => sql.unsafe(text).simple()));
  return {
    ...queriesOf(sql, guarded, !isPooled),
    counts,
    script,
    transaction: (work) =>
      guarded(() =>
        sql.begin((inner) => work(queriesOf(inner as unknown as Sql, faulty, !isPooled))),
      ) as Promise<never>,
    listen: async (channel, onNotify, onListen) => {
      if (isPooled) poll(onListen, ended.signal);
      else await faulty(() => sql.listen(channel, onNotify, onListen));
    },
    close: () => {
      ended.abort();
      return sql.end({ timeout: 5 });
    },
  };
}

/**
 * `?pgbouncer=transaction`: connections change between transactions, so nothing may depend on a session: no prepared
 * statements, and no notifications.
 */
function pooling(address: string): { readonly url: string; readonly isPooled: boolean } {
  const url = address.replace(/([?&])pgbouncer=transaction(?:&|$)/, "$1").replace(/[?&]$/, "");
  return { url, isPooled: url !== address };
}

/** Without notifications: looks for news from time to time. */
function poll(onListen: () => void, until: AbortSignal): void {
  onListen();
  const timer = setInterval(onListen, POLL_MS);
  until.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/** Several hosts without `target_session_attrs`: the client connects to the primary, also after a failover. */
const isOfSeveral = (url: string) => /^\w+:\/\/[^/?]*,/.test(url) && !url.includes("target_session_attrs=");

const queriesOf = (sql: Sql, guarded: Guard, prepare: boolean): Queries => ({
  all: <Row extends object>(statement: string, parameters: readonly Parameter[] = []) =>
    guarded(async () => {
      const given = [...parameters] as ParameterOrJSON<JSONValue>[];
      return [...(await sql.unsafe(statement, given as never, { prepare }))] as unknown as Row[];
    }),
});

type Guard = <T>(work: () => Promise<T>) => Promise<T>;

/** Counts the work. Errors of the database are `StoreFault`s. */
async function measured<T>(counts: DatabaseCounts, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  counts.statements += 1;
  boundHeap();
  try {
    return await work();
  } catch (error) {
    counts.failed += 1;
    const kind = postgresFault(error);
    throw kind === null || error instanceof StoreFault ? error : new StoreFault(kind, error);
  } finally {
    counts.seconds += (performance.now() - began) / 1_000;
  }
}
