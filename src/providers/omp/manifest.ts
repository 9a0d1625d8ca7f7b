import type { Manifest } from "../../core/ports/manifest.ts";

export const NAME = "omp";

export const omp: Manifest = {
  name: NAME,
  product: "oh-my-pi",
  versions: "18.2",
  docs: "docs/formats/omp.md",
  forkOf: "pi",
  commandLine: { names: "omp @oh-my-pi/pi-coding-agent" },
  shellVariables: { marks: "OMPCODE" },
  load: async () => (await import("./provider.ts")).provider,
};
