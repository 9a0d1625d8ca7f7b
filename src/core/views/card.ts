import type { LifecycleState } from "../facts/observation.ts";
import type { Plan } from "../facts/plan.ts";
import type { Status } from "../link/status.ts";

export const STAGES = ["queued", "working", "done", "failed"] as const;
export type Stage = (typeof STAGES)[number];

/** The fields of an agent that a card depends on. */
export interface CardAgent {
  readonly status: Status;
  /** The last state that its parent's records report. */
  readonly lastReported: LifecycleState | null;
}

/** A top-level thread of a card. */
export interface CardThread {
  readonly status: Status;
  /** Its own last activity, without that of its agents. */
  readonly lastAt: number | null;
  readonly plan: Plan | null;
  readonly activity: string | null;
  /** All agents below it. */
  readonly below: readonly CardAgent[];
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly current: string | null;
}

/** The public form of a card. */
export interface Card {
  readonly id: string;
  readonly title: string;
  readonly stage: Stage;
  /** Agents at any depth that wait for a person, longest first. */
  readonly waiting: readonly Waiting[];
  readonly progress: Progress | null;
  /** URIs of its top-level threads. */
  readonly threads: readonly string[];
  /** Agents assigned by a guess, because this is the only active card. */
  readonly inferred: readonly string[];
  readonly agents: { readonly total: number; readonly running: number };
  readonly createdAt: string;
  readonly lastActivityAt: string | null;
}

export interface Waiting {
  readonly uri: string;
  /** Display name of the agent. */
  readonly agent: string;
  readonly for: string;
  readonly says: string;
  readonly since: string | null;
}

const isAtWork = (status: Status) => status === "running" || status === "pendingInit";
const hasFailed = (status: Status) => status === "errored" || status === "shutdown";
const ENDINGS: ReadonlySet<LifecycleState | null> = new Set(["completed", "errored", "shutdown"]);

/**
 * The stage is derived from the top-level threads. Agents below can only delay `done`, and only those whose end was not
 * reported to their parent yet.
 * `queuedAt`: when a user queued the card again; earlier activity does not count.
 */
export function stageOf(threads: readonly CardThread[], queuedAt: number | null = null): Stage {
  const begun = threads.filter(
    ({ status, lastAt }) =>
      status !== "notFound" && status !== "pendingInit" && (queuedAt === null || (lastAt ?? 0) > queuedAt),
  );
  if (begun.length === 0) return "queued";
  if (begun.some(({ status }) => status === "running")) return "working";
  if (begun.some(({ status }) => hasFailed(status))) return "failed";
  return begun.some(isDelayed) ? "working" : "done";
}

const isDelayed = ({ below }: CardThread) =>
  below.some(({ status, lastReported }) => isAtWork(status) && !ENDINGS.has(lastReported));

/** The progress of the most recently active thread with a plan; else the activity of the last one. */
export function progressOf(threads: readonly CardThread[]): Progress | null {
  const newestFirst = threads.toSorted((a, b) => (b.lastAt ?? 0) - (a.lastAt ?? 0));
  const planned = newestFirst.find(({ plan }) => plan !== null && plan.length > 0);
  const plan = planned?.plan ?? [];
  const doing = plan.find(({ state }) => state === "doing")?.text ?? null;
  const current = doing ?? newestFirst.find(({ activity }) => activity !== null)?.activity ?? null;
  if (plan.length === 0 && current === null) return null;
  return { done: plan.filter(({ state }) => state === "done").length, total: plan.length, current };
}
