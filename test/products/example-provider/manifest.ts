/**
 * A provider of a made-up product, as an example of what a product's folder declares. The tests add it to the list of
 * products with one line; nothing else outside this folder knows it.
 */
import type { Manifest } from "../../../src/core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";
import { statusLine } from "./statusline.ts";

export const example: Manifest = {
  name: "example",
  product: "Example Agent",
  versions: "1.0",
  docs: "test/products/example-provider/format.md",
  hookPayload,
  statusLine,
  apiHeaders: "x-example-thread x-example-agent x-example-parent",
  load: async () => (await import("./provider.ts")).provider,
};
