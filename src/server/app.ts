import { Hono } from "hono";
import { openAPIRouteHandler } from "hono-openapi";
import { retinueHome } from "../app/home.ts";
import { isOwnName } from "../app/own-names.ts";
import type { ServerContext } from "./context.ts";
import { dashboard } from "./dashboard.ts";
import { errorResponse, refusal } from "./failures.ts";
import { type GuardOptions, guard, refuseOtherHosts, refuseOtherSites, safeHeaders, smallBody } from "./guard.ts";
import { LocalCatalog } from "./local-catalog.ts";
import { agentRoutes } from "./routes/agents.ts";
import { attachRoutes } from "./routes/attach.ts";
import { cardRoutes } from "./routes/cards.ts";
import { controlRoutes } from "./routes/control.ts";
import { liveRoutes } from "./routes/live.ts";
import { machineRoutes } from "./routes/machine.ts";
import { overviewRoutes } from "./routes/overview.ts";
import { relayRoutes } from "./routes/relays.ts";
import { requestRoutes } from "./routes/requests.ts";
import { shipRoutes } from "./routes/ship.ts";
import { telemetryRoutes } from "./routes/telemetry.ts";

/** All HTTP routes. */
export function serverApp(context: ServerContext, guarded: GuardOptions): Hono {
  const app = new Hono();
  app.onError((error, c) => {
    // Repairs a damaged index in the background; a retry a moment later succeeds.
    if (context.library.index.reportFault(error)) context.state.reportChanged([]);
    return errorResponse(c, error, context.notify);
  });
  app.notFound((c) =>
    refusal(c, "not_found", `no route for ${c.req.method} ${c.req.path}`, "/api/openapi.json lists all routes"),
  );
  app.use(
    safeHeaders,
    refuseOtherHosts((host) => isOwnName(host, guarded), "open the address that retinue printed"),
    refuseOtherSites,
    guard(guarded),
  );
  app.use("/api/*", smallBody);
  for (const routes of apiRoutes(context, guarded)) app.route("/api", routes);
  const documentation = {
    info: {
      title: "retinue",
      version: context.version,
      description: "The coding agents of this machine and their sub-agents. URIs in paths are percent-encoded.",
    },
  };
  app.get(
    "/api/openapi.json",
    openAPIRouteHandler(app, {
      documentation,
      exclude: ["/*"],
      excludeStaticFile: false,
      defaultValidationErrorResponse: false,
    }),
  );
  app.all("/api/*", (c) => c.notFound());
  app.route("/v1", telemetryRoutes(context));
  app.route("/", dashboard("machine"));
  return app;
}

/** The routes below `/api`. */
function apiRoutes(context: ServerContext, guarded: GuardOptions): readonly Hono[] {
  const { library, hub, state } = context;
  const catalog = new LocalCatalog(library, hub, state);
  const catalogOf = () => catalog;
  const ownHealth = () => {
    const { version, instance, startedAt, isDemo, env } = context;
    const home = retinueHome(env);
    return { version, instance, pid: process.pid, home, startedAt, demo: isDemo, clients: state.clients };
  };
  return [
    agentRoutes(catalogOf),
    attachRoutes(context),
    overviewRoutes(catalogOf, ownHealth),
    machineRoutes(context),
    requestRoutes(context),
    shipRoutes(context),
    liveRoutes(catalogOf, state),
    cardRoutes(context),
    relayRoutes(context),
    controlRoutes(context, guarded),
  ];
}
