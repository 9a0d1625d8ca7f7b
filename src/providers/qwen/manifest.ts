import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";

export const NAME = "qwen";

export const qwen: Manifest = {
  name: NAME,
  product: "Qwen Code",
  versions: "0.24",
  docs: "docs/formats/qwen.md",
  hookPayload,
  load: async () => (await import("./provider.ts")).provider,
};
