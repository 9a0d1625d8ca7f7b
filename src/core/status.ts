import type { StatusVerdict } from "./agent.ts";
import type { LifecycleState, ObservationOf, Stand } from "./observation.ts";

/** What is known of the operating-system process behind a thread, at this moment. */
export type ProcessView =
  | { readonly is: "alive"; readonly who: string; readonly startedAt: number | null; readonly waitingFor: string | null }
  | { readonly is: "gone"; readonly why: string }
  | { readonly is: "unknown" };

/** The last record of its own that says how an agent stands. */
export interface OwnStand {
  /** Null where the product's records carry no times. */
  readonly at: number | null;
  readonly stands: Stand;
  readonly certain: boolean;
  /** In the product's words, where it is the product that says so. */
  readonly turn: string | null;
  /** What went wrong, in the product's words. */
  readonly error: string | null;
}

export interface StatusQuestion {
  readonly own: OwnStand | null;
  /** All that others say of it, oldest first. */
  readonly statements: readonly ObservationOf<"lifecycle">[];
  readonly process: ProcessView;
  /** Last sign of life of the agent or of anybody below it. */
  readonly lastActivity: number | null;
  readonly doing: string | null;
  /** Why nothing of its own is known, when nothing is. */
  readonly missing: string;
  readonly now: number;
  readonly staleAfterMs: number;
}

/** Clocks of parent and child rows differ by the time a row takes to be written. */
const GRACE_MS = 2_000;

const ENDS: ReadonlySet<LifecycleState> = new Set(["completed", "errored", "shutdown"]);

/** `unconfirmed`: whoever says so is wrong at times, and the agent's own records, which may still be on their way, do not say how it ended. */
export type Ending = "certain" | "unconfirmed";

export interface Decision {
  readonly verdict: StatusVerdict;
  /** How sure it is that it ended so; null where it has not ended, or where that is concluded from silence alone. */
  readonly ending: Ending | null;
}

export const decideStatus = (q: StatusQuestion): StatusVerdict => decide(q).verdict;

export function decide(q: StatusQuestion): Decision {
  const last = q.statements.at(-1);
  const end = last !== undefined && ENDS.has(last.state) ? last : null;
  if (q.own === null) return end === null ? unseen(q) : ended(end);
  if (end?.yields === true && q.own.stands !== "open") return byOwnRecords(q, q.own);
  // Where the product writes down the agent's turns, these tell how it ended; others are asked only about a turn that never did.
  if (q.own.turn !== null && q.own.stands !== "open") return byOwnRecords(q, q.own);
  const grace = q.own.turn === null ? GRACE_MS : 0;
  if (end !== null && (q.own.at ?? Number.NEGATIVE_INFINITY) <= (end.at ?? Number.NEGATIVE_INFINITY) + grace) {
    // Seen with 2.1.220: a background agent whose stream died is reported as completed, with the API error as its summary.
    if (end.state === "completed" && q.own.stands === "failed")
      return over("errored", "child_rollout", `its last answer is an API error, although ${end.says}`);
    return ended(end);
  }
  const revivedSince = last?.state === "revived" && (last.at ?? 0) > (q.own.at ?? 0);
  return revivedSince ? unfinished(q, last.says) : byOwnRecords(q, q.own);
}

function byOwnRecords(q: StatusQuestion, own: OwnStand): Decision {
  switch (own.stands) {
    case "answered": {
      if (own.turn !== null) return over("completed", "child_rollout", own.turn);
      const word = q.statements.find((s) => s.source === "protocol" && s.state === "completed");
      if (word !== undefined) return over("completed", "protocol", `its last answer is finished, and ${word.says}`);
      return own.certain
        ? over("completed", "child_rollout", "its last answer is finished")
        : over("completed", "inferred", "its last record is an answer; this version does not record whether it was finished", "unconfirmed");
    }
    case "failed":
      return over("errored", "child_rollout", own.turn ?? (own.error === null ? "its last answer is an API error" : `it failed: ${own.error}`));
    case "interrupted":
      return over("shutdown", "child_rollout", own.turn ?? "it was interrupted by the user");
    case "open":
      return unfinished(q, own.turn ?? "its last answer is not finished");
    default:
      return own.stands satisfies never;
  }
}

/** It has begun and not ended: whether it still runs depends on its process, or, where that cannot be seen, on how long it has been silent. */
function unfinished(q: StatusQuestion, why: string): Decision {
  // Such a word carries no time, so it cannot end what went on after it; but it does end what was left unfinished.
  const stopped = q.statements.find((s) => s.source === "protocol" && s.state === "shutdown");
  if (stopped !== undefined) return over("shutdown", "protocol", `${why}, and ${stopped.says}`);
  const silence = silenceOf(q);
  switch (q.process.is) {
    case "gone":
      return over("shutdown", "inferred", `${why}, and ${q.process.why}`);
    case "alive": {
      const { who, startedAt } = q.process;
      if (startedAt !== null && q.lastActivity !== null && startedAt > q.lastActivity + GRACE_MS)
        return over("shutdown", "inferred", `${why}, and the process that ran it is gone: the present one (${who}) began later`);
      return running("child_rollout", `${why}, and its process (${who}) is alive`, q.doing);
    }
    case "unknown":
      return silence.stale ? over("shutdown", "inferred", `${why}, and ${silence.words}`, null) : running("inferred", `${why}, and ${silence.words}`, q.doing);
    default:
      return q.process satisfies never;
  }
}

function unseen(q: StatusQuestion): Decision {
  const silence = silenceOf(q);
  const mayStart = q.process.is === "alive" || (q.process.is === "unknown" && !silence.stale);
  return mayStart ? over("pendingInit", "parent_rollout", `${q.missing}; it may still begin`, null) : over("notFound", "inferred", q.missing, null);
}

function ended(end: ObservationOf<"lifecycle">): Decision {
  return over(end.state as StatusVerdict["status"], end.source, end.says, end.yields === true ? "unconfirmed" : "certain");
}

const over = (
  status: StatusVerdict["status"],
  statusSource: StatusVerdict["statusSource"],
  statusReason: string,
  ending: Ending | null = "certain",
): Decision => ({ verdict: { status, statusSource, statusReason, activity: null }, ending });

const running = (statusSource: StatusVerdict["statusSource"], statusReason: string, activity: string | null): Decision => ({
  verdict: { status: "running", statusSource, statusReason, activity },
  ending: null,
});

/** In words that stay true: the answer may be kept and shown later. */
function silenceOf(q: StatusQuestion): { stale: boolean; words: string } {
  if (q.lastActivity === null) return { stale: true, words: "no record of it carries a time" };
  const ms = Math.max(0, q.now - q.lastActivity);
  return { stale: ms > q.staleAfterMs, words: `nothing was written since ${new Date(q.lastActivity).toISOString()}` };
}
