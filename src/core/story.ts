import type { AgentRecord } from "./agent.ts";
import type { AgentEvent } from "./event.ts";
import type { Redactor } from "./redaction.ts";
import type { Interval } from "./spans.ts";
import { foldTree } from "./tree-fold.ts";
import type { Tokens } from "./usage.ts";

/** An agent with everything it did and everybody below it: what exporters turn into somebody else's format. */
export interface Story {
  readonly record: AgentRecord;
  /** What people call its product. */
  readonly product: string;
  /** The same as an identifier, such as `some-product`. */
  readonly tracedAs: string;
  /** The call that made it and nobody else: it names the agent even before anything else is known of it. */
  readonly soleCall: string | null;
  /** What happened, in order of time. */
  readonly steps: readonly Step[];
  /** Every model call it made, and those the product made on its behalf: each one once. */
  readonly calls: readonly StoryCall[];
  /** What the product states that its thread used and no model call accounts for: in the sums of the record, and in no call. */
  readonly undivided: readonly Tokens[];
  /** When its tools were at work, by the ids of the calls. */
  readonly toolTimes: ReadonlyMap<string, Interval>;
  readonly children: readonly Story[];
  /** It has ended, and nothing more is expected in its records. */
  readonly isOver: boolean;
  /** A record states which call of its parent made it. */
  readonly isPlaced: boolean;
}

export interface Step {
  readonly event: AgentEvent;
  /** Names the step for good: copies of its record in forks and resumed sessions have the same. */
  readonly key: string;
  /** The model call it is a part of. */
  readonly call: string | null;
  /** URIs of the agents whose end it reports. */
  readonly reports: readonly string[];
  /** Only a recording of ours says so: the product's own record may still come, under another name. */
  readonly isProvisional: boolean;
}

export interface StoryCall {
  /** Made from the id that the provider gave the response. */
  readonly key: string;
  readonly at: number | null;
  /** When the model was at work on it; null where no record tells. */
  readonly time: Interval | null;
  readonly model: string;
  /** Whose model it is, where that is known. */
  readonly vendor: string | null;
  readonly tokens: Tokens;
  /** All that the model put out: what it thought included. */
  readonly allOutput: number;
  readonly costUsd: number | null;
  /** The product made it on its own behalf. */
  readonly isInternal: boolean;
  readonly wasCut: boolean;
}

/** The agent and everybody below it, parents first. */
export function* everyone(story: Story): Generator<Story> {
  for (const { one } of withDepths(story)) yield one;
}

/** The same, with how deep each stands. */
export function* withDepths(story: Story): Generator<{ readonly one: Story; readonly depth: number }> {
  const stack = [{ one: story, depth: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield next;
    for (const one of next.one.children.toReversed()) stack.push({ one, depth: next.depth + 1 });
  }
}

/** The story as it may leave the machine. */
export function redacted(story: Story, redactor: Redactor): Story {
  return foldTree<Story, Story>(
    story,
    ({ children }) => children,
    (one, children) => {
      const redact = redactor.events();
      return { ...one, record: redactor.agent(one.record), steps: one.steps.map((step) => ({ ...step, event: redact(step.event) })), children };
    },
  );
}
