import { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Client, ClientConfig, CustomTypesConfig } from "pg";
import { StoreFault } from "../fault.ts";
import type { Address, Host } from "./address.ts";
import { postgresFault } from "./fault.ts";
import { Link } from "./link.ts";
import { passwordFromFile } from "./password-file.ts";
import { withTimeout } from "./timeout.ts";

const CONNECT_MS = 10_000;
const RETRY_MS = 250;
const KEEP_ALIVE_MS = 60_000;
/** The client's words if the server has no TLS; there is no code. */
export const NO_TLS = "The server does not support SSL connections";

/** The parts of the package `pg` that are used here; it is loaded on demand. */
export interface Pg {
  readonly Client: new (config: ClientConfig) => Client;
  readonly types: { getTypeParser(type: number): (text: string) => unknown };
}

/** Connects to the hosts of an address. */
export class Connector {
  readonly #pg: Pg;
  readonly #address: Address;
  readonly #searchMs: number;
  readonly #silenceMs: number | null;
  /** The host that was right the last time. */
  #first = 0;

  /**
   * `searchMs`: how long a server of the wanted kind is looked for, for example after a failover. `silenceMs`: a
   * statement without an answer for so long means that the server is gone.
   */
  constructor(pg: Pg, address: Address, searchMs: number, silenceMs: number | null) {
    this.#searchMs = searchMs;
    this.#silenceMs = silenceMs;
    this.#pg = pg;
    this.#address = address;
  }

  /**
   * A connection to a server of the wanted kind. With one host of any kind, it is tried once. Every error is a
   * `StoreFault`, also a refused login: its password may be changed while a server runs.
   */
  async connect(until: AbortSignal): Promise<Link> {
    try {
      return await this.#connect(until);
    } catch (error) {
      throw error instanceof StoreFault ? error : new StoreFault(postgresFault(error) ?? "unreachable", error);
    }
  }

  async #connect(until: AbortSignal): Promise<Link> {
    const { hosts, target } = this.#address;
    if (hosts.length === 1 && target === "any") return this.#reach(hosts[0] as Host, until);
    const search = new AbortController();
    const stop = () => search.abort();
    const timer = setTimeout(stop, this.#searchMs);
    until.addEventListener("abort", stop, { once: true });
    try {
      return await this.#search(search.signal);
    } finally {
      clearTimeout(timer);
      until.removeEventListener("abort", stop);
    }
  }

  async #search(until: AbortSignal): Promise<Link> {
    let last: unknown;
    while (!until.aborted) {
      for (const kind of this.#address.target === "prefer-standby" ? ["standby", "any"] : [this.#address.target])
        try {
          return await this.#find(kind, until);
        } catch (error) {
          if (!isAway(error)) throw error;
          last = error;
        }
      await wait(RETRY_MS, undefined, { signal: until }).catch(() => {});
    }
    throw new StoreFault("unreachable", last ?? "the database does not answer");
  }

  /** The first host of this kind. */
  async #find(kind: string, until: AbortSignal): Promise<Link> {
    const { hosts } = this.#address;
    let last: unknown;
    for (let n = 0; n < hosts.length; n += 1) {
      const at = (this.#first + n) % hosts.length;
      try {
        const link = await this.#reach(hosts[at] as Host, until);
        if (await isOfKind(link, kind, until)) {
          this.#first = at;
          return link;
        }
        link.end();
      } catch (error) {
        if (!isAway(error)) throw error;
        last = error;
      }
    }
    throw new StoreFault("unreachable", last ?? `no server of the database is ${SAID[kind] ?? kind}`);
  }

  async #reach(host: Host, until: AbortSignal): Promise<Link> {
    const { tls } = this.#address;
    if (tls === "none" || host.name.startsWith("/")) return this.#open(host, false, until);
    try {
      return await this.#open(host, { rejectUnauthorized: tls === "verified" }, until);
    } catch (error) {
      if (tls !== "preferred" || !(error instanceof Error && error.message === NO_TLS)) throw error;
      return this.#open(host, false, until);
    }
  }

  async #open(host: Host, ssl: NonNullable<ClientConfig["ssl"]>, until: AbortSignal): Promise<Link> {
    if (until.aborted) throw new StoreFault("unreachable", "the database was closed");
    const { user, database, password, isDirectTls, pooling } = this.#address;
    const { application_name, ...session } = this.#address.parameters;
    // pgbouncer refuses most parameters.
    const parameters = pooling === "session" ? { application_name } : this.#address.parameters;
    const socket = new Socket();
    const client = new this.#pg.Client({
      host: host.name,
      port: host.port,
      user,
      database,
      password: password ?? (() => passwordOf(this.#address, host)),
      ssl,
      ...(ssl !== false && isDirectTls ? { sslnegotiation: "direct" } : {}),
      stream: () => socket,
      connectionTimeoutMillis: CONNECT_MS,
      pipeline: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      types: typesOf(this.#pg),
    });
    // The parameters of the address as they are: the client itself would pass on only a few of them.
    Object.assign(client, { getStartupConf: () => ({ user, database, ...parameters }) });
    const link = new Link(client, socket, this.#silenceMs);
    const stop = () => link.destroy();
    until.addEventListener("abort", stop, { once: true });
    try {
      await client.connect();
      if (pooling === "session") await withTimeout(CONNECT_MS, setAll(link, session));
      return link;
    } catch (error) {
      // After some errors the client leaves it open.
      link.destroy();
      throw isTimeout(error) ? new StoreFault("unreachable", `no answer from ${host.name}, port ${host.port}`) : error;
    } finally {
      until.removeEventListener("abort", stop);
    }
  }
}

const isTimeout = (error: unknown) => error instanceof Error && error.message === "timeout expired";

const SAID: Readonly<Record<string, string>> = { primary: "a primary", standby: "a replica" };

/** Another host may do, or the same one later. */
function isAway(error: unknown): boolean {
  const kind = postgresFault(error);
  return kind === "unreachable" || kind === "busy";
}

async function isOfKind(link: Link, kind: string, until: AbortSignal): Promise<boolean> {
  if (kind === "any") return true;
  const stop = () => link.destroy();
  until.addEventListener("abort", stop, { once: true });
  try {
    const asked = link.query<{ standby: boolean; locked: boolean }>(
      "select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as locked",
    );
    const [state] = await withTimeout(CONNECT_MS, asked);
    if (kind === "primary" || kind === "standby") return state?.standby === (kind === "standby");
    return state?.locked === (kind === "read-only");
  } catch (error) {
    link.destroy();
    throw error;
  } finally {
    until.removeEventListener("abort", stop);
  }
}

async function setAll(link: Link, parameters: Address["parameters"]): Promise<void> {
  for (const [name, value] of Object.entries(parameters))
    await link.query("select set_config($1, $2, false)", [name, value]);
}

/** Asked for only if the server wants one. The code is PostgreSQL's for a wrong password. */
async function passwordOf({ user, database }: Address, { name, port }: Host): Promise<string> {
  const found = passwordFromFile({ host: name, port, database, user });
  if (found !== null) return found;
  throw Object.assign(new Error(`no password is given for user "${user}"`), { code: "28P01" });
}

/** Values of the types that statements return, by the numbers of the types; all others are text. */
function typesOf({ types }: Pg): CustomTypesConfig {
  const texts = types.getTypeParser(TEXT_ARRAY) as (text: string) => string[];
  const numbers = (text: string) => texts(text).map((one) => (one === null ? null : Number(one)));
  const parsers = new Map<number, (text: string) => unknown>([
    [16, (text) => text === "t"], // boolean
    ...[20, 21, 23, 26, 700, 701].map((type) => [type, Number] as const), // bigint and others: all are below 2^53
    ...[114, 3802].map((type) => [type, JSON.parse] as const),
    // The package would read a date as one of the local time zone.
    ...[1082, 1114, 1184].map((type) => [type, (text: string) => new Date(text)] as const),
    ...[1003, TEXT_ARRAY, 1015].map((type) => [type, texts] as const),
    ...[1005, 1007, 1016, 1021, 1022].map((type) => [type, numbers] as const),
  ]);
  return { getTypeParser: ((type: number) => parsers.get(type) ?? String) as CustomTypesConfig["getTypeParser"] };
}

const TEXT_ARRAY = 1009;
