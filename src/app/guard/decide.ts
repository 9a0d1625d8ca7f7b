/** Decides about spawns. Loads little, because hooks use it while an agent waits. */
import { bounded, Ledger, type LedgerLine, type SpawnAsked } from "../../core/guard/ledger.ts";
import {
  ALLOWED,
  decide,
  isLimited,
  type LimitSet,
  type Limits,
  limitsFor,
  type ThreadLimits,
  type Verdict,
} from "../../core/guard/limits.ts";
import { type Env, userHome } from "../home.ts";
import { addToLedger, type LedgerOf, ledgerOf, reachedBy, treeSeen, writeReached } from "./ledger-file.ts";
import { noteTrouble } from "./trouble.ts";

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
  const line = bounded({ at, ...asked });
  const { lines, isWhole } = linesAfter(env, thread, line);
  const tree = treeSeen(env, thread);
  const ledger = isWhole
    ? new Ledger(lines, inForce, tree)
    : new Ledger(lines, lasting(inForce), tree, reachedBy(env, thread));
  const verdict = ledger.verdictOf(line.call) ?? ALLOWED;
  if (verdict.action === "allow" || lines.some((one) => one.is === "decided" && one.call === line.call)) return verdict;
  noting(env, () => {
    if (verdict.action === "deny" && verdict.exceeded.limit === "agents") noteReached(env, thread, verdict.exceeded);
    addToLedger(env, thread, { at, is: "decided", call: line.call, via, ...verdict });
  });
  return verdict;
}

/**
 * The lines of a thread with a new one. If it cannot be added, or the others cannot be read, what the remaining ones
 * lack is unknown.
 */
function linesAfter(env: Env, thread: LedgerOf, line: LedgerLine) {
  try {
    return { lines: addToLedger(env, thread, line), isWhole: true };
  } catch (error) {
    noteTrouble(env, error as Error);
    return { lines: [...linesOf(env, thread).lines, line], isWhole: false };
  }
}

/** Limits on what does not fall again: what is exceeded by what is known is exceeded. */
function lasting({ thread, byType }: ThreadLimits): ThreadLimits {
  const only = ({ concurrent: _, minutes: _minutes, ...others }: LimitSet): LimitSet => others;
  return {
    thread: only(thread),
    byType: Object.fromEntries(Object.entries(byType).map(([type, set]) => [type, only(set)])),
  };
}

function noteReached(env: Env, thread: LedgerOf, { whose, used }: { whose: string | null; used: number }): void {
  const { agents, byType } = reachedBy(env, thread);
  const before = whose === null ? agents : Object.hasOwn(byType, whose) ? (byType[whose] ?? 0) : 0;
  if (used > before)
    writeReached(
      env,
      thread,
      whose === null ? { agents: used, byType } : { agents, byType: { ...byType, [whose]: used } },
    );
}

/** A decision holds also if it cannot be written down. */
function noting(env: Env, write: () => void): void {
  try {
    write();
  } catch (error) {
    noteTrouble(env, error as Error);
  }
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
  const all = limitsFor(limits, { product: thread.provider, cwd, home: userHome(env) });
  if (!isLimited(all)) return { verdict: ALLOWED, isFirst: false };
  const { lines, isWhole } = linesOf(env, thread);
  const inForce = isWhole ? all : lasting(all);
  const verdict = decide(inForce, new Ledger(lines, inForce, treeSeen(env, thread)).used(at, bounded(by)), {
    is: "call",
  });
  const { exceeded } = verdict;
  const isKnown = ({ is, ...line }: LedgerLine) =>
    is === "decided" &&
    "exceeded" in line &&
    line.action === verdict.action &&
    line.exceeded?.limit === exceeded?.limit &&
    line.exceeded?.whose === exceeded?.whose;
  const isFirst = exceeded !== null && !lines.some(isKnown);
  if (isFirst) noting(env, () => addToLedger(env, thread, { at, is: "decided", call, via, ...verdict }));
  return { verdict, isFirst };
}

function linesOf(env: Env, thread: LedgerOf) {
  try {
    return { lines: ledgerOf(env, thread), isWhole: true };
  } catch (error) {
    noteTrouble(env, error as Error);
    return { lines: [], isWhole: false };
  }
}
