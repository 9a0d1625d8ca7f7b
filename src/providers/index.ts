import type { Provider } from "../core/provider.ts";
import { claude } from "./claude/index.ts";
import { codex } from "./codex/index.ts";
import { copilot } from "./copilot/index.ts";
import { gemini } from "./gemini/index.ts";
import { opencode } from "./opencode/index.ts";
import { pi } from "./pi/index.ts";
import { run } from "./run/index.ts";

/** The only list of providers. */
export const PROVIDERS: readonly Provider[] = [claude, codex, opencode, gemini, copilot, pi, run];
