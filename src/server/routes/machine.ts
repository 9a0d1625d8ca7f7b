import { Hono } from "hono";
import { Failure } from "../../app/failure.ts";
import { guardReport } from "../../app/guard/report.ts";
import { NO_CHANGES } from "../../app/ingest/changes.ts";
import { linkByHand, unlinkByHand } from "../../app/kept/links.ts";
import { compareThreads } from "../../app/query/compare.ts";
import { examine } from "../../app/query/examine.ts";
import { checkTarget } from "../../app/query/resolve.ts";
import { asObject, asText } from "../../core/tools/json.ts";
import { Compared, CompareQuery } from "../compare-schemas.ts";
import type { ServerContext } from "../context.ts";
import { checked, describeResponse } from "../describe.ts";
import { Guard } from "../guard-schemas.ts";
import { Address, Doctor, Link, Linked, Woken } from "../schemas.ts";

/** Maximum number of refusals, and of warnings, in a response. */
const MAX_EVENTS = 100;

/** Routes that only the machine of the agents can serve. */
export function machineRoutes(context: ServerContext): Hono {
  return new Hono().route("/", reportRoutes(context)).route("/", serverRoutes(context)).route("/", linkRoutes(context));
}

function reportRoutes({ library, env, settings, state }: ServerContext): Hono {
  return new Hono()
    .get(
      "/compare",
      describeResponse("Two trees agent by agent, or two groups of threads with their spread", Compared, [
        "usage",
        "not_found",
      ]),
      checked("query", CompareQuery),
      async (c) => {
        const { left, right } = c.req.valid("query");
        return c.json(await compareThreads(library, left, right));
      },
    )
    .get("/doctor", describeResponse("Root folders, what was found and what could not be read", Doctor), (c) => {
      const polling = state.troubles.list.find(({ code }) => code === "polling")?.message ?? null;
      return c.json(examine(library, settings, env, polling));
    })
    .get(
      "/guard",
      describeResponse("Limits in force, what running threads have used, and what was refused", Guard),
      (c) => c.json(guardReport(library, env, settings.values.limits, MAX_EVENTS)),
    );
}

function serverRoutes(context: ServerContext): Hono {
  const { state } = context;
  return new Hono()
    .post(
      "/hooks",
      describeResponse("Notify the server that a recording has grown; the body may name it", Woken, ["too_large"]),
      async (c) => {
        const body: unknown = await c.req.json().catch(() => null);
        const path = asText(asObject(body)?.path);
        if (path !== null) state.reportChanged([path]);
        return c.json({ watching: state.watching });
      },
    )
    .post(
      "/address",
      describeResponse(
        "A URL that gives a browser access; valid once if the system does not report the owner of a connection",
        Address,
      ),
      (c) => c.json({ address: context.address() }),
    )
    .post(
      "/demo",
      describeResponse("Start a second server that replays recordings", Address, ["failed"]),
      async (c) => {
        if (context.isDemo) throw new Failure("failed", "this server is the demo");
        return c.json({ address: (await context.demo()).address });
      },
    );
}

function linkRoutes({ library, hub, env }: ServerContext): Hono {
  return new Hono()
    .post(
      "/links",
      describeResponse("Set an agent's parent manually", Linked, ["usage", "not_found", "failed", "too_large"]),
      checked("json", Link),
      async (c) => {
        const { child, parent } = c.req.valid("json");
        for (const name of [child, parent]) checkTarget(name);
        const { threads, ...linked } = await linkByHand(library, env, child, parent);
        await hub.changed({ ...NO_CHANGES, threads });
        return c.json(linked);
      },
    )
    .delete("/links/:child", describeResponse("Remove a manual link", Linked, ["usage", "not_found"]), async (c) => {
      const { threads, ...linked } = await unlinkByHand(library, env, c.req.param("child"));
      await hub.changed({ ...NO_CHANGES, threads });
      return c.json(linked);
    });
}
