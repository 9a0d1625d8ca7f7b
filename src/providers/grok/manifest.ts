import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";

export const NAME = "grok";

export const grok: Manifest = {
  name: NAME,
  product: "Grok Build",
  versions: "1.0",
  docs: "docs/formats/grok.md",
  hookPayload,
  commandLine: {
    names: "grok @xai-official/grok",
    prints: "-p --prompt",
    others: "agent completions export help login logout mcp models sessions update usage version",
    continues: "-c --continue -r --resume",
    forks: "--fork-session",
    folder: "--cwd",
  },
  shellVariables: { thread: "GROK_SESSION_ID", isAgent: true },
  apiHeaders:
    "x-grok-agent-id x-grok-client-identifier x-grok-client-mode x-grok-client-version x-grok-conv-group-id x-grok-conv-id x-grok-model-override x-grok-req-id x-grok-session-id x-grok-turn-idx",
  load: async () => (await import("./provider.ts")).provider,
};
