import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";

export const NAME = "grok";

export const grok: Manifest = {
  name: NAME,
  product: "Grok Build",
  versions: "1.0",
  docs: "docs/formats/grok.md",
  hookPayload,
  load: async () => (await import("./provider.ts")).provider,
};
