import { opencodeLike } from "../kit/opencode/provider.ts";

/** Kilo 7.7, a fork of OpenCode with the same records. Sources of the format: docs/formats/kilo.md. */
export const kilo = opencodeLike({
  name: "kilo",
  product: "Kilo",
  vendor: "kilo",
  programs: ["kilo", "kilocode", "@kilocode/cli"],
  variable: "KILO",
  versions: /^(?:[4-9]|\d\d)\./,
  userAgent: /^Kilo-Code\/([\w.-]+)/,
});
