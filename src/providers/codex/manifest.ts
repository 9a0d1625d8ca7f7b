import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";

export const NAME = "codex";

export const codex: Manifest = {
  name: NAME,
  product: "Codex",
  versions: "0.99 to 0.169 (`codex exec`), both sub-agent systems",
  docs: "docs/formats/codex.md",
  hookPayload,
  load: async () => (await import("./provider.ts")).provider,
};
