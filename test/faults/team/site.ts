/** Team servers on one PostgreSQL behind one address, as behind a load balancer; each can be killed. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../../../scripts/bench/random.ts";
import { openTeamStore } from "../../../src/app/team/store.ts";
import { type PostgresServer, postgresFolder, startPostgres } from "../../support/postgres.ts";
import { environment, Run } from "../process.ts";

/** A crash of PostgreSQL must lose no acknowledged shipment, unlike in other tests. */
const DURABLE = ["-c synchronous_commit=on", "-c autovacuum=on"];

interface Slot {
  run: Run | null;
  port: number | null;
}

export class Site {
  readonly database: PostgresServer;
  readonly #scratch: string;
  readonly #slots: readonly Slot[];
  readonly #random: Random;
  readonly #balancer: Server;
  readonly #sockets = new Set<Socket>();
  /** What servers printed that is not a line of their log. */
  readonly noise: string[] = [];

  readonly #remove: () => Promise<void>;

  private constructor(
    scratch: string,
    database: PostgresServer,
    servers: number,
    random: Random,
    remove: () => Promise<void>,
  ) {
    this.#remove = remove;
    this.#scratch = scratch;
    this.database = database;
    this.#random = random;
    this.#slots = Array.from({ length: servers }, () => ({ run: null, port: null }));
    this.#balancer = createServer((client) => this.#pass(client));
  }

  static async start(scratch: string, servers: number, random: Random): Promise<Site> {
    const { folder, remove } = postgresFolder();
    const site = new Site(scratch, await startPostgres(folder), servers, random, remove);
    await site.restartDatabase("fast", 0);
    await (await openTeamStore(site.#store)).close();
    await Promise.all(site.#slots.map((slot) => site.#start(slot)));
    site.#balancer.listen(0, "127.0.0.1");
    await once(site.#balancer, "listening");
    return site;
  }

  get #store(): string {
    return this.database.url("postgres");
  }

  /** The address that machines ship to. */
  get address(): string {
    return `http://127.0.0.1:${(this.#balancer.address() as AddressInfo).port}`;
  }

  /** Addresses of the servers that run. */
  get servers(): string[] {
    return this.#slots.flatMap(({ port }) => (port === null ? [] : [`http://127.0.0.1:${port}`]));
  }

  /** Process ids of the servers. */
  get pids(): number[] {
    return this.#slots.flatMap(({ run }) => (run?.child.pid === undefined ? [] : [run.child.pid]));
  }

  async tokens(owners: readonly string[]): Promise<{ readonly ship: readonly string[]; readonly admin: string }> {
    const store = await openTeamStore(this.#store, { connections: 2 });
    const create = async (owner: string, scope: "ship" | "admin") =>
      (await store.tokens.create({ owner, scope, teams: ["all"], expiresAt: null })).token;
    const ship: string[] = [];
    for (const owner of owners) ship.push(await create(owner, "ship"));
    const admin = await create("boss", "admin");
    await store.close();
    return { ship, admin };
  }

  #pass(client: Socket): void {
    const ports = this.#slots.flatMap(({ port }) => (port === null ? [] : [port]));
    if (ports.length === 0) {
      client.destroy();
      return;
    }
    const server = connect(this.#random.of(ports), "127.0.0.1");
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server).pipe(client);
  }

  /** Tries until it runs: it ends if the database is away. */
  async #start(slot: Slot): Promise<void> {
    for (;;) {
      const home = join(this.#scratch, "server");
      const args = ["serve", "--store", this.#store, "--port", "0"];
      slot.run = new Run(args, environment(home, join(home, "data")));
      const address = await slot.run.firstLine();
      if (address !== null) {
        slot.port = Number(new URL(address).port);
        return;
      }
      await wait(200);
    }
  }

  /** False if it was not running. */
  async killServer(signal: NodeJS.Signals, pauseMs: number): Promise<boolean> {
    const slot = this.#random.of(this.#slots);
    const { run } = slot;
    if (run === null || slot.port === null) return false;
    slot.port = null;
    const wasRunning = await run.kill(signal);
    this.#listenTo(run);
    await wait(pauseMs);
    await this.#start(slot);
    return wasRunning || signal === "SIGTERM";
  }

  #listenTo({ stderr }: Run): void {
    const odd = stderr.split("\n").filter((line) => line !== "" && !line.startsWith('{"at":'));
    this.noise.push(...odd);
  }

  async restartDatabase(how: "fast" | "immediate", pauseMs: number): Promise<void> {
    await this.database.stop(how);
    await wait(pauseMs);
    await this.database.start(DURABLE);
  }

  async stop(): Promise<void> {
    for (const { run } of this.#slots) {
      await run?.kill("SIGTERM");
      if (run !== null) this.#listenTo(run);
    }
    this.#balancer.close();
    for (const socket of this.#sockets) socket.destroy();
    await this.#remove();
  }
}
