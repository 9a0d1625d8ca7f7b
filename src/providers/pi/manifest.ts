import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "pi";

export const pi: Manifest = {
  name: NAME,
  product: "Pi",
  versions: "0.73 to 1.5, with its example extension, pi-subagents and @tintinweb/pi-subagents",
  docs: "docs/formats/pi.md",
  load: async () => (await import("./provider.ts")).provider,
};
