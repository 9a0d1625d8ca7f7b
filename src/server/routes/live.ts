import { Hono } from "hono";
import { describeRoute } from "hono-openapi";
import type { Follow, LiveMessage } from "../../core/ports/catalog.ts";
import type { ServerState } from "../context.ts";
import { checked, failures } from "../describe.ts";
import { LiveQuery } from "../schemas.ts";
import type { CatalogOf } from "./agents.ts";

/** Keeps the connection alive through proxies and browsers. */
const HEARTBEAT_MS = 15_000;
const ENCODER = new TextEncoder();

const STREAM_HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Accel-Buffering": "no",
};

const STREAM = describeRoute({
  summary: "Changes as they happen",
  description:
    "Server-sent events. `agent`: the current record (Agent). `event`: a new event (Event). `removed`: `{uri}` no longer exists, or is no longer in the subtree. " +
    "`spans`: `{uri, after, next, items}`, the changed spans of the requested agent and its subtree; items as in Spans. They apply to a client whose last `next` is `after`; others request what they miss. " +
    "`card`: the current card (Card). `card-removed`: `{id}` was deleted. " +
    "`troubles`: as in `/api/health`; sent to all clients. " +
    "`ready`: the stream begins. `reset`: earlier data is no longer valid, or missed changes are no longer available; fetch everything again. " +
    "Every message has an id; Last-Event-ID continues after it without gaps or repeats. The header Retinue-Live of other responses is a position for `after`. " +
    "Without a filter all changes except `spans` are sent.",
  responses: {
    200: { description: "A stream", content: { "text/event-stream": { schema: { type: "string" } } } },
    ...failures(["usage", "not_found"]),
  },
});

export function liveRoutes(catalogOf: CatalogOf, state: Pick<ServerState, "clients" | "stop">): Hono {
  return new Hono().get("/live", STREAM, checked("query", LiveQuery), async (c) => {
    const query = c.req.valid("query");
    const follow: Follow = {
      threads: query.threads === true,
      trees: [query.tree ?? []].flat(),
      events: [query.events ?? []].flat(),
      logs: [query.log ?? []].flat(),
      cards: query.cards === true,
      spans: [query.spans ?? []].flat(),
    };
    const cancelled = new AbortController();
    const closed = AbortSignal.any([c.req.raw.signal, state.stop.signal, cancelled.signal]);
    const changes = await catalogOf(c).changes(follow, c.req.header("last-event-id") ?? query.after ?? null, closed);
    // HEAD must not open a stream.
    if (c.req.method === "HEAD") {
      cancelled.abort();
      return c.body(null, 200, STREAM_HEADERS);
    }
    state.clients += 1;
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        stream.enqueue(encoded([changes.first]));
        const heartbeat = setInterval(() => {
          // A blocked reader needs no heartbeat.
          if ((stream.desiredSize ?? 0) > 0) stream.enqueue(ENCODER.encode(":\n\n"));
        }, HEARTBEAT_MS);
        const over = () => {
          clearInterval(heartbeat);
          state.clients -= 1;
        };
        if (closed.aborted) over();
        else closed.addEventListener("abort", over, { once: true });
      },
      // Called when the reader has consumed the queue, so a slow reader uses no memory.
      pull: async (stream) => {
        const messages = await changes.next();
        if (messages.length > 0) stream.enqueue(encoded(messages));
        else if (!cancelled.signal.aborted) {
          stream.close();
          cancelled.abort();
        }
      },
      cancel: () => cancelled.abort(),
    });
    return c.body(body, 200, STREAM_HEADERS);
  });
}

const encoded = (messages: readonly LiveMessage[]) =>
  ENCODER.encode(messages.map(({ type, id, data }) => `event: ${type}\nid: ${id}\ndata: ${data}\n\n`).join(""));
