import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";

export const NAME = "codex";

export const codex: Manifest = {
  name: NAME,
  product: "Codex",
  versions: "0.99 to 0.169 (`codex exec`), both sub-agent systems",
  docs: "docs/formats/codex.md",
  hookPayload,
  commandLine: {
    names: "codex @openai/codex",
    runs: "exec e",
    others:
      "a app app-server apply cloud completion debug exec-server execpolicy features help login logout mcp mcp-server plugin responses-api-proxy sandbox update",
    continues: "resume",
    forks: "fork",
    folder: "-C --cd",
  },
  shellVariables: { thread: "CODEX_THREAD_ID", isAgent: true, call: "CODEX_TOOL_CALL_ID", marks: "CODEX_CI" },
  apiHeaders:
    "x-openai-subagent x-openai-internal-codex-responses-lite x-codex-beta-features x-codex-parent-thread-id x-codex-turn-metadata x-codex-window-id x-codex-installation-id",
  load: async () => (await import("./provider.ts")).provider,
};
