import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";

export const NAME = "qwen";

export const qwen: Manifest = {
  name: NAME,
  product: "Qwen Code",
  versions: "0.24",
  docs: "docs/formats/qwen.md",
  hookPayload,
  commandLine: {
    names: "qwen @qwen-code/qwen-code",
    prints: "-p --prompt",
    others: "auth board channel extensions hooks mcp review sandbox serve sessions update --acp --list-extensions -l",
    continues: "-c --continue -r --resume",
    forks: "--fork-session",
    id: "--session-id",
  },
  shellVariables: { thread: "QWEN_CODE_SESSION_ID", agent: "QWEN_CODE_AGENT_ID", marks: "QWEN_CODE" },
  load: async () => (await import("./provider.ts")).provider,
};
