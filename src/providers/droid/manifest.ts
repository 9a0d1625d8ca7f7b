import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "droid";

export const droid: Manifest = {
  name: NAME,
  product: "Factory Droid",
  versions: "0.225",
  docs: "docs/formats/droid.md",
  load: async () => (await import("./provider.ts")).provider,
};
