import type { Status } from "./agent.ts";
import type { LifecycleState } from "./observation.ts";
import type { Plan } from "./plan.ts";

/** A unit of work as people see it on a board. */
export const STAGES = ["queued", "working", "done", "failed"] as const;
export type Stage = (typeof STAGES)[number];

/** What is known of an agent of a card, as far as it matters to the card. */
export interface CardAgent {
  readonly status: Status;
  /** The last thing its parent's records say of it. */
  readonly lastSaid: LifecycleState | null;
}

/** A top-level thread of a card. */
export interface CardThread {
  readonly status: Status;
  /** Its own last sign of life; those of its agents do not count. */
  readonly lastAt: number | null;
  readonly plan: Plan | null;
  readonly activity: string | null;
  /** Everybody below it. */
  readonly below: readonly CardAgent[];
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  readonly current: string | null;
}

/** A card as everybody sees it. */
export interface Card {
  readonly id: string;
  readonly title: string;
  readonly stage: Stage;
  /** Whoever waits for a person, at any depth, the longest first. */
  readonly waiting: readonly Waiting[];
  readonly progress: Progress | null;
  /** URIs of its top-level threads. */
  readonly threads: readonly string[];
  /** Agents that are shown here because it is the only card that is worked on; nobody knows whose they are. */
  readonly inferred: readonly string[];
  readonly agents: { readonly total: number; readonly running: number };
  readonly createdAt: string;
  readonly lastActivityAt: string | null;
}

export interface Waiting {
  readonly uri: string;
  /** What people call the agent. */
  readonly agent: string;
  readonly for: string;
  readonly says: string;
  readonly since: string | null;
}

const isAtWork = (status: Status) => status === "running" || status === "pendingInit";
const hasFailed = (status: Status) => status === "errored" || status === "shutdown";
const ENDINGS: ReadonlySet<LifecycleState | null> = new Set(["completed", "errored", "shutdown"]);

/**
 * The stage follows from the top-level threads alone. Agents below can only delay that the card is done, and only those that somebody above still waits for:
 * one that its parent was told the end of, and that a person set to work again, moves nothing.
 * `queuedAt`: a person put it back then, and what its threads did before counts no more.
 */
export function stageOf(threads: readonly CardThread[], queuedAt: number | null = null): Stage {
  const begun = threads.filter(({ status, lastAt }) => status !== "notFound" && status !== "pendingInit" && (queuedAt === null || (lastAt ?? 0) > queuedAt));
  if (begun.length === 0) return "queued";
  if (begun.some(({ status }) => status === "running")) return "working";
  if (begun.some(({ status }) => hasFailed(status))) return "failed";
  return begun.some(isDelayed) ? "working" : "done";
}

export const isDelayed = ({ below }: CardThread) => below.some(({ status, lastSaid }) => isAtWork(status) && !ENDINGS.has(lastSaid));

/** How far the thread is that did something last, of those that wrote down a plan; else what the last one does. */
export function progressOf(threads: readonly CardThread[]): Progress | null {
  const newestFirst = threads.toSorted((a, b) => (b.lastAt ?? 0) - (a.lastAt ?? 0));
  const planned = newestFirst.find(({ plan }) => plan !== null && plan.length > 0);
  const plan = planned?.plan ?? [];
  const doing = plan.find(({ state }) => state === "doing")?.text ?? null;
  const current = doing ?? newestFirst.find(({ activity }) => activity !== null)?.activity ?? null;
  if (plan.length === 0 && current === null) return null;
  return { done: plan.filter(({ state }) => state === "done").length, total: plan.length, current };
}
