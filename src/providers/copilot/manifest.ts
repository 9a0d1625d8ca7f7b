import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "copilot";

export const copilot: Manifest = {
  name: NAME,
  product: "Copilot CLI",
  versions: "1.0.64 to 1.0.102",
  docs: "docs/formats/copilot.md",
  load: async () => (await import("./provider.ts")).provider,
};
