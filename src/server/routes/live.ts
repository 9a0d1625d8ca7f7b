import { Hono } from "hono";
import { describeRoute } from "hono-openapi";
import { resolve } from "../../app/query/resolve.ts";
import type { ServerContext } from "../context.ts";
import { checked, failures } from "../describe.ts";
import { LiveQuery } from "../schemas.ts";
import { concerns, type Subscription } from "../subscription.ts";

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

export function liveRoutes({ library, hub, state }: ServerContext): Hono {
  return new Hono().get("/live", STREAM, checked("query", LiveQuery), async (c) => {
    const query = c.req.valid("query");
    const keys = (uris: string | readonly string[] = []) => [uris].flat().map((uri) => resolve(library, uri).key);
    const subscription: Subscription = {
      threads: query.threads === true,
      trees: keys(query.tree),
      events: keys(query.events),
      logs: keys(query.log),
      cards: query.cards === true,
      spans: keys(query.spans),
    };
    // HEAD must not open a stream.
    if (c.req.method === "HEAD") return c.body(null, 200, STREAM_HEADERS);
    const { since, leave } = await hub.join(subscription);
    const { journal } = hub;
    const lastId = c.req.header("last-event-id") ?? query.after;
    const known = lastId === undefined ? journal.position : journal.positionOf(lastId);
    let position = known === null || known < Math.max(since, journal.floor) ? null : known;
    const cancelled = new AbortController();
    const closed = AbortSignal.any([c.req.raw.signal, state.stop.signal, cancelled.signal]);
    state.clients += 1;
    const message = (type: string, data: string) =>
      ENCODER.encode(`event: ${type}\nid: ${journal.idOf(position ?? journal.position)}\ndata: ${data}\n\n`);
    const reset = (reason: string) => {
      position = journal.position;
      return message("reset", JSON.stringify({ reason }));
    };
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        stream.enqueue(
          position === null ? reset("changes since then are no longer available") : message("ready", "{}"),
        );
        const heartbeat = setInterval(() => {
          // A blocked reader needs no heartbeat.
          if ((stream.desiredSize ?? 0) > 0) stream.enqueue(ENCODER.encode(":\n\n"));
        }, HEARTBEAT_MS);
        const over = () => {
          clearInterval(heartbeat);
          state.clients -= 1;
          leave();
        };
        if (closed.aborted) over();
        else closed.addEventListener("abort", over, { once: true });
      },
      // Called when the reader has consumed the queue, so a slow reader uses no memory.
      pull: async (stream) => {
        for (;;) {
          await journal.after(position ?? 0, closed);
          if (closed.aborted) return cancelled.signal.aborted ? undefined : stream.close();
          if ((position ?? 0) < journal.floor) return stream.enqueue(reset("too many changes in the meantime"));
          const entries = journal.since(position ?? 0);
          const parts: string[] = [];
          for (const entry of entries) {
            position = entry.seq;
            if (concerns(subscription, entry))
              parts.push(`event: ${entry.type}\nid: ${journal.idOf(entry.seq)}\ndata: ${entry.data}\n\n`);
          }
          if (parts.length > 0) return stream.enqueue(ENCODER.encode(parts.join("")));
        }
      },
      cancel: () => cancelled.abort(),
    });
    return c.body(body, 200, STREAM_HEADERS);
  });
}
