import { opencodeLike } from "../kit/opencode/provider.ts";
import { opencode } from "./manifest.ts";

export const provider = opencodeLike(opencode, {
  vendor: "opencode",
  programs: ["opencode", "opencode-ai"],
  variable: "OPENCODE",
  // Forks have higher versions.
  versions: /^(?!(?:[4-9]|\d\d)\.)/,
  userAgent: /^opencode\/([\w.-]+)/,
});
