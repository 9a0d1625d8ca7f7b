/**
 * The only list of products: one line for each. Manifests are small, because hooks load them all; `loaded.ts` has the
 * providers.
 */
export { claude } from "./claude/manifest.ts";
export { cline } from "./cline/manifest.ts";
export { codex } from "./codex/manifest.ts";
export { copilot } from "./copilot/manifest.ts";
export { crush } from "./crush/manifest.ts";
export { droid } from "./droid/manifest.ts";
export { gemini } from "./gemini/manifest.ts";
export { goose } from "./goose/manifest.ts";
export { grok } from "./grok/manifest.ts";
export { kilo } from "./kilo/manifest.ts";
export { kimi } from "./kimi/manifest.ts";
export { letta } from "./letta/manifest.ts";
export { omp } from "./omp/manifest.ts";
export { opencode } from "./opencode/manifest.ts";
export { pi } from "./pi/manifest.ts";
export { qwen } from "./qwen/manifest.ts";
