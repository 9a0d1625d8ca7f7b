import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "gemini";

export const gemini: Manifest = {
  name: NAME,
  product: "Gemini CLI",
  versions: "0.36 to 0.61",
  docs: "docs/formats/gemini.md",
  load: async () => (await import("./provider.ts")).provider,
};
