import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";

export const NAME = "kimi";

export const kimi: Manifest = {
  name: NAME,
  product: "Kimi Code",
  versions: "2.1; the older Kimi CLI (Python) from its sources, not verified",
  docs: "docs/formats/kimi.md",
  hookPayload,
  commandLine: {
    names: "kimi kimi-code kimi-cli @moonshot-ai/kimi-code",
    prints: "-p --prompt --print",
    others: "acp doctor export fork info login logout mcp migrate provider server session term vis web",
    continues: "-c --continue -C -r --resume -S --session",
    folder: "-w --work-dir",
  },
  load: async () => (await import("./provider.ts")).provider,
};
