import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "pi";

export const pi: Manifest = {
  name: NAME,
  product: "Pi",
  versions: "0.73 to 1.5, with its example extension, pi-subagents and @tintinweb/pi-subagents",
  docs: "docs/formats/pi.md",
  commandLine: {
    names: "pi @mariozechner/pi-coding-agent @earendil-works/pi-coding-agent",
    prints: "-p --print",
    others: "auth config install list remove uninstall update --export --list-models --no-session",
    continues: "-c --continue -r --resume --session",
    forks: "--fork",
    id: "--session-id",
  },
  shellVariables: { thread: "PI_SESSION_ID", marks: "PI_CODING_AGENT" },
  load: async () => (await import("./provider.ts")).provider,
};
