import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "letta";

export const letta: Manifest = {
  name: NAME,
  product: "Letta Code",
  versions: "0.32",
  docs: "docs/formats/letta.md",
  load: async () => (await import("./provider.ts")).provider,
};
