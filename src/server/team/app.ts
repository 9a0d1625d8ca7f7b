import { randomBytes } from "node:crypto";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { openAPIRouteHandler } from "hono-openapi";
import { asFailure } from "../../app/failure.ts";
import { isOneOf } from "../../app/own-names.ts";
import type { TeamStore } from "../../app/team/store.ts";
import type { ServerState } from "../context.ts";
import { dashboard } from "../dashboard.ts";
import { describeResponse } from "../describe.ts";
import { expectedResponse, refusal, traceOf } from "../failures.ts";
import { refuseOtherHosts, refuseOtherSites, safeHeaders, smallBody } from "../guard.ts";
import { agentRoutes, type CatalogOf } from "../routes/agents.ts";
import { liveRoutes } from "../routes/live.ts";
import { overviewRoutes } from "../routes/overview.ts";
import { type Authority, authorise, isStillAllowed, ruleFor, type TeamEnv, type Viewer } from "./access.ts";
import { TeamCatalog } from "./catalog.ts";
import type { Feed } from "./feed.ts";
import { type Metric, Metrics } from "./metrics.ts";
import { teamPages } from "./pages.ts";
import { BY_PROXY, identifier, type TrustedProxy } from "./proxy-identity.ts";
import { Receiver } from "./receive.ts";
import { Receipt } from "./schemas.ts";
import { sessionRoutes } from "./sessions.ts";
import { type Seen, Visits } from "./visits.ts";

export interface TeamContext {
  readonly store: TeamStore;
  readonly feed: Feed;
  readonly version: string;
  readonly instance: string;
  readonly startedAt: string;
  readonly state: Pick<ServerState, "clients" | "stop">;
  /** A proxy whose word about people is taken. */
  readonly proxy: TrustedProxy | null;
  /** Names by which the server is reached; empty: any. */
  readonly hosts: readonly string[];
  /** How often open streams check that their viewer may still see the same. */
  readonly recheckMs: number;
  /** Writes a line of the server's log. */
  readonly log: (event: string, fields: Readonly<Record<string, unknown>>) => void;
}

/**
 * A stream of a person whom the proxy names ends after this many checks: only a new request shows whether the proxy
 * still lets the person in.
 */
const PROXY_CHECKS = 60;

/** All routes of a team server. */
export function teamApp(context: TeamContext) {
  const { store, feed, state, log, version, instance, startedAt } = context;
  const { tokens } = store;
  const metrics = new Metrics();
  const receiver = new Receiver({ store, metrics, log });
  const app = new Hono<TeamEnv>();
  app.onError((error, c) => failureResponse(c, error, metrics, log));
  app.notFound((c) =>
    refusal(c, "not_found", `no route for ${c.req.method} ${c.req.path}`, "/api/openapi.json lists all routes"),
  );
  app.use(safeHeaders);
  const authority: Authority = {
    tokens,
    identify: context.proxy === null ? null : identifier(context.proxy),
    visits: new Visits(
      (visit) => tokens.audit(visit),
      (error) => log("error", { message: `the audit log cannot be written: ${(error as Error).message}` }),
    ),
  };
  app.use(measured(metrics));
  if (context.hosts.length > 0)
    app.use(refuseOtherHosts((host) => isOneOf(context.hosts, host), "team.hosts in its settings lists its names"));
  app.use(refuseOtherSites);
  app.use(withoutNul);
  app.use(authorise(authority));

  const catalogOf: CatalogOf = (c) => {
    const viewer = c.get("viewer") as Viewer | null;
    const seen = c.get("seen") as Seen[];
    const until = viewer?.grant.id === BY_PROXY ? Date.now() + PROXY_CHECKS * context.recheckMs : Infinity;
    const isAllowed = async () => Date.now() < until && (await isStillAllowed(c, authority, viewer));
    const recheck = { everyMs: context.recheckMs, isAllowed };
    const client = { id: viewer?.grant.id ?? "", recheck, seen: (one: Seen) => seen.push(one) };
    return new TeamCatalog(store.reader, feed, viewer?.owners ?? [], client);
  };
  app.route("/api", agentRoutes(catalogOf));
  app.route(
    "/api",
    overviewRoutes(catalogOf, () => ({
      version,
      instance,
      pid: process.pid,
      home: null,
      startedAt,
      demo: false,
      clients: state.clients,
    })),
  );
  app.route("/api", liveRoutes(catalogOf, state));

  app.post(
    "/api/ingest",
    describeResponse("Store a shipment: NDJSON of one machine, possibly compressed with gzip", Receipt, [
      "too_large",
      "unsupported",
      "invalid",
    ]),
    (c) => receiver.receive(c),
  );

  // Anybody may call it.
  app.use("/api/session", smallBody);
  app.route("/api/session", sessionRoutes(tokens));
  app.route("/api/team", teamPages(store, feed));
  app.get("/metrics", async (c) => {
    const isUp = await store.ping().then(
      () => true,
      () => false,
    );
    return c.text(metrics.text(gauges(context, receiver, isUp)));
  });
  const documentation = {
    info: { title: "retinue", version, description: "The coding agents of a team. URIs in paths are percent-encoded." },
  };
  app.get(
    "/api/openapi.json",
    openAPIRouteHandler(app, {
      documentation,
      exclude: ["/*", "/metrics"],
      excludeStaticFile: false,
      defaultValidationErrorResponse: false,
    }),
  );
  app.all("/api/*", (c) => c.notFound());
  app.route("/", dashboard("team"));
  return app;
}

/** Without the reason if it is the database's or a bug: clients must not see it. The log has it, with the same id. */
function failureResponse(c: Context, error: Error, metrics: Metrics, log: TeamContext["log"]) {
  if (asFailure(error)?.code === "unavailable") {
    metrics.count("retinue_unavailable_total", "Requests that failed because the database was away.");
    log("error", { message: asFailure(error)?.message });
    return refusal(c, "unavailable", "the database cannot be used at the moment", "try again; the log has the reason");
  }
  const expected = expectedResponse(c, error);
  if (expected !== null) return expected;
  const id = randomBytes(6).toString("hex");
  log("error", { id, message: `a request for ${c.req.path} failed: ${traceOf(error)}` });
  return refusal(c, "internal", `internal error ${id}`, "this is a bug in retinue; the log of the server has this id");
}

/** PostgreSQL's text cannot contain it, so nothing has such a name. */
const withoutNul: MiddlewareHandler = async (c, next) =>
  /%00|\0/.test(c.req.url) ? refusal(c, "usage", "the address contains a NUL character", null) : next();

/** Counts requests by route and status, and the time until their response begins. */
function measured(metrics: Metrics): MiddlewareHandler {
  return async (c, next) => {
    const began = performance.now();
    await next();
    const route = ruleFor(c.req.method, c.req.path)?.path ?? "other";
    const seconds = (performance.now() - began) / 1_000;
    metrics.count("retinue_requests_total", "Requests.", { route, status: String(c.res.status) });
    metrics.count("retinue_request_seconds_total", "Time until responses began.", { route }, seconds);
  };
}

function gauges({ store, state, feed }: TeamContext, receiver: Receiver, isUp: boolean): Metric[] {
  const { counts, reads } = store;
  return [
    { name: "retinue_primary_up", help: "1 if the primary database answers.", value: isUp ? 1 : 0 },
    {
      name: "retinue_listening",
      help: "1 once notifications of the database arrive.",
      value: feed.isListening ? 1 : 0,
    },
    { name: "retinue_live_clients", help: "Open live streams.", value: state.clients },
    { name: "retinue_shipments_waiting", help: "Shipments that wait for their turn.", value: receiver.waiting },
    {
      name: "retinue_ingest_lag_seconds",
      help: "Age of the newest event of the last shipment with events, when it was stored.",
      value: receiver.lagSeconds,
    },
    { name: "retinue_database_statements_total", help: "Statements sent to the primary.", value: counts.statements },
    { name: "retinue_database_seconds_total", help: "Time until they were answered.", value: counts.seconds },
    { name: "retinue_database_errors_total", help: "Statements that failed.", value: counts.failed },
    {
      name: "retinue_reads_primary_total",
      help: "Reading statements that the primary answered.",
      value: reads.primary,
    },
    { name: "retinue_reads_replica_total", help: "Reading statements that a replica answered.", value: reads.replica },
    { name: "retinue_memory_bytes", help: "Resident memory of the server.", value: process.memoryUsage.rss() },
  ];
}
