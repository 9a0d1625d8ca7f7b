import { userInfo } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { StoreFault } from "../fault.ts";
import { boundHeap } from "../heap.ts";
import { parseAddress } from "./address.ts";
import { Connector } from "./connect.ts";
import { postgresFault } from "./fault.ts";
import { isForgotten, type Link } from "./link.ts";
import { Pool } from "./pool.ts";

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
  /** Milliseconds for which a primary is looked for among several hosts. */
  readonly searchMs?: number;
}

const CONNECTIONS = 10;
const RECONNECT_MS = 250;
const IDLE_MS = 300_000;
const LIFE_MS = 30 * 60_000;
const CLOSE_MS = 5_000;
/** No query of the API takes this long; a forgotten one must not hold its locks. */
const STATEMENT_MS = 60_000;
/** The server ends a statement at its limit; if nothing arrives so much later, it is gone. */
const LATE_MS = 10_000;
const SEARCH_MS = 30_000;
const POLL_MS = 1_000;

/** The client is loaded on demand: only team servers need it. */
export async function openDatabase(given: string, options: DatabaseOptions = {}): Promise<Database> {
  const { default: pg } = await import("pg");
  const parsed = parseAddress(given, process.env, systemUser());
  const statementMs = options.statementMs ?? STATEMENT_MS;
  const hasSession = parsed.pooling !== "transaction";
  const parameters = { ...(hasSession ? { statement_timeout: String(statementMs) } : {}), ...parsed.parameters };
  const silenceMs = silenceOf(parameters.statement_timeout ?? String(statementMs));
  const connector = new Connector(pg, { ...parsed, parameters }, options.searchMs ?? SEARCH_MS, silenceMs);
  const max = options.connections ?? CONNECTIONS;
  const pool = new Pool((until) => connector.connect(until), { max, idleMs: IDLE_MS, lifeMs: LIFE_MS });
  const counts: DatabaseCounts = { statements: 0, seconds: 0, failed: 0 };
  const guarded: Guard = (work) => measured(counts, work);
  const ended = new AbortController();
  const listeners = new Set<Promise<void>>();
  return {
    counts,
    all: (statement, parameters = []) =>
      guarded(() => pool.share((link) => runAgain(link, statement, parameters, hasSession))),
    script: (text) => guarded(() => pool.use(async (link) => void (await link.query(text)))),
    transaction: (work) => guarded(() => pool.use((link) => inTransaction(link, work, guarded, hasSession))),
    listen: async (channel, onNotify, onListen) => {
      if (!hasSession) return poll(onListen, ended.signal);
      const start = () => listening(connector, channel, onNotify, ended.signal);
      const first = await guarded(start);
      onListen();
      listeners.add(keepListening(first, start, onListen, ended.signal));
    },
    close: async () => {
      ended.abort();
      await Promise.all([pool.close(CLOSE_MS), ...listeners]);
    },
  };
}

/** How long a server may be silent; null if a statement may take any time. */
const silenceOf = (timeout: string) => (/^[1-9]\d*$/.test(timeout) ? Number(timeout) + LATE_MS : null);

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user may have no name.
    return process.env.USER ?? "";
  }
}

/** Without notifications: looks for news from time to time. */
function poll(onListen: () => void, until: AbortSignal): void {
  onListen();
  const timer = setInterval(onListen, POLL_MS);
  until.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/** A connection of its own, on which notifications arrive. */
async function listening(
  connector: Connector,
  channel: string,
  onNotify: (payload: string) => void,
  until: AbortSignal,
): Promise<Link> {
  const link = await connector.connect(until);
  const stop = () => link.end();
  if (until.aborted) stop();
  until.addEventListener("abort", stop, { once: true });
  void link.lost.then(() => until.removeEventListener("abort", stop));
  link.onNotify(onNotify);
  try {
    await link.query(`listen "${channel}"`);
    return link;
  } catch (error) {
    link.destroy();
    throw error;
  }
}

/** Starts again whenever the connection was lost. */
async function keepListening(
  first: Link,
  start: () => Promise<Link>,
  onListen: () => void,
  until: AbortSignal,
): Promise<void> {
  let link: Link | null = first;
  while (!until.aborted || link !== null) {
    await link?.lost;
    link = null;
    try {
      await wait(RECONNECT_MS, undefined, { signal: until });
      link = await start();
      onListen();
    } catch {
      // Not reachable yet, or closed.
    }
  }
}

/** A statement is prepared if it has parameters: others are run rarely. */
const run = <Row extends object>(
  link: Link,
  statement: string,
  parameters: readonly Parameter[],
  prepare: boolean,
): Promise<Row[]> => link.query<Row>(statement, parameters, prepare && parameters.length > 0);

/** Outside of a transaction, a statement that was prepared for a table that has changed since is run again. */
async function runAgain<Row extends object>(
  link: Link,
  statement: string,
  parameters: readonly Parameter[],
  prepare: boolean,
): Promise<Row[]> {
  try {
    return await run<Row>(link, statement, parameters, prepare);
  } catch (error) {
    if (!isForgotten(error)) throw error;
    return run<Row>(link, statement, parameters, false);
  }
}

/** A statement that failed undoes the transaction, also if the work goes on. */
async function inTransaction<T>(
  link: Link,
  work: (queries: Queries) => Promise<T>,
  guarded: Guard,
  prepare: boolean,
): Promise<T> {
  const failures: unknown[] = [];
  const all = <Row extends object>(statement: string, parameters: readonly Parameter[] = []) =>
    guarded(() => run<Row>(link, statement, parameters, prepare)).catch((error: unknown) => {
      failures.push(error);
      throw error;
    });
  await link.query("begin");
  try {
    const result = await work({ all });
    if (failures.length > 0) throw failures[0];
    await link.query("commit");
    return result;
  } catch (error) {
    // A connection that cannot undo it is not used again; the server undoes it then.
    if (link.isOpen) await link.query("rollback").catch(() => link.destroy());
    throw isOfAborted(error) ? failures[0] : error;
  }
}

/** The statement was refused because an earlier one had failed. */
const isOfAborted = (error: unknown) => error instanceof Error && "code" in error && error.code === "25P02";

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
