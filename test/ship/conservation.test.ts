/** What was shipped, put together, is what this machine shows: tree, events, spans, evidence, messages, files, findings. */
import { describe, expect, it } from "vitest";
import { RECORDED, recordedHomes } from "../support/fixtures.ts";
import { Received } from "../support/received.ts";
import { expectSame, libraryIn, shipperTo } from "../support/shipping.ts";

const NOW = Date.UTC(2030, 0);

describe.each(RECORDED.map(({ name }) => name))("shipped recordings of %s", (provider) => {
  it.each(recordedHomes(provider))("$name", async ({ home }) => {
    const library = libraryIn(home, () => NOW);
    await library.refresh();
    const received = new Received();
    const { shipper, shipped } = await shipperTo(library, received);
    await shipper.shipAll();
    await expectSame(library, received);
    // Once everything is acknowledged, nothing is sent again.
    const { accepted } = received;
    await shipper.shipAll();
    expect(received.accepted).toBe(accepted);
    shipped.close();
  });
});
