import type { Manifest } from "../../core/ports/manifest.ts";
import { hookPayload } from "./hook-payload.ts";

export const NAME = "droid";

export const droid: Manifest = {
  name: NAME,
  product: "Factory Droid",
  versions: "0.225",
  docs: "docs/formats/droid.md",
  hookPayload,
  commandLine: {
    names: "droid @factory/cli",
    runs: "exec",
    others: "mcp plugin update",
    continues: "-s --session-id -r --resume",
    forks: "--fork",
    folder: "--cwd",
  },
  load: async () => (await import("./provider.ts")).provider,
};
