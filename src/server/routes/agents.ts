import { Hono } from "hono";
import { describeRoute } from "hono-openapi";
import { Failure } from "../../app/failure.ts";
import type { ThreadFilter, ThreadPlace } from "../../app/library.ts";
import { resolve } from "../../app/resolve.ts";
import { sinceOf } from "../../app/since.ts";
import { explain } from "../../app/why.ts";
import type { AgentKey } from "../../core/ids.ts";
import { printJson } from "../../core/json.ts";
import { agentOf } from "../../core/link.ts";
import { messagesIn } from "../../core/messages.ts";
import type { ServerContext } from "../context.ts";
import { shortened, whole } from "../cut.ts";
import { answers, checked } from "../describe.ts";
import { refusal } from "../failures.ts";
import { AgentTree, Event, Events, EventsQuery, Messages, Spans, SpansQuery, Threads, ThreadsQuery, Why } from "../schemas.ts";
import { SpanBoard } from "../span-board.ts";

/** Where the live stream stands that goes on from this answer. */
export const LIVE_HEADER = "Retinue-Live";

export function agentRoutes({ library, hub }: ServerContext): Hono {
  const { journal } = hub;
  const board = new SpanBoard();
  const keyOf = (uri: string) => resolve(library, uri).key;
  return new Hono()
    .get("/threads", answers("Records of top-level threads, newest activity first", Threads, ["usage"]), checked("query", ThreadsQuery), (c) => {
      const { limit, cursor, since, ...rest } = c.req.valid("query");
      hub.followThreads();
      c.header(LIVE_HEADER, journal.idOf(journal.position));
      const filter: ThreadFilter = {
        ...defined(rest),
        ...(since === undefined ? {} : { since: sinceOf(since, library.now(), "since") }),
        ...(cursor === undefined ? {} : { after: placeIn(cursor) }),
        limit: limit + 1,
      };
      const rows = [...library.threadRows(filter)];
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      return c.json({ items: shown.map(({ record }) => record), next: rows.length > limit && last !== undefined ? cursorOf(last.place) : null });
    })
    .get("/agents/:uri", answers("The record of an agent, with everybody below it", AgentTree, ["usage", "not_found"]), (c) => {
      const key = keyOf(c.req.param("uri"));
      c.header(LIVE_HEADER, journal.idOf(journal.position));
      // Nested as deep as the tree is, which JSON.stringify cannot do.
      return c.body(printJson(hub.tree(key)), 200, { "Content-Type": "application/json" });
    })
    .get(
      "/agents/:uri/events",
      answers("What happened: history by time, then in the order of arrival", Events, ["usage", "not_found", "expired"]),
      checked("query", EventsQuery),
      async (c) => {
        const { after, from, limit, subtree } = c.req.valid("query");
        if (after !== undefined && from !== undefined) throw new Failure("usage", "after and from do not go together");
        const { log, length, position } = await hub.log(keyOf(c.req.param("uri")), subtree === true);
        const first = after === undefined ? clamp(from ?? 0, length) : positionIn(after, log.serial, length);
        if (first === null) return refusal(c, "expired", "this cursor is of an older reading of the records", "begin anew, without after");
        const items = (await log.page(first, Math.min(limit, length - first))).map((event) => shortened(event));
        c.header(LIVE_HEADER, journal.idOf(position));
        return c.json({ items, next: `${log.serial}-${first + items.length}`, first, total: length });
      },
    )
    .get("/agents/:uri/events/:id", answers("One event, with all of its text", Event, ["usage", "not_found"]), async (c) => {
      const event = await hub.event(keyOf(c.req.param("uri")), c.req.param("id"));
      if (event === null) throw new Failure("not_found", "no such event", ["next: ask for the agent's events"]);
      return c.json(whole(event));
    })
    .get(
      "/agents/:uri/spans",
      answers("Who was at what when: models, tools and waiting of everybody from this agent on down", Spans, ["usage", "not_found"]),
      checked("query", SpansQuery),
      (c) => {
        const key = keyOf(c.req.param("uri"));
        c.header(LIVE_HEADER, journal.idOf(journal.position));
        return c.json(board.answer(library.forestOf([key]), key, c.req.valid("query").after));
      },
    )
    .get("/agents/:uri/messages", answers("What agents of this tree wrote to each other, oldest first", Messages, ["usage", "not_found"]), (c) => {
      const key = keyOf(c.req.param("uri"));
      return c.json({ items: messagesIn(library.forestOf([key]), key), next: null });
    })
    .get("/agents/:uri/why", answers("Every piece of evidence for its parent and its status", Why, ["usage", "not_found"]), (c) => {
      const key = keyOf(c.req.param("uri"));
      const forest = library.forestOf([key]);
      return c.json(explain(forest, agentOf(forest, key)));
    })
    .get("/agents", describeRoute({ hide: true }), () => {
      throw new Failure("usage", "which agent?", ["write /api/agents/{uri}, percent-encoded; /api/threads lists what is there"]);
    });
}

const clamp = (from: number, length: number) => Math.min(length, from < 0 ? Math.max(0, length + from) : from);

function positionIn(cursor: string, serial: string, length: number): number | null {
  const [of, digits = ""] = cursor.split("-");
  return of === serial && /^\d{1,9}$/.test(digits) && Number(digits) <= length ? Number(digits) : null;
}

const cursorOf = ({ lastActivity, key }: ThreadPlace) => Buffer.from(JSON.stringify([lastActivity, key])).toString("base64url");

function placeIn(cursor: string): ThreadPlace {
  try {
    const [lastActivity, key] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (typeof lastActivity === "number" && typeof key === "string") return { lastActivity, key: key as AgentKey };
  } catch {
    // Whatever it is, it is none of ours.
  }
  throw new Failure("usage", "cursor: not one of ours", ["write what `next` of the page before said"]);
}

/** Options that were not given are left out, not undefined. */
function defined<T extends object>(options: T): { [K in keyof T]-?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
