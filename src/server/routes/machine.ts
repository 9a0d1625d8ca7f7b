import { Hono } from "hono";
import { Failure } from "../../app/failure.ts";
import { guardReport } from "../../app/guard/report.ts";
import { retinueHome } from "../../app/home.ts";
import { NO_CHANGES } from "../../app/ingest/changes.ts";
import type { Library } from "../../app/ingest/library.ts";
import { linkByHand, unlinkByHand } from "../../app/kept/links.ts";
import { compareThreads } from "../../app/query/compare.ts";
import { examine } from "../../app/query/examine.ts";
import { checkTarget } from "../../app/query/resolve.ts";
import { search, unsearched } from "../../app/query/search.ts";
import { sinceOf } from "../../app/query/since.ts";
import { asObject, asText } from "../../core/tools/json.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import { GROUPS, statsBy, statsTotal, threadsBehind } from "../../core/views/stats.ts";
import { Compared, CompareQuery } from "../compare-schemas.ts";
import { reportedReading, reportedTroubles, reportedUnsearched, type ServerContext } from "../context.ts";
import { checked, describeResponse } from "../describe.ts";
import { Guard } from "../guard-schemas.ts";
import {
  Address,
  Doctor,
  Findings,
  Health,
  Link,
  Linked,
  SearchQuery,
  Stats,
  StatsQuery,
  StatsThreads,
  StatsThreadsQuery,
  Woken,
} from "../schemas.ts";

/** Refusals and warnings, each. */
const MOST_EVENTS = 100;

export function machineRoutes(context: ServerContext): Hono {
  const { library, hub, env, settings, state } = context;
  const spentSince = (since: string | undefined) => {
    const from =
      since === undefined ? null : new Date(sinceOf(since, library.now(), "since")).toISOString().slice(0, 10);
    return library.store.spent(library.under, from);
  };
  return new Hono()
    .get(
      "/search",
      describeResponse(
        "Full-text search: texts that contain all words, best match first; the last word may be a prefix",
        Findings,
        ["usage"],
      ),
      checked("query", SearchQuery),
      async (c) => {
        const { q, limit } = c.req.valid("query");
        // The rest is indexed while the server is idle.
        await library.indexTexts();
        const items = await search(library, q.split(/\s+/), limit, 0);
        return c.json({ incomplete: reportedUnsearched(unsearched(library)), items, next: null });
      },
    )
    .get(
      "/stats",
      describeResponse("Tokens, cost, time and outcome", Stats, ["usage"]),
      checked("query", StatsQuery),
      (c) => {
        const { since, by } = c.req.valid("query");
        const rows = spentSince(since);
        const groups = by === undefined ? GROUPS : [by].flat();
        const incomplete = reportedReading(library.reading);
        return c.json({
          incomplete,
          total: statsTotal(rows),
          by: Object.fromEntries(groups.map((group) => [group, statsBy(rows, group)])),
        });
      },
    )
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
    .get(
      "/stats/threads",
      describeResponse("The threads of one line of the statistics, highest cost first", StatsThreads, ["usage"]),
      checked("query", StatsThreadsQuery),
      (c) => {
        const { by, key = null, since, limit } = c.req.valid("query");
        const lines = threadsBehind(spentSince(since), by, key).slice(0, limit);
        const records = rootsNamed(library, new Set(lines.map((line) => line.key)));
        return c.json({
          items: lines.map((line) => ({ ...line, record: records.get(line.key ?? "") ?? null })),
          next: null,
        });
      },
    )
    .get("/health", describeResponse("State of the server and its reading progress", Health), (c) => {
      const { version, instance, startedAt, isDemo } = context;
      const { watching, clients } = state;
      const troubles = reportedTroubles(state.troubles.list);
      const live = hub.journal.idOf(hub.journal.position);
      return c.json({
        status: "ok",
        version,
        instance,
        pid: process.pid,
        home: retinueHome(env),
        startedAt,
        reading: reportedReading(library.reading),
        watching,
        demo: isDemo,
        clients,
        live,
        troubles,
      });
    })
    .get("/doctor", describeResponse("Root folders, what was found and what could not be read", Doctor), (c) => {
      const polling = state.troubles.list.find(({ code }) => code === "polling")?.message ?? null;
      return c.json(examine(library, settings, env, polling));
    })
    .get(
      "/guard",
      describeResponse("Limits in force, what running threads have used, and what was refused", Guard),
      (c) => c.json(guardReport(library, env, settings.values.limits, MOST_EVENTS)),
    )
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
    )
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

/** Thread records by URI. The library lists newest first, and the search stops when all are found. */
function rootsNamed(library: Library, uris: ReadonlySet<string | null>): ReadonlyMap<string, AgentRecord> {
  const found = new Map<string, AgentRecord>();
  if (uris.size === 0) return found;
  for (const record of library.threads({})) {
    if (uris.has(record.uri)) found.set(record.uri, record);
    if (found.size === uris.size) break;
  }
  return found;
}
