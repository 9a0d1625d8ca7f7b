import type { Provider } from "../../core/ports/provider.ts";
import { gateOf } from "../kit/opencode/gate.ts";
import { opencodeLike } from "../kit/opencode/provider.ts";
import { opencode } from "./manifest.ts";

export const provider: Provider = {
  ...opencodeLike(opencode, {
    vendor: "opencode",
    programs: ["opencode", "opencode-ai"],
    variable: "OPENCODE",
    // Forks have higher versions.
    versions: /^(?!(?:[4-9]|\d\d)\.)/,
    userAgent: /^opencode\/([\w.-]+)/,
  }),
  gate: gateOf("OPENCODE"),
  skills: (env, home) => `${env.XDG_CONFIG_HOME || `${home}/.config`}/opencode/skills`,
};
