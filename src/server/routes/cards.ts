import { Hono } from "hono";
import { activityOf, logEntry, mappingsOf } from "../../app/cards/card-log.ts";
import { Failure } from "../../app/failure.ts";
import type { AgentKey } from "../../core/facts/ids.ts";
import { agentOf, subtreeOf } from "../../core/link/forest.ts";
import { Activity, Card, CardChange, CardList, CardLog, CardLogQuery, NewCard, Removed } from "../card-schemas.ts";
import type { ServerContext } from "../context.ts";
import { shortened } from "../cut.ts";
import { checked, describeResponse } from "../describe.ts";
import { LIVE_HEADER } from "./agents.ts";

export function cardRoutes(context: ServerContext): Hono {
  return new Hono().route("/", editRoutes(context)).route("/", agentRoutes(context));
}

/** All agents of a card, parents first, and those assigned by a guess. */
async function agentsIn({ cards, library }: ServerContext, id: string) {
  const { threads, inferred } = await cards.get(id);
  const roots = [...threads, ...inferred];
  const forest = library.forestOf(roots);
  const below = (keys: readonly AgentKey[]) =>
    keys.filter((key) => forest.agents.has(key)).flatMap((key) => subtreeOf(forest, key));
  return { forest, roots, keys: below(roots), guessed: new Set(below(inferred)) };
}

function editRoutes({ hub, cards }: ServerContext): Hono {
  return new Hono()
    .get("/cards", describeResponse("All cards, oldest first", CardList), async (c) => {
      const { seen, position } = await hub.followCards(() => cards.list());
      c.header(LIVE_HEADER, hub.journal.idOf(position));
      return c.json({ items: seen.map(({ card }) => card), next: null });
    })
    .post(
      "/cards",
      describeResponse("Create a card", Card, ["usage", "not_found", "failed", "too_large"]),
      checked("json", NewCard),
      async (c) => {
        const { card } = await cards.create(c.req.valid("json"));
        await hub.cardsChanged();
        return c.json(card);
      },
    )
    .get("/cards/:id", describeResponse("One card", Card, ["not_found"]), async (c) =>
      c.json((await cards.get(c.req.param("id"))).card),
    )
    .patch(
      "/cards/:id",
      describeResponse("Change a card", Card, ["usage", "not_found", "failed", "too_large"]),
      checked("json", CardChange),
      async (c) => {
        const { card } = await cards.update(c.req.param("id"), c.req.valid("json"));
        await hub.cardsChanged();
        return c.json(card);
      },
    )
    .delete("/cards/:id", describeResponse("Delete a card; its threads stay", Removed, ["not_found"]), async (c) => {
      const id = c.req.param("id");
      await cards.remove(id);
      await hub.cardsChanged();
      return c.json({ id });
    });
}

/** The agents of a card and their events. */
function agentRoutes(context: ServerContext): Hono {
  const { hub } = context;
  return new Hono()
    .get(
      "/cards/:id/agent-activity",
      describeResponse("The activity of each agent of a card, and its sessions", Activity, ["not_found"]),
      async (c) => {
        const id = c.req.param("id");
        const { forest, roots, keys, guessed } = await agentsIn(context, id);
        const spans = await hub.logSpansIn(roots);
        const agents = keys.flatMap((key) => {
          const span = spans.get(key);
          return span === undefined ? [] : [activityOf(agentOf(forest, key), span)];
        });
        return c.json({ card_id: id, agents, session_mappings: mappingsOf(forest, keys, id, guessed) });
      },
    )
    .get(
      "/cards/:id/logs",
      describeResponse(
        "The events of all threads of a card: history by time, then in order of arrival; the status of each sub-agent once it is final",
        CardLog,
        ["usage", "not_found"],
      ),
      checked("query", CardLogQuery),
      async (c) => {
        const { after, limit } = c.req.valid("query");
        const id = c.req.param("id");
        const { forest, roots, keys } = await agentsIn(context, id);
        const log = await hub.cardLog(id, roots);
        const { ids } = log;
        const at = after === undefined ? 0 : ids.indexOf(after) + 1;
        if (after !== undefined && at === 0)
          throw new Failure("not_found", "no such entry in this log", ["start again without after"]);
        const byUri = new Map<string, AgentKey>(keys.map((key) => [agentOf(forest, key).uri, key]));
        const items = [];
        for (const event of await log.page(forest, at, limit)) {
          const key = byUri.get(event.uri);
          if (key !== undefined) items.push(logEntry(shortened(event), agentOf(forest, key)));
        }
        return c.json({ items, next: at + limit < ids.length ? (ids[at + limit - 1] ?? null) : null });
      },
    );
}
