import type { Provider } from "../core/ports/provider.ts";
import { claude } from "./claude/index.ts";
import { codex } from "./codex/index.ts";
import { copilot } from "./copilot/index.ts";
import { gemini } from "./gemini/index.ts";
import { kilo } from "./kilo/index.ts";
import { opencode } from "./opencode/index.ts";
import { pi } from "./pi/index.ts";
import { proxyOf } from "./proxy/index.ts";
import { run } from "./run/index.ts";

/** Providers that read a product's own records. */
export const PRODUCTS: readonly Provider[] = [claude, codex, opencode, gemini, copilot, pi, kilo];

/** The only list of providers. */
export const PROVIDERS: readonly Provider[] = [...PRODUCTS, run, proxyOf(PRODUCTS)];
