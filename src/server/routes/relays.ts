import { Hono } from "hono";
import { RELAYED_NAMES, relayedProvider } from "../../app/relayed.ts";
import { NewRelay, Relay, RelayList, Removed } from "../card-schemas.ts";
import type { ServerContext } from "../context.ts";
import { answers, checked } from "../describe.ts";

export function relayRoutes({ relays }: ServerContext): Hono {
  const providers = RELAYED_NAMES.map((name) => {
    const { product, relay } = relayedProvider(name);
    return { name, product, address: relay?.address ?? "", secret: relay?.secret ?? "" };
  });
  return new Hono()
    .get("/relays", answers("Servers that are followed, and which products have such servers", RelayList), (c) =>
      c.json({ items: [...relays.list], next: null, providers }),
    )
    .post(
      "/relays",
      answers("Follow a server; its password is never written down", Relay, ["usage", "failed", "too_large"]),
      checked("json", NewRelay),
      async (c) => c.json(await relays.add(c.req.valid("json"))),
    )
    .delete("/relays/:id", answers("No longer follow a server; what it said stays", Removed, ["not_found"]), async (c) => {
      const id = c.req.param("id");
      await relays.remove(id);
      return c.json({ id });
    });
}
