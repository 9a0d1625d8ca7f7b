import { Cards } from "../../src/app/cards/cards.ts";
import { Troubles } from "../../src/app/live/troubles.ts";
import { Board } from "../../src/server/board.ts";
import { Hub } from "../../src/server/hub.ts";
import { Journal } from "../../src/server/journal.ts";
import { LocalCatalog } from "../../src/server/local-catalog.ts";
import { catalogContract } from "../contract/catalog.ts";

catalogContract("of this machine", async (library) => {
  const hub = new Hub(library, new Journal(), new Board(new Cards({ library, env: library.env, guess: false })));
  return {
    catalog: new LocalCatalog(library, hub, { watching: true, troubles: new Troubles() }),
    update: async () => hub.changed(await library.refresh()),
    close: async () => library.close(),
  };
});
