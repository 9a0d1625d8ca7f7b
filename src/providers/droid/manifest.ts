import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";

export const NAME = "droid";

export const droid: Manifest = {
  name: NAME,
  product: "Factory Droid",
  versions: "0.225",
  docs: "docs/formats/droid.md",
  hookPayload,
  load: async () => (await import("./provider.ts")).provider,
};
