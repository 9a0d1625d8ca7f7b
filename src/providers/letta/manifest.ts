import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "letta";

export const letta: Manifest = {
  name: NAME,
  product: "Letta Code",
  versions: "0.32",
  docs: "docs/formats/letta.md",
  commandLine: {
    names: "letta @letta-ai/letta-code",
    prints: "-p --prompt",
    others: "agents backend blocks connect login logout mcp memfs messages sessions skills update",
    continues: "-c --continue --conv --conversation -r --resume",
  },
  shellVariables: { marks: "LETTA_AGENT_ID" },
  load: async () => (await import("./provider.ts")).provider,
};
