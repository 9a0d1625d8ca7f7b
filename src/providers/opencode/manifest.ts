import type { Manifest } from "../../core/ports/manifest.ts";

export const opencode: Manifest = {
  name: "opencode",
  product: "OpenCode",
  versions: "1.0 to 1.18: database, JSON files (before 1.2), `opencode export`",
  docs: "docs/formats/opencode.md",
  load: async () => (await import("./provider.ts")).provider,
};
