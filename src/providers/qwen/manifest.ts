import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "qwen";

export const qwen: Manifest = {
  name: NAME,
  product: "Qwen Code",
  versions: "0.24",
  docs: "docs/formats/qwen.md",
  load: async () => (await import("./provider.ts")).provider,
};
