import type { LedgerLine } from "../../core/guard/ledger.ts";
import { type Limits, limitsSpending } from "../../core/guard/limits.ts";
import type { RunGuard, ToolCall, ToolDecision } from "../../core/ports/control.ts";
import type { Env } from "../home.ts";
import type { Interceptor } from "../runs/interception.ts";
import { decideCall, decideSpawn } from "./decide.ts";
import { addToLedger } from "./ledger-file.ts";
import { noteTrouble } from "./trouble.ts";

export interface RunGuarding {
  readonly interceptor: Interceptor;
  /** For every printed line. */
  onLine(line: string): void;
}

/**
 * Enforces limits on a wrapped command by its announced calls. Warnings go to `warn`: the model of a wrapped command
 * cannot be warned.
 */
export function guardRun(
  env: Env,
  limits: Limits,
  { provider, guard, warn }: { provider: string; guard: RunGuard; warn: (text: string) => void },
): RunGuarding {
  const decided = (call: ToolCall): ToolDecision => {
    const thread = { provider, thread: call.sessionId };
    const asked = {
      is: "spawn",
      call: call.callId,
      by: call.agentId,
      ...guard.spawnOf(call),
      callerDepth: null,
      process: null,
    } as const;
    const { verdict, isFirst } = call.isSpawn
      ? { verdict: decideSpawn(env, limits, { thread, cwd: call.cwd, asked, via: "run" }), isFirst: true }
      : decideCall(env, limits, { thread, cwd: call.cwd, by: call.agentId, call: call.callId, via: "run" });
    if (verdict.action === "warn" && isFirst) warn(verdict.exceeded.text);
    return verdict.action === "deny" ? { deny: verdict.exceeded.text } : "allow";
  };
  return {
    interceptor: { ...(limitsSpending(limits) ? {} : { spawnsOnly: true }), decide: decided },
    onLine(line) {
      const stated = guard.noticesIn(line);
      if (stated === null) return;
      try {
        for (const notice of stated.notices)
          addToLedger(env, { provider, thread: stated.thread }, { at: Date.now(), ...notice } satisfies LedgerLine);
      } catch (error) {
        noteTrouble(env, error as Error);
      }
    },
  };
}
