import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "cline";

export const cline: Manifest = {
  name: NAME,
  product: "Cline CLI",
  versions: "3.0",
  docs: "docs/formats/cline.md",
  commandLine: {
    names: "cline",
    prints: "--json",
    others:
      "auth config connect dashboard doctor hook hub kanban mcp plugin schedule skill update version --acp --kanban --update",
    continues: "--id",
    folder: "-c --cwd",
  },
  load: async () => (await import("./provider.ts")).provider,
};
