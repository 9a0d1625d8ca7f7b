import * as claude from "./claude/hook-payload.ts";
import * as codex from "./codex/hook-payload.ts";

/** Products whose hooks call us, the particular ones first. Apart from the list of providers, since loading all of those takes longer than a hook may. */
export const HOOK_PAYLOADS = [
  { provider: "codex", ...codex },
  { provider: "claude", ...claude },
] as const;
