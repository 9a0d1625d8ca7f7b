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
  load: async () => (await import("./provider.ts")).provider,
};
