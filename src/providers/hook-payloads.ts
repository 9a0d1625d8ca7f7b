import * as claude from "./claude/hook-payload.ts";
import * as codex from "./codex/hook-payload.ts";

/**
 * Products whose hooks call us, most specific first. Separate from the list of providers, which takes too long to load
 * for a hook.
 */
export const HOOK_PAYLOADS = [
  { provider: "codex", ...codex },
  { provider: "claude", ...claude },
] as const;
