import type { Tokens } from "../facts/usage.ts";
import type { AgentRecord } from "./agent.ts";
import type { AgentEvent } from "./event.ts";
import type { Interval } from "./spans.ts";

/** The input of exporters: an agent with all its events and model calls, and its subtree. */
export interface Story {
  readonly record: AgentRecord;
  /** The product's name. */
  readonly product: string;
  /** The same as an identifier, such as `some-product`. */
  readonly tracedAs: string;
  /** The call that spawned only this agent: identifies it even before anything else is known. */
  readonly soleCall: string | null;
  /** Events in order of time. */
  readonly steps: readonly Step[];
  /** All its model calls and its internal ones, each once. */
  readonly calls: readonly StoryCall[];
  /** Usage that the product states for the thread without a model call: in the sums of the record only. */
  readonly undivided: readonly Tokens[];
  /** When its tools were running, by call id. */
  readonly toolTimes: ReadonlyMap<string, Interval>;
  readonly children: readonly Story[];
  /** It has ended, and its records are complete. */
  readonly isOver: boolean;
  /** A record states which call of its parent spawned it. */
  readonly isPlaced: boolean;
}

export interface Step {
  readonly event: AgentEvent;
  /** Identifies the step permanently: copies of its record in forks and resumed sessions have the same key. */
  readonly key: string;
  /** The model call it belongs to. */
  readonly call: string | null;
  /** URIs of the agents whose end it reports. */
  readonly reports: readonly string[];
  /** Only in a recording: the product's own record may still arrive, under another key. */
  readonly isProvisional: boolean;
}

export interface StoryCall {
  /** Derived from the provider's id of the response. */
  readonly key: string;
  readonly at: number | null;
  /** When the model was working on it; null if unknown. */
  readonly time: Interval | null;
  readonly model: string;
  /** The vendor of the model, if known. */
  readonly vendor: string | null;
  readonly tokens: Tokens;
  /** All output, including reasoning. */
  readonly allOutput: number;
  readonly costUsd: number | null;
  /** An internal call of the product. */
  readonly isInternal: boolean;
  readonly wasCut: boolean;
}

/** The part of a story that findings and files are computed from. */
export interface StoryCore {
  readonly record: AgentRecord;
  readonly steps: readonly StepCore[];
  readonly calls: readonly CallCore[];
  readonly children: readonly StoryCore[];
}
export type StepCore = Pick<Step, "event" | "call" | "reports">;
export type CallCore = Omit<StoryCall, "allOutput" | "wasCut">;

interface Branching<S> {
  readonly children: readonly S[];
}

/** The agent and its subtree, parents first. */
export function* everyone<S extends Branching<S>>(story: S): Generator<S> {
  for (const { one } of withDepths(story)) yield one;
}

/** The same with depths. */
export function* withDepths<S extends Branching<S>>(story: S): Generator<{ readonly one: S; readonly depth: number }> {
  const stack = [{ one: story, depth: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield next;
    for (const one of next.one.children.toReversed()) stack.push({ one, depth: next.depth + 1 });
  }
}
