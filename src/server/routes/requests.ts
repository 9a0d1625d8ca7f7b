import { Hono } from "hono";
import { conversation, conversations } from "../../app/query/conversations.ts";
import { contentOf, pieceOf } from "../../app/query/request-content.ts";
import { Requests as AllRequests, keyOf } from "../../app/query/requests.ts";
import type { ServerContext } from "../context.ts";
import { decodeCursor, encodeCursor } from "../cursor.ts";
import { checked, describeResponse } from "../describe.ts";
import {
  ConversationDetail,
  ConversationQuery,
  Conversations,
  ConversationsQuery,
  PieceText,
  RequestDetail,
  Requests,
  RequestsQuery,
  Subtasks,
} from "../request-schemas.ts";

/** Recorded API traffic. */
export function requestRoutes(context: ServerContext): Hono {
  return new Hono().route("/", exchangeRoutes(context)).route("/", conversationRoutes(context));
}

function exchangeRoutes({ library }: ServerContext): Hono {
  // Created for each request, because the trees may have changed.
  const all = () => new AllRequests(library);
  return new Hono()
    .get(
      "/requests",
      describeResponse("Proxied requests, newest first", Requests, ["usage", "not_found"]),
      checked("query", RequestsQuery),
      (c) => {
        const { agent, work, limit, cursor } = c.req.valid("query");
        const { items, last, isMore } = all().list({
          ...(agent === undefined ? {} : { agent: keyOf(library, agent) }),
          ...(cursor === undefined ? {} : { after: placeIn(cursor) }),
          isWork: work === true,
          limit,
        });
        return c.json({ items, next: isMore && last !== null ? cursorOf(last) : null });
      },
    )
    .get(
      "/requests/:id",
      describeResponse("One request with its content and response", RequestDetail, ["not_found"]),
      async (c) => {
        const requests = all();
        const exchange = requests.find(c.req.param("id"));
        return c.json({ ...requests.record(exchange), content: await contentOf(exchange) });
      },
    )
    .get(
      "/requests/:id/subtasks",
      describeResponse("The agents that its response spawned", Subtasks, ["not_found"]),
      (c) => {
        const requests = all();
        return c.json({ items: requests.subtasks(requests.find(c.req.param("id"))), next: null });
      },
    )
    .get(
      "/requests/:id/pieces/:piece",
      describeResponse("One text of a request, in full", PieceText, ["not_found"]),
      async (c) => c.json({ json: await pieceOf(all().find(c.req.param("id")), c.req.param("piece")) }),
    );
}

function conversationRoutes({ library }: ServerContext): Hono {
  return new Hono()
    .get(
      "/conversations",
      describeResponse("Threads with recorded traffic, newest first", Conversations, ["usage"]),
      checked("query", ConversationsQuery),
      (c) => {
        const { limit, cursor } = c.req.valid("query");
        const { items, next } = conversations(library, limit, cursor === undefined ? undefined : placeIn(cursor));
        return c.json({ items, next: next === null ? null : cursorOf(next) });
      },
    )
    .get(
      "/conversations/:id",
      describeResponse("One conversation with its messages and sub-tasks", ConversationDetail, ["usage", "not_found"]),
      checked("query", ConversationQuery),
      async (c) => {
        const { branch, limit, messages_cursor, subtasks_cursor } = c.req.valid("query");
        const [messagesAfter, subtasksAfter] = [numberIn(messages_cursor), numberIn(subtasks_cursor)];
        const { messages, subtasks, ...rest } = await conversation(library, c.req.param("id"), {
          ...(branch === undefined ? {} : { branch }),
          limit,
          messagesAfter,
          subtasksAfter,
        });
        const paged = <T>({ items, next }: { readonly items: readonly T[]; readonly next: number | null }) => ({
          items,
          next: next === null ? null : cursorOf({ at: next, id: "" }),
        });
        return c.json({ ...rest, messages: paged(messages), subtasks: paged(subtasks) });
      },
    );
}

/** Number of items on the previous pages. */
const numberIn = (cursor: string | undefined): number =>
  cursor === undefined ? 0 : Math.max(0, Math.trunc(placeIn(cursor).at));

const cursorOf = ({ at, id }: { readonly at: number; readonly id: string }) => encodeCursor([at, id]);

function placeIn(cursor: string): { readonly at: number; readonly id: string } {
  const [at, id] = decodeCursor(cursor);
  return { at, id };
}
