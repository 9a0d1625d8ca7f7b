/** Team servers on a fresh database, and their clients. */
import { gzipSync } from "node:zlib";
import { openTeamStore, type TeamStore } from "../../src/app/team/store.ts";
import type { ShipmentDocument } from "../../src/core/ports/shipment.ts";
import type { Scope } from "../../src/core/ports/team.ts";
import { serveTeam, type TeamServed, type TeamServeOptions } from "../../src/server/team/serve.ts";
import { freshDatabase } from "../support/postgres.ts";
import { HEAD } from "./documents.ts";

export interface TestTeam {
  readonly database: string;
  readonly store: TeamStore;
  readonly servers: readonly TeamServed[];
  /** Lines of the servers' logs. */
  readonly logs: readonly Readonly<Record<string, unknown>>[];
  token(owner: string, scope: Scope, ...teams: string[]): Promise<string>;
  /** A request to one of the servers. */
  get(path: string, token: string | null, server?: number, init?: RequestInit): Promise<Response>;
  json<T>(path: string, token: string, server?: number): Promise<T>;
  ship(token: string, documents: readonly ShipmentDocument[], server?: number): Promise<Response>;
  close(): Promise<void>;
}

/** `database` is one that stays; otherwise a new one is dropped at the end. */
export async function startTeam(
  servers = 1,
  database?: string,
  options: Partial<TeamServeOptions> = {},
): Promise<TestTeam> {
  const fresh = database === undefined ? await freshDatabase() : { url: database, drop: async () => {} };
  const store = await openTeamStore(fresh.url, { connections: 2 });
  const logs: Readonly<Record<string, unknown>>[] = [];
  const log = (event: string, fields: Readonly<Record<string, unknown>>) => void logs.push({ event, ...fields });
  const started: TeamServed[] = [];
  for (let n = 0; n < servers; n += 1)
    started.push(await serveTeam({ store: fresh.url, port: 0, host: null, log, ...options }));
  const get: TestTeam["get"] = (path, token, server = 0, init = {}) =>
    fetch(new URL(path, started[server]?.url), {
      ...init,
      headers: { ...(token === null ? {} : { Authorization: `Bearer ${token}` }), ...init.headers },
    });
  return {
    database: fresh.url,
    store,
    servers: started,
    logs,
    get,
    token: async (owner, scope, ...teams) =>
      (await store.tokens.create({ owner, scope, teams, expiresAt: null })).token,
    json: async <T>(path: string, token: string, server = 0) => {
      const response = await get(path, token, server);
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return (await response.json()) as T;
    },
    ship: (token, documents, server = 0) =>
      get("/api/ingest", token, server, { method: "POST", body: packed(documents), headers: SHIPMENT }),
    close: async () => {
      await Promise.all(started.map((one) => one.stop()));
      await store.close();
      await fresh.drop();
    },
  };
}

export const SHIPMENT = { "Content-Type": "application/x-ndjson", "Content-Encoding": "gzip" };

export const packed = (documents: readonly unknown[]) =>
  gzipSync([HEAD, ...documents].map((one) => `${JSON.stringify(one)}\n`).join(""));
