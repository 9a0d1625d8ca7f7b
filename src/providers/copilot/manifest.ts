import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "copilot";

export const copilot: Manifest = {
  name: NAME,
  product: "Copilot CLI",
  versions: "1.0.64 to 1.0.102",
  docs: "docs/formats/copilot.md",
  commandLine: {
    names: "copilot @github/copilot",
    prints: "-p --prompt",
    others:
      "app completion config help init instruction login logout lsp mcp memories plugin sandbox sessions skill update version --acp --connect",
    continues: "--continue -r --resume",
    id: "--session-id",
  },
  shellVariables: { thread: "COPILOT_AGENT_SESSION_ID", marks: "COPILOT_CLI" },
  apiHeaders: "copilot-integration-id editor-version editor-plugin-version",
  load: async () => (await import("./provider.ts")).provider,
};
