import { hookEvents, jsonHookSettings } from "../kit/json-hook-settings.ts";

/** In seconds. The hook returns within milliseconds; this is only a safety limit. */
const TIMEOUT = 5;

export const hookSettings = jsonHookSettings(hookEvents("Agent|Task|Skill|Workflow|TaskStop"), TIMEOUT, "Bash");
