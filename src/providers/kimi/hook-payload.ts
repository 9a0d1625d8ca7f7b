/** Recognises hook payloads without parsing them. Imports only types, because the hook must return at once. */
import type { HookPayload } from "../../core/ports/manifest.ts";

/** The payloads name no transcript. */
export const hookPayload: HookPayload = {
  isHook: (field) => field("hook_event_name") !== null && /^kimi/.test(field("client_type") ?? ""),
  rootOf: () => null,
};
