import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "cline";

export const cline: Manifest = {
  name: NAME,
  product: "Cline CLI",
  versions: "3.0",
  docs: "docs/formats/cline.md",
  load: async () => (await import("./provider.ts")).provider,
};
