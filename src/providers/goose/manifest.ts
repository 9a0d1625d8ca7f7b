import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "goose";

export const goose: Manifest = {
  name: NAME,
  product: "Goose",
  versions: "schema 13, from its sources, not verified",
  isUnverified: true,
  docs: "docs/formats/goose.md",
  commandLine: {
    names: "goose",
    runs: "run",
    others: "acp bench completion configure info mcp project projects recipe schedule serve update web --no-session",
    continues: "-r --resume",
  },
  load: async () => (await import("./provider.ts")).provider,
};
