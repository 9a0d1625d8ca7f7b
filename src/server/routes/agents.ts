import { type Context, Hono } from "hono";
import { describeRoute } from "hono-openapi";
import { Failure } from "../../app/failure.ts";
import { sinceOf } from "../../app/query/since.ts";
import type { Catalog } from "../../core/ports/catalog.ts";
import { printJson } from "../../core/tools/json.ts";
import type { FileChange } from "../../core/views/file-change.ts";
import type { UsedFile } from "../../core/views/files.ts";
import { cutTo, shortened, whole } from "../cut.ts";
import { checked, describeResponse } from "../describe.ts";
import { Explanation, Files } from "../explain-schemas.ts";
import { refusal } from "../failures.ts";
import {
  AgentTree,
  Event,
  Events,
  EventsQuery,
  Messages,
  Spans,
  SpansQuery,
  Threads,
  ThreadsQuery,
  Why,
} from "../schemas.ts";

/** The position from which the live stream continues this response. */
export const LIVE_HEADER = "Retinue-Live";

/** Returns the catalog that answers a request. */
export type CatalogOf = (c: Context) => Catalog;

/** Threads and agents. */
export function agentRoutes(catalogOf: CatalogOf): Hono {
  return new Hono()
    .route("/", recordRoutes(catalogOf))
    .route("/", detailRoutes(catalogOf))
    .get("/agents", describeRoute({ hide: true }), () => {
      throw new Failure("usage", "missing agent URI", [
        "write /api/agents/{uri}, percent-encoded; /api/threads lists threads",
      ]);
    });
}

/** Records and events. */
function recordRoutes(catalogOf: CatalogOf): Hono {
  return new Hono()
    .get(
      "/threads",
      describeResponse("Records of top-level threads, newest activity first", Threads, ["usage"]),
      checked("query", ThreadsQuery),
      async (c) => {
        const { since, ...query } = c.req.valid("query");
        const { items, next, live } = await catalogOf(c).threads({
          ...defined(query),
          ...(since === undefined ? {} : { since: sinceOf(since, Date.now(), "since") }),
        });
        c.header(LIVE_HEADER, live);
        return c.json({ items, next });
      },
    )
    .get(
      "/agents/:uri",
      describeResponse("The record of an agent with its subtree", AgentTree, ["usage", "not_found"]),
      async (c) => {
        const { tree, live } = await catalogOf(c).tree(c.req.param("uri"));
        c.header(LIVE_HEADER, live);
        // JSON.stringify overflows the stack on deep trees.
        return c.body(printJson(tree), 200, { "Content-Type": "application/json" });
      },
    )
    .get(
      "/agents/:uri/events",
      describeResponse("Events: history by time, then in order of arrival", Events, ["usage", "not_found", "expired"]),
      checked("query", EventsQuery),
      async (c) => {
        const { subtree = false, ...query } = c.req.valid("query");
        if (query.after !== undefined && query.from !== undefined)
          throw new Failure("usage", "after and from cannot be used together");
        const page = await catalogOf(c).events(c.req.param("uri"), { ...defined(query), subtree });
        if (page === null) return refusal(c, "expired", "the cursor has expired", "start again without after");
        const { items, next, first, total, live } = page;
        c.header(LIVE_HEADER, live);
        return c.json({ items: items.map((event) => shortened(event)), next, first, total });
      },
    )
    .get(
      "/agents/:uri/events/:id",
      describeResponse("One event, with all of its text", Event, ["usage", "not_found"]),
      async (c) => {
        const event = await catalogOf(c).event(c.req.param("uri"), c.req.param("id"));
        if (event === null)
          throw new Failure("not_found", "no such event", [
            "GET /api/agents/{uri}/events lists the events of the agent",
          ]);
        return c.json(whole(event));
      },
    );
}

/** Spans, messages, evidence, findings and files of an agent. */
function detailRoutes(catalogOf: CatalogOf): Hono {
  return new Hono()
    .get(
      "/agents/:uri/spans",
      describeResponse("Spans of an agent and its subtree: model calls, tool calls and waiting", Spans, [
        "usage",
        "not_found",
      ]),
      checked("query", SpansQuery),
      async (c) => {
        const { live, ...spans } = await catalogOf(c).spans(c.req.param("uri"), c.req.valid("query").after ?? null);
        c.header(LIVE_HEADER, live);
        return c.json(spans);
      },
    )
    .get(
      "/agents/:uri/messages",
      describeResponse("Messages between agents of this tree, oldest first", Messages, ["usage", "not_found"]),
      async (c) => c.json({ items: await catalogOf(c).detail(c.req.param("uri"), "messages"), next: null }),
    )
    .get(
      "/agents/:uri/why",
      describeResponse("All evidence for an agent's parent and status", Why, ["usage", "not_found"]),
      async (c) => c.json(await catalogOf(c).detail(c.req.param("uri"), "why")),
    )
    .get(
      "/agents/:uri/explain",
      describeResponse("What went wrong or was wasted in an agent's subtree", Explanation, ["usage", "not_found"]),
      async (c) => c.json(await catalogOf(c).detail(c.req.param("uri"), "explain")),
    )
    .get(
      "/agents/:uri/files",
      describeResponse("Files that the agents of a subtree read and changed", Files, ["usage", "not_found"]),
      async (c) => {
        const items = await catalogOf(c).detail(c.req.param("uri"), "files");
        return c.json({ items: items.map(withShortChanges), next: null });
      },
    );
}

/** Characters of a change that a list contains. */
const MAX_CHANGE = 4_000;

const withShortChanges = (file: UsedFile): UsedFile => ({
  ...file,
  uses: file.uses.map((use) => ({ ...use, change: use.change === null ? null : shortChange(use.change) })),
});

const shortChange = (change: FileChange): FileChange =>
  change.is === "patch"
    ? { ...change, patch: cutTo(change.patch, MAX_CHANGE) }
    : {
        ...change,
        edits: change.edits.map(({ path, before, after }) => ({
          path,
          before: cutTo(before, MAX_CHANGE),
          after: cutTo(after, MAX_CHANGE),
        })),
      };

/** Removes properties that are undefined. */
function defined<T extends object>(options: T): { [K in keyof T]-?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
