import { opencodeLike } from "../kit/opencode/provider.ts";

/** OpenCode, 1.0 to 1.18. Sources of the format: docs/formats/opencode.md. */
export const opencode = opencodeLike({
  name: "opencode",
  product: "OpenCode",
  vendor: "opencode",
  programs: ["opencode", "opencode-ai"],
  variable: "OPENCODE",
  // Forks have higher versions.
  versions: /^(?!(?:[4-9]|\d\d)\.)/,
  userAgent: /^opencode\/([\w.-]+)/,
});
