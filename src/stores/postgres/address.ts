/** The address of a database: `postgres://user:password@host:port,host:port/database?name=value`. */

/** What a connection needs the server to be. */
export type Target = (typeof TARGETS)[number];

const TARGETS = ["any", "primary", "standby", "prefer-standby", "read-write", "read-only"] as const;

/** `preferred`: without TLS if the server has none. Only `verified` checks the certificate. */
export type Tls = "none" | "preferred" | "unverified" | "verified";

/**
 * `transaction`: the connection to the server may be another one after each transaction, so nothing may depend on a
 * session.
 */
export type Pooling = (typeof POOLINGS)[number];

const POOLINGS = ["session", "transaction"] as const;

export interface Host {
  /** A name, an IP address, or the folder of a socket. */
  readonly name: string;
  readonly port: number;
}

export interface Address {
  readonly hosts: readonly Host[];
  readonly user: string;
  /** Null if it has to be looked up. */
  readonly password: string | null;
  readonly database: string;
  readonly tls: Tls;
  /** TLS begins without asking the server first. */
  readonly isDirectTls: boolean;
  readonly target: Target;
  /** The mode of pgbouncer if that is between us and the server. */
  readonly pooling: Pooling | null;
  /** What the server is told when a connection begins. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The user can correct it. The message does not contain the address, which may have a password. */
export class BadAddress extends Error {
  constructor(message: string) {
    super(`the address of the database ${message}`);
    this.name = "BadAddress";
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

const PARTS = /^postgres(?:ql)?:\/\/(?:([^/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/;
const HOST = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/;
const PORT = 5432;

/** By the word in `sslmode`, whose meanings are those of PostgreSQL, except that `verify-ca` also compares the name. */
const TLS: ReadonlyMap<string, Tls> = new Map([
  ["disable", "none"],
  ["false", "none"],
  ["allow", "preferred"],
  ["prefer", "preferred"],
  ["require", "unverified"],
  ["no-verify", "unverified"],
  ["verify-ca", "verified"],
  ["verify-full", "verified"],
  ["true", "verified"],
]);

/** Read here. */
const READ = [
  "dbname",
  "host",
  "password",
  "pgbouncer",
  "port",
  "ssl",
  "sslmode",
  "sslnegotiation",
  "sslrootcert",
  "target_session_attrs",
  "user",
];
/** Options of other clients; the server would refuse them. */
const IGNORED = ["connect_timeout", "fetch_types", "idle_timeout", "keep_alive", "max", "max_lifetime", "prepare"];

/** Values that the address lacks come from the variables that PostgreSQL's own programs use. */
export function parseAddress(address: string, env: Environment, systemUser: string): Address {
  const [, login = "", hosts = "", path = "", query = ""] = PARTS.exec(address) ?? missing();
  const parameters = new URLSearchParams(query);
  const [name = "", ...secret] = login.split(":");
  const user = parameters.get("user") || decoded(name) || env.PGUSER || systemUser;
  const places = hostsOf(parameters.get("host") ?? decoded(hosts), parameters.get("port") || env.PGPORT, env);
  const rest = [...parameters].filter(([key]) => !READ.includes(key) && !IGNORED.includes(key));
  return {
    hosts: places,
    user,
    password: parameters.get("password") || decoded(secret.join(":")) || env.PGPASSWORD || null,
    database: parameters.get("dbname") || decoded(path) || env.PGDATABASE || user,
    tls: tlsOf(parameters, env),
    isDirectTls: parameters.get("sslnegotiation") === "direct",
    target: targetOf(parameters.get("target_session_attrs") ?? env.PGTARGETSESSIONATTRS, places.length),
    pooling: poolingOf(parameters.get("pgbouncer")),
    parameters: { application_name: "retinue", ...Object.fromEntries(rest) },
  };
}

function poolingOf(given: string | null): Pooling | null {
  if (given === null) return null;
  const known = POOLINGS.find((one) => one === given);
  if (known === undefined) throw new BadAddress(`has an unknown pgbouncer: ${given}; it can be ${POOLINGS.join(", ")}`);
  return known;
}

function missing(): never {
  throw new BadAddress("is not of the form postgres://user@host/database");
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new BadAddress("has a % that encodes nothing: write %25");
  }
}

/** `ports` is one port, or one for each host. A host without a port has that of the first one. */
function hostsOf(given: string, ports: string | undefined, env: Environment): Host[] {
  const hosts = (given || env.PGHOST || "localhost").split(",").map((part) => HOST.exec(part) ?? unreadable(part));
  const others = (ports || String(PORT)).split(",");
  const first = hosts[0]?.[2] ?? others[0];
  return hosts.map(([, name = "", port], at) => ({
    name: name.replace(/^\[(.*)\]$/, "$1") || "localhost",
    port: portOf(port ?? (others.length > 1 ? others[at] : first) ?? ""),
  }));
}

function portOf(text: string): number {
  const port = /^\d+$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new BadAddress(`has a port that is not a number from 1 to 65535: ${text}`);
  return port;
}

function unreadable(part: string): never {
  throw new BadAddress(`has a host that cannot be read: ${part}`);
}

function tlsOf(parameters: URLSearchParams, env: Environment): Tls {
  const root = parameters.get("sslrootcert");
  if (root === "system") return "verified";
  if (root !== null) throw new BadAddress("has an sslrootcert: name that file in NODE_EXTRA_CA_CERTS instead");
  const mode = parameters.get("sslmode") ?? parameters.get("ssl") ?? env.PGSSLMODE ?? "disable";
  const tls = TLS.get(mode);
  if (tls === undefined) throw new BadAddress(`has an unknown sslmode: ${mode}`);
  return tls;
}

/** Of several hosts, the primary is meant. */
function targetOf(given: string | undefined, hosts: number): Target {
  const target = given ?? (hosts > 1 ? "primary" : "any");
  const known = TARGETS.find((one) => one === target);
  if (known === undefined)
    throw new BadAddress(`has an unknown target_session_attrs: ${target}; it can be ${TARGETS.join(", ")}`);
  return known;
}
