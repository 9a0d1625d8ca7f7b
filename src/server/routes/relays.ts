import { Hono } from "hono";
import { RELAYED_NAMES, relayedProvider } from "../../app/relay/relayed.ts";
import { NewRelay, Relay, RelayList, Removed } from "../card-schemas.ts";
import type { ServerContext } from "../context.ts";
import { checked, describeResponse } from "../describe.ts";

export function relayRoutes({ relays }: ServerContext): Hono {
  const providers = RELAYED_NAMES.map((name) => {
    const { product, relay } = relayedProvider(name);
    return { name, product, address: relay?.address ?? "", secret: relay?.secret ?? "" };
  });
  return new Hono()
    .get("/relays", describeResponse("Followed servers, and the products that support this", RelayList), (c) =>
      c.json({ items: [...relays.list], next: null, providers }),
    )
    .post(
      "/relays",
      describeResponse("Follow a server; its password is not stored", Relay, ["usage", "failed", "too_large"]),
      checked("json", NewRelay),
      async (c) => c.json(await relays.add(c.req.valid("json"))),
    )
    .delete(
      "/relays/:id",
      describeResponse("Stop following a server; its recording stays", Removed, ["not_found"]),
      async (c) => {
        const id = c.req.param("id");
        await relays.remove(id);
        return c.json({ id });
      },
    );
}
