/** Enforces limits in a hook. Loads little, because an agent waits for it. */
import { closeSync, readSync } from "node:fs";
import { hasLimits, type LimitAction, type Limits } from "../../core/guard/limits.ts";
import type { HookGuard } from "../../core/ports/manifest.ts";
import { asNonBlank, asObject, parseJson } from "../../core/tools/json.ts";
import { openRegular } from "../../transports/regular.ts";
import type { Env } from "../home.ts";
import { decideSpawn } from "./decide.ts";
import { addToLedger } from "./ledger-file.ts";
import { noteTrouble } from "./trouble.ts";

/** The first line of a Codex rollout has 23 kB and names the depth. */
const FILE_HEAD = 64 << 10;

/** A decision of a hook: what it prints, and what is recorded about it. */
export interface HookDecision {
  readonly call: string;
  readonly by: string | null;
  readonly action: LimitAction;
  readonly text: string;
  readonly output: string;
}

/** Null if the call may be made. Errors are noted for `retinue doctor`, and the call may be made. */
export function guardHook(
  payload: string,
  { provider, session, guard }: { provider: string; session: string; guard: HookGuard },
  limits: Limits,
  env: Env,
): HookDecision | null {
  try {
    if (!hasLimits(limits)) return null;
    const json = asObject(parseJson(payload)?.value);
    const notice = json === null ? null : guard.read(json, env);
    if (json === null || notice === null) return null;
    const thread = { provider, thread: session };
    if (notice.is !== "spawn") {
      addToLedger(env, thread, { at: Date.now(), ...notice });
      return null;
    }
    const { callerFile, ...asked } = notice;
    const callerDepth = callerFile === null ? null : (guard.depthIn?.(headOf(callerFile)) ?? null);
    const proposal = { thread, cwd: asNonBlank(json.cwd), asked: { ...asked, callerDepth }, via: "hook" } as const;
    const { action, exceeded } = decideSpawn(env, limits, proposal);
    if (action === "allow" || exceeded === null) return null;
    const { text } = exceeded;
    return { call: asked.call, by: asked.by, action, text, output: guard.output(action, text) };
  } catch (error) {
    noteTrouble(env, error as Error);
    return null;
  }
}

/** The beginning of a file; empty if it cannot be read. */
function headOf(path: string): string {
  try {
    const file = openRegular(path);
    try {
      const bytes = Buffer.alloc(FILE_HEAD);
      return bytes.toString("utf8", 0, readSync(file, bytes, 0, FILE_HEAD, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    // Not written yet, or by a version without it: the ledger knows the depth of most agents.
    return "";
  }
}
