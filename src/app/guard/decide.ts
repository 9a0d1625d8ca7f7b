/** Decides about spawns. Loads little, because hooks use it while an agent waits. */
import { Ledger, type LedgerLine, type SpawnAsked } from "../../core/guard/ledger.ts";
import { ALLOWED, decide, isLimited, type Limits, limitsFor, type Verdict } from "../../core/guard/limits.ts";
import { type Env, userHome } from "../home.ts";
import { addToLedger, type LedgerOf, ledgerOf, treeSeen } from "./ledger-file.ts";

/** Where a spawn is enforced. */
export type Via = "hook" | "run" | "relay";

export interface SpawnProposal {
  readonly thread: LedgerOf;
  /** The folder of the thread. */
  readonly cwd: string | null;
  readonly asked: SpawnAsked;
  readonly via: Via;
  readonly at?: number;
}

/**
 * Reserves the spawn and decides about it. Several processes may ask at the same moment, also about the same call: each
 * call is counted once, and all get the same decision about it.
 */
export function decideSpawn(
  env: Env,
  limits: Limits,
  { thread, cwd, asked, via, at = Date.now() }: SpawnProposal,
): Verdict {
  const inForce = limitsFor(limits, { product: thread.provider, cwd, home: userHome(env) });
  if (!isLimited(inForce)) return ALLOWED;
  const lines = addToLedger(env, thread, { at, ...asked });
  const verdict = new Ledger(lines, inForce, treeSeen(env, thread)).verdictOf(asked.call) ?? ALLOWED;
  const isNew = !lines.some((line) => line.is === "decided" && line.call === asked.call);
  if (verdict.action !== "allow" && isNew)
    addToLedger(env, thread, { at, is: "decided", call: asked.call, via, ...verdict });
  return verdict;
}

export interface CallProposal extends Omit<SpawnProposal, "asked"> {
  readonly by: string | null;
  readonly call: string;
}

/** Decides about a call that spawns nothing. Each limit is noted once, the first time that it is exceeded. */
export function decideCall(
  env: Env,
  limits: Limits,
  { thread, cwd, by, call, via, at = Date.now() }: CallProposal,
): { readonly verdict: Verdict; readonly isFirst: boolean } {
  const inForce = limitsFor(limits, { product: thread.provider, cwd, home: userHome(env) });
  if (!isLimited(inForce)) return { verdict: ALLOWED, isFirst: false };
  const lines = ledgerOf(env, thread);
  const verdict = decide(inForce, new Ledger(lines, inForce, treeSeen(env, thread)).used(at, by), { is: "call" });
  const { exceeded } = verdict;
  const isKnown = ({ is, ...line }: LedgerLine) =>
    is === "decided" &&
    "exceeded" in line &&
    line.action === verdict.action &&
    line.exceeded?.limit === exceeded?.limit &&
    line.exceeded?.whose === exceeded?.whose;
  const isFirst = exceeded !== null && !lines.some(isKnown);
  if (isFirst) addToLedger(env, thread, { at, is: "decided", call, via, ...verdict });
  return { verdict, isFirst };
}
