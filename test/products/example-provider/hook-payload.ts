import type { HookPayload } from "../../../src/core/ports/manifest.ts";

export const hookPayload: HookPayload = {
  isHook: (field) => field("example_version") !== null,
  rootOf: (transcript) => /^([\s\S]+)[\\/]threads[\\/][^\\/]+\.jsonl$/.exec(transcript)?.[1] ?? null,
};
