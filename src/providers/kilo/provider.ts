import { opencodeLike } from "../kit/opencode/provider.ts";
import { kilo } from "./manifest.ts";

/** A fork of OpenCode with the same records. */
export const provider = opencodeLike(kilo, {
  vendor: "kilo",
  programs: ["kilo", "kilocode", "@kilocode/cli"],
  variable: "KILO",
  versions: /^(?:[4-9]|\d\d)\./,
  userAgent: /^Kilo-Code\/([\w.-]+)/,
});
