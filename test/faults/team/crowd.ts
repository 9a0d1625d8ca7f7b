/**
 * Machines that come back at the same moment after an outage, each with several shipments: clients that speak the
 * protocol of shipments over HTTP, against a real server process on a real PostgreSQL.
 */
import { Agent, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { seeded } from "../../../scripts/bench/random.ts";
import { peakOf } from "../../../scripts/soak/sample.ts";
import type { ShipmentDocument } from "../../../src/core/ports/shipment.ts";
import { Sql } from "../../support/sql.ts";
import { agentDocument, eventDocument } from "../../team/documents.ts";
import { packed, SHIPMENT } from "../../team/server.ts";
import { Site } from "./site.ts";

export interface CrowdOptions {
  readonly scratch: string;
  readonly machines: number;
  readonly shipments: number;
  readonly events: number;
  /** Machines wait this many times shorter than the server asks for. */
  readonly haste: number;
  readonly notify: (text: string) => void;
}

export interface CrowdOutcome {
  /** What is wrong: lost, repeated or mixed rows, and exceeded limits. */
  readonly faults: readonly string[];
  readonly acknowledged: number;
  readonly refused: number;
  /** Of the machine that was refused most often. */
  readonly mostRefused: number;
  /** Of the server. */
  readonly peakBytes: number;
  /** Connections to PostgreSQL at the same time. */
  readonly connections: number;
}

/** Ten for statements, and one that listens. */
const MAX_CONNECTIONS = 11;
const MAX_BYTES = 400 << 20;
/** How often a machine may be refused: a few times more than the mean, which depends on the speed of the computer. */
const mostAllowed = (mean: number) => 5 + 4 * mean;

export async function crowd(options: CrowdOptions): Promise<CrowdOutcome> {
  const { scratch, machines, notify } = options;
  const site = await Site.start(scratch, 1, seeded(1));
  const sql = Sql.open(site.database.url("postgres"));
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  try {
    const owners = Array.from({ length: machines }, (_, i) => `dev${i}`);
    const { ship } = await site.tokens(owners);
    notify(`${machines} machines come back`);
    const clients = ship.map((token, i) => new Client(options, i, token));
    const ended = new AbortController();
    const sampled = mostConnections(sql, ended.signal);
    const [address = ""] = site.servers;
    await Promise.all(clients.map((client) => client.run(address, agent)));
    ended.abort();
    const sum = (of: (client: Client) => number) => clients.reduce((total, client) => total + of(client), 0);
    const outcome = {
      acknowledged: sum((client) => client.acknowledged),
      refused: sum((client) => client.refused),
      mostRefused: Math.max(...clients.map((client) => client.refused)),
      peakBytes: Math.max(...site.pids.map(peakOf)),
      connections: await sampled,
    };
    return { ...outcome, faults: [...limitsExceeded(outcome, machines), ...(await wrongRows(sql, options, clients))] };
  } finally {
    agent.destroy();
    await sql.end();
    await site.stop();
  }
}

function limitsExceeded(outcome: Omit<CrowdOutcome, "faults">, machines: number): string[] {
  const { connections, peakBytes, mostRefused, refused } = outcome;
  return [
    ...(connections > MAX_CONNECTIONS ? [`${connections} connections to PostgreSQL`] : []),
    ...(peakBytes > MAX_BYTES ? [`${Math.round(peakBytes / 2 ** 20)} MB of memory`] : []),
    ...(mostRefused > mostAllowed(refused / machines) ? [`a machine was refused ${mostRefused} times`] : []),
  ];
}

/** Rows of each machine that differ from what it sent. */
async function wrongRows(sql: Sql, { shipments, events }: CrowdOptions, clients: readonly Client[]): Promise<string[]> {
  const rows = await sql.all<{ owner: string; ids: string[] }>(
    "select owner, array_agg(id order by position) as ids from retinue.events group by owner",
  );
  const stored = new Map(rows.map(({ owner, ids }) => [owner, ids.join(" ")]));
  const counted = new Map(
    (
      await sql.all<{ owner: string; shipments: number }>(
        "select owner, shipments::int as shipments from retinue.machines",
      )
    ).map((row) => [row.owner, row.shipments]),
  );
  return clients.flatMap(({ owner, acknowledged, unanswered }, i) => {
    const right = Array.from({ length: shipments * events }, (_, n) => `${i}-${n}`).join(" ");
    const count = counted.get(owner) ?? 0;
    return [
      ...(stored.get(owner) === right ? [] : [`${owner} has the events ${stored.get(owner)}`]),
      // A shipment whose response was lost is sent and counted again.
      ...(count >= acknowledged && count <= acknowledged + unanswered ? [] : [`${owner} has ${count} shipments`]),
    ];
  });
}

async function mostConnections(sql: Sql, until: AbortSignal): Promise<number> {
  let most = 0;
  while (!until.aborted) {
    const [row] = await sql.all<{ count: number }>(
      "select count(*)::int as count from pg_stat_activity where application_name = 'retinue'",
    );
    most = Math.max(most, row?.count ?? 0);
    await wait(50);
  }
  return most;
}

/** Sends its shipments one after another, each until it is acknowledged. */
class Client {
  readonly owner: string;
  readonly #options: CrowdOptions;
  readonly #index: number;
  readonly #token: string;
  acknowledged = 0;
  refused = 0;
  /** Connections that ended without a response. */
  unanswered = 0;

  constructor(options: CrowdOptions, index: number, token: string) {
    this.#options = options;
    this.#index = index;
    this.#token = token;
    this.owner = `dev${index}`;
  }

  async run(address: string, agent: Agent): Promise<void> {
    const { shipments, haste } = this.#options;
    for (let n = 0; n < shipments; n += 1) {
      const body = packed(this.#documents(n));
      for (let isDone = false; !isDone; ) {
        const { status, retryAfter } = await this.#post(address, agent, body);
        isDone = status === 200;
        if (isDone) this.acknowledged += 1;
        // 408: on a busy machine, the request itself was too slow.
        else if (status === 503 || status === 408) this.refused += 1;
        else if (status === null) this.unanswered += 1;
        else throw new Error(`${this.owner}: status ${status}`);
        if (!isDone) await wait((1_000 * retryAfter) / haste);
      }
    }
  }

  #documents(n: number): ShipmentDocument[] {
    const { events } = this.#options;
    // The same thread id on every machine: they must never be mixed up.
    const thread = "claude://cccccccc-0000-4000-8000-000000000001";
    const revision = 1 + n * (events + 1);
    return [
      agentDocument(thread, thread, revision),
      ...Array.from({ length: events }, (_, e) => {
        const at = n * events + e;
        return eventDocument(thread, thread, at, revision + e + 1, { id: `${this.#index}-${at}` });
      }),
    ];
  }

  /** The status is null if there was no response. */
  #post(address: string, agent: Agent, body: Buffer): Promise<{ status: number | null; retryAfter: number }> {
    const headers = { ...SHIPMENT, Authorization: `Bearer ${this.#token}`, "Content-Length": body.length };
    return new Promise((resolve) => {
      const sent = request(`${address}/api/ingest`, { method: "POST", agent, headers }, (response) => {
        response.resume();
        const retryAfter = Number(response.headers["retry-after"] ?? 1);
        response.on("close", () => resolve({ status: response.statusCode ?? null, retryAfter }));
      });
      sent.on("error", () => resolve({ status: null, retryAfter: 1 }));
      sent.end(body);
    });
  }
}
