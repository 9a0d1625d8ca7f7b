import { afterAll, beforeAll } from "vitest";
import { openShippedFile } from "../../src/app/databases.ts";
import { withRevision } from "../../src/app/ship/post.ts";
import { Shipper } from "../../src/app/ship/shipper.ts";
import { openTeamStore, type TeamStore } from "../../src/app/team/store.ts";
import { TeamCatalog } from "../../src/server/team/catalog.ts";
import { Feed } from "../../src/server/team/feed.ts";
import { parseShipment } from "../../src/server/team/shipment.ts";
import { catalogContract } from "../contract/catalog.ts";
import { freshDatabase } from "../support/postgres.ts";
import { TARGET } from "../support/shipping.ts";
import { HEAD } from "./documents.ts";

let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let store: TeamStore;
let feed: Feed;
let owners = 0;
beforeAll(async () => {
  fresh = await freshDatabase();
  store = await openTeamStore(fresh.url);
  feed = new Feed(store);
  await feed.start();
});
afterAll(async () => {
  feed.stop();
  await store.close();
  await fresh.drop();
});

catalogContract("of a team server", async (library) => {
  owners += 1;
  const owner = `owner${owners}`;
  const shipped = await openShippedFile(":memory:");
  const send = async (lines: readonly string[]) => {
    const first = shipped.reserve(TARGET.name, lines.length, 1);
    const body = [JSON.stringify(HEAD), ...lines.map((line, i) => withRevision(line, first + i))].join("\n");
    const { head, documents } = await parseShipment(Buffer.from(body), false);
    await store.ingest(owner, head, documents);
    return body.length;
  };
  const shipper = new Shipper({ library, target: TARGET, shipped, send, signal: new AbortController().signal });
  await shipper.shipAll();
  return {
    catalog: new TeamCatalog(store.reader, feed, [owner]),
    update: async () => {
      await library.refresh();
      await shipper.shipAll();
    },
    close: async () => {
      shipped.close();
      library.close();
    },
  };
});
