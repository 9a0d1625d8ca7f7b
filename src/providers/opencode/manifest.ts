import type { Manifest } from "../../core/ports/manifest.ts";

export const opencode: Manifest = {
  name: "opencode",
  product: "OpenCode",
  versions: "1.0 to 1.18: database, JSON files (before 1.2), `opencode export`",
  docs: "docs/formats/opencode.md",
  commandLine: {
    names: "opencode opencode-ai",
    runs: "run",
    others:
      "acp agent attach auth completion db debug export github import login logout mcp models pr providers serve session stats uninstall upgrade web",
    continues: "-c --continue -s --session",
    forks: "--fork",
    folder: "--dir",
  },
  shellVariables: { marks: "OPENCODE OPENCODE_PID" },
  apiHeaders: "x-opencode-client x-opencode-project x-opencode-request x-opencode-session",
  load: async () => (await import("./provider.ts")).provider,
};
