import { Hono } from "hono";
import { PRODUCT_NAMES } from "../../app/query/product-names.ts";
import { sinceOf } from "../../app/query/since.ts";
import type { CatalogHealth } from "../../core/ports/catalog.ts";
import { GROUPS } from "../../core/views/stats.ts";
import { checked, describeResponse } from "../describe.ts";
import { Findings, Health, SearchQuery, Stats, StatsQuery, StatsThreads, StatsThreadsQuery } from "../schemas.ts";
import { type CatalogOf, LIVE_HEADER } from "./agents.ts";

/** What `/health` reports of the server itself. */
export type ServerHealth = () => Readonly<Record<string, unknown>>;

/** All threads together: search, statistics, health. */
export function overviewRoutes(catalogOf: CatalogOf, ownHealth: ServerHealth): Hono {
  const epoch = (since: string | undefined) => (since === undefined ? null : sinceOf(since, Date.now(), "since"));
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
        const { incomplete, items } = await catalogOf(c).search(q.split(/\s+/), limit);
        return c.json({ incomplete, items, next: null });
      },
    )
    .get(
      "/stats",
      describeResponse("Tokens, cost, time and outcome", Stats, ["usage"]),
      checked("query", StatsQuery),
      async (c) => {
        const { since, by } = c.req.valid("query");
        const groups = by === undefined ? GROUPS : [by].flat();
        const stats = await catalogOf(c).stats({ since: epoch(since), by: groups, behind: null });
        c.header(LIVE_HEADER, stats.live);
        return c.json({
          incomplete: stats.incomplete,
          approximate: stats.approximate,
          total: stats.total,
          by: stats.by,
        });
      },
    )
    .get(
      "/stats/threads",
      describeResponse("The threads of one line of the statistics, highest cost first", StatsThreads, ["usage"]),
      checked("query", StatsThreadsQuery),
      async (c) => {
        const { by, key = null, since, limit } = c.req.valid("query");
        const { threads } = await catalogOf(c).stats({ since: epoch(since), by: [], behind: { by, key, limit } });
        return c.json({ items: threads, next: null });
      },
    )
    .get("/health", describeResponse("State of the server and its reading progress", Health), async (c) => {
      const health: CatalogHealth = await catalogOf(c).health();
      return c.json({ status: "ok", ...ownHealth(), products: PRODUCT_NAMES, ...health });
    });
}
