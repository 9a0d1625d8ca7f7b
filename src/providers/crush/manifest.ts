import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "crush";

export const crush: Manifest = {
  name: NAME,
  product: "Crush",
  versions: "0.96, from its sources, not verified",
  isUnverified: true,
  docs: "docs/formats/crush.md",
  commandLine: {
    names: "crush @charmland/crush",
    runs: "run",
    others: "completion dirs login logs models projects schema session update-providers",
    continues: "-C --continue -s --session",
    folder: "-c --cwd",
  },
  load: async () => (await import("./provider.ts")).provider,
};
