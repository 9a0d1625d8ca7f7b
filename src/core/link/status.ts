import type { LifecycleState, ObservationOf, RecordState, StatedSource } from "../facts/observation.ts";

export const STATUSES = ["pendingInit", "running", "completed", "errored", "shutdown", "notFound"] as const;
export type Status = (typeof STATUSES)[number];
export type StatusSource = StatedSource;

/** The status of an agent, its source, and the deciding fact in one line. */
export interface StatusVerdict {
  readonly status: Status;
  readonly statusSource: StatusSource;
  readonly statusReason: string;
  /** What a running agent does or waits for. */
  readonly activity: string | null;
}

/** The process of a thread, as known at this moment. */
export type ProcessView =
  | {
      readonly is: "alive";
      readonly who: string;
      readonly startedAt: number | null;
      readonly waitingFor: string | null;
    }
  | { readonly is: "gone"; readonly why: string }
  | { readonly is: "unknown" };

/** The agent's last own record that determines its state. */
export interface OwnState {
  /** Null if the product's records have no times. */
  readonly at: number | null;
  readonly state: RecordState;
  readonly certain: boolean;
  /** The product's text, if it records the state of the turn. */
  readonly turn: string | null;
  /** The product's error message. */
  readonly error: string | null;
}

export interface StatusInput {
  readonly own: OwnState | null;
  /** Lifecycle facts about it in other agents' records, oldest first. */
  readonly statements: readonly ObservationOf<"lifecycle">[];
  readonly process: ProcessView;
  /** Last activity of the agent or its subtree. */
  readonly lastActivity: number | null;
  /** What it does or waits for, if it is running. */
  readonly activity: string | null;
  /** Why none of its records are known, in case there are none. */
  readonly missing: string;
  readonly now: number;
  readonly staleAfterMs: number;
}

/** Tolerance between the clocks of parent and child rows. */
const GRACE_MS = 2_000;

const ENDS: ReadonlySet<LifecycleState> = new Set(["completed", "errored", "shutdown"]);

/**
 * `unconfirmed`: the source is not always right, and the agent's own records, which may still arrive, do not confirm
 * the end.
 */
export type Ending = "certain" | "unconfirmed";

export interface Decision {
  readonly verdict: StatusVerdict;
  /** How certain the end is; null if it has not ended, or if that is inferred from inactivity alone. */
  readonly ending: Ending | null;
}

export function decide(q: StatusInput): Decision {
  const last = q.statements.at(-1);
  const end = last !== undefined && ENDS.has(last.state) ? last : null;
  if (q.own === null) return end === null ? withoutRecords(q) : ended(end);
  if (end?.yields === true && q.own.state !== "open") return byOwnRecords(q, q.own);
  // If the product records the agent's turns, they decide; other statements count only for an open turn.
  if (q.own.turn !== null && q.own.state !== "open") return byOwnRecords(q, q.own);
  const grace = q.own.turn === null ? GRACE_MS : 0;
  if (end !== null && (q.own.at ?? Number.NEGATIVE_INFINITY) <= (end.at ?? Number.NEGATIVE_INFINITY) + grace) {
    // Claude Code 2.1.220: a background agent whose stream failed is reported as completed, with the API error as its
    // summary.
    if (end.state === "completed" && q.own.state === "failed")
      return over("errored", "child_rollout", `its last response is an API error, although ${end.says}`);
    return ended(end);
  }
  const revivedSince = last?.state === "revived" && (last.at ?? 0) > (q.own.at ?? 0);
  return revivedSince ? unfinished(q, last.says) : byOwnRecords(q, q.own);
}

function byOwnRecords(q: StatusInput, own: OwnState): Decision {
  switch (own.state) {
    case "answered": {
      if (own.turn !== null) return over("completed", "child_rollout", own.turn);
      const statement = q.statements.find((s) => s.source === "protocol" && s.state === "completed");
      if (statement !== undefined)
        return over("completed", "protocol", `its last response is complete, and ${statement.says}`);
      return own.certain
        ? over("completed", "child_rollout", "its last response is complete")
        : over(
            "completed",
            "inferred",
            "its last record is a response; this version does not record whether it was complete",
            "unconfirmed",
          );
    }
    case "failed":
      return over(
        "errored",
        "child_rollout",
        own.turn ?? (own.error === null ? "its last response is an API error" : `it failed: ${own.error}`),
      );
    case "interrupted":
      return over("shutdown", "child_rollout", own.turn ?? "it was interrupted by the user");
    case "open":
      return unfinished(q, own.turn ?? "its last response is incomplete");
    default:
      return own.state satisfies never;
  }
}

/**
 * The agent began and did not end: whether it is running depends on its process or, if that cannot be observed, on how
 * long it has written nothing.
 */
function unfinished(q: StatusInput, why: string): Decision {
  const stopped = stoppedBy(q.statements);
  if (stopped !== null) return over(stopped.state, "protocol", `${why}, and ${stopped.says}`);
  const silence = silenceOf(q);
  switch (q.process.is) {
    case "gone":
      return over("shutdown", "inferred", `${why}, and ${q.process.why}`);
    case "alive": {
      const { who, startedAt } = q.process;
      if (startedAt !== null && q.lastActivity !== null && startedAt > q.lastActivity + GRACE_MS)
        return over(
          "shutdown",
          "inferred",
          `${why}, and its process has ended: the present one (${who}) started later`,
        );
      return running("child_rollout", `${why}, and its process (${who}) is running`, q.activity);
    }
    case "unknown":
      return silence.stale
        ? over("shutdown", "inferred", `${why}, and ${silence.text}`, null)
        : running("inferred", `${why}, and ${silence.text}`, q.activity);
    default:
      return q.process satisfies never;
  }
}

/**
 * The product's statement that ends unfinished work. An error without a time cannot be compared with later work, so it
 * counts only if the agent was never put to work again.
 */
function stoppedBy(statements: StatusInput["statements"]) {
  const isRevived = statements.some((s) => s.state === "revived");
  const stopped = statements.find(
    (s) =>
      s.source === "protocol" &&
      (s.state === "shutdown" || (s.state === "errored" && s.at === null && s.yields !== true && !isRevived)),
  );
  return stopped === undefined
    ? null
    : { state: stopped.state === "errored" ? ("errored" as const) : ("shutdown" as const), says: stopped.says };
}

function withoutRecords(q: StatusInput): Decision {
  const silence = silenceOf(q);
  const mayStart = q.process.is === "alive" || (q.process.is === "unknown" && !silence.stale);
  return mayStart
    ? over("pendingInit", "parent_rollout", `${q.missing}; it may still begin`, null)
    : over("notFound", "inferred", q.missing, null);
}

const ended = ({ state, source, says, yields }: ObservationOf<"lifecycle">): Decision =>
  over(state as Status, source, says, yields === true ? "unconfirmed" : "certain");

const over = (
  status: Status,
  statusSource: StatusSource,
  statusReason: string,
  ending: Ending | null = "certain",
): Decision => ({ verdict: { status, statusSource, statusReason, activity: null }, ending });

const running = (statusSource: StatusSource, statusReason: string, activity: string | null): Decision => ({
  verdict: { status: "running", statusSource, statusReason, activity },
  ending: null,
});

/** The text names the time instead of a duration, because it may be stored and shown later. */
function silenceOf(q: StatusInput): { stale: boolean; text: string } {
  if (q.lastActivity === null) return { stale: true, text: "none of its records has a time" };
  const ms = Math.max(0, q.now - q.lastActivity);
  return { stale: ms > q.staleAfterMs, text: `nothing was written since ${new Date(q.lastActivity).toISOString()}` };
}
