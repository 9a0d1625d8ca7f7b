import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";

export const NAME = "kimi";

export const kimi: Manifest = {
  name: NAME,
  product: "Kimi Code",
  versions: "2.1; the older Kimi CLI (Python) from its sources, not verified",
  docs: "docs/formats/kimi.md",
  hookPayload,
  load: async () => (await import("./provider.ts")).provider,
};
