import type { Provider } from "../core/provider.ts";
import { claude } from "./claude/index.ts";
import { codex } from "./codex/index.ts";
import { opencode } from "./opencode/index.ts";

/** The only list of providers. */
export const PROVIDERS: readonly Provider[] = [claude, codex, opencode];
