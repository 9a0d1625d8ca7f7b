import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "gemini";

export const gemini: Manifest = {
  name: NAME,
  product: "Gemini CLI",
  versions: "0.36 to 0.61",
  docs: "docs/formats/gemini.md",
  commandLine: {
    names: "gemini @google/gemini-cli",
    prints: "-p --prompt",
    others:
      "extension extensions gemma hook hooks mcp skill skills --acp --delete-session --experimental-acp --list-extensions --list-sessions -l",
    continues: "-r --resume --session-file",
    id: "--session-id",
  },
  shellVariables: { marks: "GEMINI_CLI" },
  load: async () => (await import("./provider.ts")).provider,
};
