import { Hono } from "hono";
import { examine } from "../../app/examine.ts";
import { Failure } from "../../app/failure.ts";
import { retinueHome } from "../../app/home.ts";
import type { Library } from "../../app/library.ts";
import { linkByHand, unlinkByHand } from "../../app/links.ts";
import { checkTarget } from "../../app/resolve.ts";
import { search } from "../../app/search.ts";
import { sinceOf } from "../../app/since.ts";
import type { AgentRecord } from "../../core/agent.ts";
import { asObject, asText } from "../../core/json.ts";
import { GROUPS, statsBy, statsTotal, threadsBehind } from "../../core/stats.ts";
import { type ServerContext, troublesToTell } from "../context.ts";
import { answers, checked } from "../describe.ts";
import { Address, Doctor, Findings, Health, Link, Linked, SearchQuery, Stats, StatsQuery, StatsThreads, StatsThreadsQuery, Woken } from "../schemas.ts";

export function machineRoutes(context: ServerContext): Hono {
  const { library, hub, env, settings, state } = context;
  const spentSince = (since: string | undefined) => {
    const from = since === undefined ? null : new Date(sinceOf(since, library.now(), "since")).toISOString().slice(0, 10);
    return library.store.spent(library.under, from);
  };
  return new Hono()
    .get(
      "/search",
      answers("Everything said that holds all the words, best first; the last word may be unfinished", Findings, ["usage"]),
      checked("query", SearchQuery),
      async (c) => {
        const { q, limit } = c.req.valid("query");
        return c.json({ items: await search(library, q.split(/\s+/), limit), next: null });
      },
    )
    .get("/stats", answers("Tokens, cost, time and outcome", Stats, ["usage"]), checked("query", StatsQuery), (c) => {
      const { since, by } = c.req.valid("query");
      const rows = spentSince(since);
      const groups = by === undefined ? GROUPS : [by].flat();
      return c.json({ total: statsTotal(rows), by: Object.fromEntries(groups.map((group) => [group, statsBy(rows, group)])) });
    })
    .get(
      "/stats/threads",
      answers("The threads behind a line of the statistics, what cost most first", StatsThreads, ["usage"]),
      checked("query", StatsThreadsQuery),
      (c) => {
        const { by, key = null, since, limit } = c.req.valid("query");
        const lines = threadsBehind(spentSince(since), by, key).slice(0, limit);
        const records = rootsNamed(library, new Set(lines.map((line) => line.key)));
        return c.json({ items: lines.map((line) => ({ ...line, record: records.get(line.key ?? "") ?? null })), next: null });
      },
    )
    .get("/health", answers("That it runs, and how far it is", Health), (c) => {
      const { version, instance, startedAt, isDemo } = context;
      const { reading, watching, clients } = state;
      const troubles = troublesToTell(state.troubles.list);
      const live = hub.journal.idOf(hub.journal.position);
      return c.json({
        status: "ok",
        version,
        instance,
        pid: process.pid,
        home: retinueHome(env),
        startedAt,
        reading,
        watching,
        demo: isDemo,
        clients,
        live,
        troubles,
      });
    })
    .get("/doctor", answers("What was found where, what could not be read and why", Doctor), (c) => {
      const polling = state.troubles.list.find(({ code }) => code === "polling")?.message ?? null;
      return c.json(examine(library, settings, env, polling));
    })
    .post("/hooks", answers("Wake up: something was kept in the recording that the body names, if it names one", Woken, ["too_large"]), async (c) => {
      const body: unknown = await c.req.json().catch(() => null);
      const path = asText(asObject(body)?.path);
      if (path !== null) state.tell([path]);
      return c.json({ watching: state.watching });
    })
    .post("/address", answers("An address that lets a browser in; where the system does not tell whose a connection is, it works once", Address), (c) =>
      c.json({ address: context.address() }),
    )
    .post("/demo", answers("Recorded agents that work once more, on a server of their own beside this one", Address, ["failed"]), async (c) => {
      if (context.isDemo) throw new Failure("failed", "this is the demo");
      return c.json({ address: (await context.demo()).address });
    })
    .post("/links", answers("Put an agent under another by hand", Linked, ["usage", "not_found", "failed", "too_large"]), checked("json", Link), async (c) => {
      const { child, parent } = c.req.valid("json");
      for (const name of [child, parent]) checkTarget(name);
      const { threads, ...linked } = await linkByHand(library, env, child, parent);
      await hub.changed(threads);
      return c.json(linked);
    })
    .delete("/links/:child", answers("Take a manual link back", Linked, ["usage", "not_found"]), async (c) => {
      const { threads, ...linked } = await unlinkByHand(library, env, c.req.param("child"));
      await hub.changed(threads);
      return c.json(linked);
    });
}

/** Records of threads by their URIs; the newest are found first, and nobody looks further than needed. */
function rootsNamed(library: Library, uris: ReadonlySet<string | null>): ReadonlyMap<string, AgentRecord> {
  const found = new Map<string, AgentRecord>();
  if (uris.size === 0) return found;
  for (const record of library.threads({})) {
    if (uris.has(record.uri)) found.set(record.uri, record);
    if (found.size === uris.size) break;
  }
  return found;
}
