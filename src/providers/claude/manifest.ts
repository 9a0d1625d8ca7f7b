import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";
import { statusLine } from "./statusline.ts";

export const NAME = "claude";

export const claude: Manifest = {
  name: NAME,
  product: "Claude Code",
  versions: "1.0.60 to 2.1.326",
  docs: "docs/formats/claude.md",
  hookPayload,
  statusLine,
  shellHook: async () => (await import("./shell-hook.ts")).nameAgentIn,
  commandLine: {
    names: "claude @anthropic-ai/claude-code",
    prints: "-p --print",
    others:
      "agents api-key auth auto-mode config doctor install mcp migrate-installer plugin plugins setup-token update upgrade",
    continues: "-c --continue -r --resume --from-pr --teleport",
    forks: "--fork-session",
    id: "--session-id",
  },
  shellVariables: { thread: "CLAUDE_CODE_SESSION_ID", marks: "CLAUDECODE" },
  apiHeaderPrefixes: "x-claude-code- x-claude-1p-",
  load: async () => (await import("./provider.ts")).provider,
};
