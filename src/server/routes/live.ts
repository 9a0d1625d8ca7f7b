import { Hono } from "hono";
import { describeRoute } from "hono-openapi";
import { resolve } from "../../app/resolve.ts";
import type { ServerContext } from "../context.ts";
import { checked, failures } from "../describe.ts";
import { LiveQuery } from "../schemas.ts";
import { concerns, type Wishes } from "../wishes.ts";

/** Proxies and browsers give up on what is silent for long. */
const HEARTBEAT_MS = 15_000;
const ENCODER = new TextEncoder();

const STREAM_HEADERS = { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no" };

const STREAM = describeRoute({
  summary: "What changes, as it changes",
  description:
    "Server-sent events. `agent`: a record (Agent) as it stands now. `event`: something that happened (Event). `removed`: `{uri}` is no longer there, or no longer below what was asked for. " +
    "`card`: a card (Card) as it stands now. `card-removed`: `{id}` was removed. " +
    "`troubles`: what cannot be done at the moment, as in `/api/health`; told to everybody. " +
    "`ready`: the stream begins. `reset`: what came before no longer holds, or what was missed is not known any more; ask for everything anew. " +
    "Every one has an id; Last-Event-ID goes on behind it, without a gap and without repeats. Answers of the other routes say in the header Retinue-Live where to begin (`after`). " +
    "With no filter everything is told.",
  responses: { 200: { description: "A stream", content: { "text/event-stream": { schema: { type: "string" } } } }, ...failures(["usage", "not_found"]) },
});

export function liveRoutes({ library, hub, state }: ServerContext): Hono {
  return new Hono().get("/live", STREAM, checked("query", LiveQuery), async (c) => {
    const query = c.req.valid("query");
    const keys = (uris: string | readonly string[] = []) => [uris].flat().map((uri) => resolve(library, uri).key);
    const wishes: Wishes = {
      threads: query.threads === true,
      trees: keys(query.tree),
      events: keys(query.events),
      logs: keys(query.log),
      cards: query.cards === true,
    };
    // Who asks for the headers alone does not stay.
    if (c.req.method === "HEAD") return c.body(null, 200, STREAM_HEADERS);
    const { since, leave } = await hub.join(wishes);
    const { journal } = hub;
    const asked = c.req.header("last-event-id") ?? query.after;
    const known = asked === undefined ? journal.position : journal.positionOf(asked);
    let position = known === null || known < Math.max(since, journal.floor) ? null : known;
    const cancelled = new AbortController();
    const gone = AbortSignal.any([c.req.raw.signal, state.stop.signal, cancelled.signal]);
    state.clients += 1;
    const said = (type: string, data: string) => ENCODER.encode(`event: ${type}\nid: ${journal.idOf(position ?? journal.position)}\ndata: ${data}\n\n`);
    const reset = (reason: string) => {
      position = journal.position;
      return said("reset", JSON.stringify({ reason }));
    };
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        stream.enqueue(position === null ? reset("what came since then is not known here") : said("ready", "{}"));
        const heartbeat = setInterval(() => {
          // A reader that takes nothing needs no sign of life.
          if ((stream.desiredSize ?? 0) > 0) stream.enqueue(ENCODER.encode(":\n\n"));
        }, HEARTBEAT_MS);
        const over = () => {
          clearInterval(heartbeat);
          state.clients -= 1;
          leave();
        };
        if (gone.aborted) over();
        else gone.addEventListener("abort", over, { once: true });
      },
      // Called whenever the reader has taken what was there: a slow one is further behind, and nothing piles up.
      pull: async (stream) => {
        for (;;) {
          await journal.after(position ?? 0, gone);
          if (gone.aborted) return cancelled.signal.aborted ? undefined : stream.close();
          if ((position ?? 0) < journal.floor) return stream.enqueue(reset("too much happened meanwhile"));
          const entries = journal.since(position ?? 0);
          const parts: string[] = [];
          for (const entry of entries) {
            position = entry.seq;
            if (concerns(wishes, entry)) parts.push(`event: ${entry.type}\nid: ${journal.idOf(entry.seq)}\ndata: ${entry.data}\n\n`);
          }
          if (parts.length > 0) return stream.enqueue(ENCODER.encode(parts.join("")));
        }
      },
      cancel: () => cancelled.abort(),
    });
    return c.body(body, 200, STREAM_HEADERS);
  });
}
