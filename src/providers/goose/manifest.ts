import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "goose";

export const goose: Manifest = {
  name: NAME,
  product: "Goose",
  versions: "schema 13, from its sources, not verified",
  isUnverified: true,
  docs: "docs/formats/goose.md",
  load: async () => (await import("./provider.ts")).provider,
};
