import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "crush";

export const crush: Manifest = {
  name: NAME,
  product: "Crush",
  versions: "0.96, from its sources, not verified",
  isUnverified: true,
  docs: "docs/formats/crush.md",
  load: async () => (await import("./provider.ts")).provider,
};
