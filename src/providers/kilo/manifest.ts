import type { Manifest } from "../../core/ports/manifest.ts";

export const kilo: Manifest = {
  name: "kilo",
  product: "Kilo",
  versions: "7.7",
  docs: "docs/formats/kilo.md",
  forkOf: "opencode",
  commandLine: { names: "kilo kilocode @kilocode/cli" },
  shellVariables: { marks: "KILO KILO_PID" },
  load: async () => (await import("./provider.ts")).provider,
};
