import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openTeamStore, type TeamStore } from "../../../src/app/team/store.ts";
import { type PostgresServer, postgresFolder, startPostgres } from "../../../test/support/postgres.ts";
import { Sql } from "../../../test/support/sql.ts";
import { cpuOf, peakOf, rssOf } from "../../soak/sample.ts";

const PROGRAM = join(import.meta.dirname, "../../../bin/retinue.js");
/** As in production, except for the size of the machine. */
const OPTIONS = [
  ["fsync", "on"],
  ["synchronous_commit", "on"],
  ["full_page_writes", "on"],
  ["autovacuum", "on"],
  ["shared_buffers", "1GB"],
  ["maintenance_work_mem", "1GB"],
  ["max_wal_size", "8GB"],
  ["jit", "off"],
].map(([name, value]) => `-c ${name}=${value}`);

/** For loading: nothing has to survive a crash, and the log of changes stays small. */
const LOADING = [
  ["fsync", "off"],
  ["synchronous_commit", "off"],
  ["full_page_writes", "off"],
  ["autovacuum", "off"],
  ["wal_level", "minimal"],
  ["max_wal_senders", "0"],
  ["max_wal_size", "4GB"],
].map(([name, value]) => `-c ${name}=${value}`);

/** PostgreSQL and one team server on it, with their CPU time. Linux only. */
export class BenchSite {
  readonly url: string;
  readonly store: TeamStore;
  readonly sql: Sql;
  readonly #folder: string;
  readonly #server: ChildProcess;
  readonly #database: PostgresServer;
  readonly #remove: () => Promise<void>;

  private constructor(
    url: string,
    parts: { folder: string; server: ChildProcess; database: PostgresServer; remove: () => Promise<void> },
    store: TeamStore,
    sql: Sql,
  ) {
    this.url = url;
    this.store = store;
    this.sql = sql;
    this.#folder = parts.folder;
    this.#server = parts.server;
    this.#database = parts.database;
    this.#remove = parts.remove;
  }

  static async start(): Promise<BenchSite> {
    const { folder, remove } = postgresFolder();
    const database = await startPostgres(folder);
    await database.stop();
    await database.start(OPTIONS);
    const address = database.url("postgres");
    const store = await openTeamStore(address);
    const env = { PATH: process.env.PATH ?? "", HOME: folder, RETINUE_HOME: join(folder, "home") };
    const server = spawn(process.execPath, [PROGRAM, "serve", "--store", address, "--port", "0"], {
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const url = await new Promise<string>((resolve, reject) => {
      server.stdout?.once("data", (line) => resolve(String(line).trim()));
      server.once("exit", (code) => reject(new Error(`retinue serve ended with ${code}`)));
    });
    return new BenchSite(url, { folder, server, database, remove }, store, Sql.open(address, 2));
  }

  /** Runs the work while PostgreSQL is set up for loading. The team server reconnects by itself. */
  async loading(work: () => Promise<void>): Promise<void> {
    await this.#restart([...OPTIONS, ...LOADING]);
    await work();
    await this.#restart(OPTIONS);
  }

  async #restart(options: readonly string[]): Promise<void> {
    await this.#database.stop();
    await this.#database.start(options);
    // Connections that were cut fail once.
    for (let tries = 0; tries < 20; tries += 1)
      try {
        await Promise.all([this.sql.all("select 1"), this.store.ping()]);
        return;
      } catch {
        await wait(250);
      }
    throw new Error("PostgreSQL does not come back");
  }

  get #pid(): number {
    return this.#server.pid ?? 0;
  }

  get memory(): { readonly now: number; readonly peak: number } {
    return { now: rssOf(this.#pid), peak: peakOf(this.#pid) };
  }

  /** CPU seconds so far of the team server and of all processes of PostgreSQL. */
  get cpu(): { readonly server: number; readonly database: number } {
    const [postmaster = "0"] = readFileSync(join(this.#folder, "data/postmaster.pid"), "utf8").split("\n");
    const cpuOfOurs = (pid: string) => {
      try {
        const parent = readFileSync(`/proc/${pid}/stat`, "utf8")
          .replace(/^.*\) /s, "")
          .split(" ")[1];
        return pid === postmaster || parent === postmaster ? cpuOf(Number(pid)) : 0;
      } catch {
        // It has ended.
        return 0;
      }
    };
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return { server: cpuOf(this.#pid), database: pids.reduce((sum, pid) => sum + cpuOfOurs(pid), 0) };
  }

  async token(owner: string, scope: "ship" | "read" | "admin"): Promise<string> {
    return (await this.store.tokens.create({ owner, scope, teams: ["all"], expiresAt: null })).token;
  }

  async stop(): Promise<void> {
    this.#server.kill("SIGTERM");
    await this.sql.end();
    await this.store.close();
    await this.#remove();
  }
}
