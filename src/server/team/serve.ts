import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { openTeamStore, type TeamStore } from "../../app/team/store.ts";
import { productVersion } from "../../app/version.ts";
import type { ServerState } from "../context.ts";
import { listen, named } from "../listen.ts";
import { teamApp } from "./app.ts";
import { Feed } from "./feed.ts";
import type { TrustedProxy } from "./proxy-identity.ts";

type Log = (event: string, fields: Readonly<Record<string, unknown>>) => void;

export interface TeamServeOptions {
  /** The address of the database. */
  readonly store: string;
  /** Addresses of its read replicas. */
  readonly replicas?: readonly string[];
  /** How long events are kept; null: forever. */
  readonly retentionMs?: number | null;
  /** A reverse proxy that names the people it has authenticated. */
  readonly proxy?: TrustedProxy | null;
  /** Names by which the server is reached; requests for others are refused. Empty: any. */
  readonly hosts?: readonly string[];
  /** How often open streams check that their viewer may still see the same. */
  readonly recheckMs?: number;
  /** Null: the default port, or another free one. */
  readonly port: number | null;
  readonly host: string | null;
  readonly log: Log;
}

export interface TeamServed {
  readonly url: string;
  readonly port: number;
  readonly instance: string;
  readonly stop: () => Promise<void>;
  /** Resolves when the server has stopped. */
  readonly stopped: Promise<void>;
}

/** A position of the live stream has a few characters for each owner that its viewer may see. */
export const MAX_HEADER = 64 << 10;
/** Requests that are still running get this long before their connections are closed. */
const GRACE_MS = 5_000;
const RECHECK_MS = 15_000;
const UPKEEP_MS = 6 * 3_600_000;

/** Starts a server on a database of a team. It reads nothing of this machine, and keeps nothing. */
export async function serveTeam(options: TeamServeOptions): Promise<TeamServed> {
  const {
    store: address,
    replicas = [],
    retentionMs = null,
    proxy = null,
    hosts = [],
    recheckMs = RECHECK_MS,
    port: asked,
    host: on,
    log,
  } = options;
  const store = await openTeamStore(address, { replicas });
  const feed = new Feed(store);
  const host = on ?? "127.0.0.1";
  const instance = randomBytes(8).toString("hex");
  const state: Pick<ServerState, "clients" | "stop"> = { clients: 0, stop: new AbortController() };
  const startedAt = new Date().toISOString();
  const version = productVersion();
  const app = teamApp({ store, feed, version, instance, startedAt, state, proxy, hosts, recheckMs, log });
  const server = createServer(
    { maxHeaderSize: MAX_HEADER },
    getRequestListener((request, env) => {
      const { request: plain, owner } = withoutOwner(request);
      return app.fetch(plain, owner === null ? env : { ...env, owner });
    }),
  );
  let port: number;
  try {
    port = await listen(server, host, asked);
  } catch (error) {
    await store.close();
    throw error;
  }
  const listening = feed.start();
  const stopUpkeep = startUpkeep(store, retentionMs, log, state.stop.signal);
  const url = `http://${named(host)}:${port}/`;
  log("started", { url, instance, schema: store.migrated.to });
  let stopping: Promise<void> | undefined;
  const { promise: stopped, resolve: hasStopped } = Promise.withResolvers<void>();
  const stop = () => {
    stopping ??= (async () => {
      state.stop.abort();
      await closed(server);
      stopUpkeep();
      feed.stop();
      await store.close();
      await listening;
      log("stopped", { instance });
      hasStopped();
    })();
    return stopping;
  };
  return { url, port, instance, stop, stopped };
}

/** Stops accepting connections; running requests get `GRACE_MS` to end. */
async function closed(server: Server): Promise<void> {
  const ended = new Promise((resolve) => server.close(resolve));
  const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  server.closeIdleConnections();
  await ended;
  clearTimeout(timer);
}

/** Maintains the partitions now and every few hours. Returns a function that ends it. */
function startUpkeep(store: TeamStore, retentionMs: number | null, log: Log, stopped: AbortSignal): () => void {
  const failed = (error: unknown) => {
    const message = `partitions could not be created or dropped: ${(error as Error).message}`;
    if (!stopped.aborted) log("error", { message });
  };
  const maintain = () => void keepPartitions(store, retentionMs, log).catch(failed);
  const timer = setInterval(maintain, UPKEEP_MS);
  maintain();
  return () => clearInterval(timer);
}

/** Creates partitions ahead, and drops old ones. Several servers may do it at once. */
async function keepPartitions(store: TeamStore, retentionMs: number | null, log: Log): Promise<void> {
  await store.prepare();
  const dropped = retentionMs === null ? [] : await store.prune(retentionMs);
  if (dropped.length > 0) log("pruned", { partitions: dropped });
}

/** Every route accepts `?owner=`, so it is taken out before the routes check their parameters. */
function withoutOwner(request: Request): { readonly request: Request; readonly owner: string | null } {
  const url = new URL(request.url);
  const owner = url.searchParams.get("owner");
  if (owner === null) return { request, owner };
  url.searchParams.delete("owner");
  return { request: new Request(url, request), owner };
}
