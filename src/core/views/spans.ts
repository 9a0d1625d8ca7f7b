import type { AgentKey, CallKey, RecordKey } from "../facts/ids.ts";
import { byTime, type ObservationOf } from "../facts/observation.ts";
import { closedIn } from "../link/call-list.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../link/forest.ts";
import { callsOf } from "./messages.ts";
import { ModelTimes } from "./model-times.ts";
import { Pauses } from "./pauses.ts";
import { endOf } from "./record.ts";
import { BLANK, type Span } from "./span.ts";
import { GROUP, type SpanEdit, SpanList, slot } from "./span-list.ts";
import { type Child, ToolUses } from "./tool-uses.ts";

/**
 * The spans of an agent, by the times in its records: model calls, tool calls, and waiting. Every model and tool call
 * with a time is included once.
 */
export function spansOf(forest: Forest, key: AgentKey): Span[] {
  return new Timeline(forest, key).spans;
}

export interface Interval {
  readonly from: number;
  /** Null while it lasts. */
  readonly to: number | null;
}

/** The times of the same spans, by call, so that traces and pictures agree. */
export interface WorkTimes {
  /** By the response of a model call. */
  readonly calls: ReadonlyMap<RecordKey, Interval>;
  /** By the provider's id of a tool call. */
  readonly tools: ReadonlyMap<string, Interval>;
}

export function workTimes(forest: Forest, key: AgentKey): WorkTimes {
  return new Timeline(forest, key).times;
}

const KEPT = 16;

/**
 * The spans of one agent. Appended records are processed incrementally; of older ones only the spans and the hashes of
 * their names are kept.
 */
export class Timeline {
  readonly key: AgentKey;
  readonly #list = new SpanList();
  readonly #modelTimes: ModelTimes;
  readonly #tools: ToolUses;
  readonly #pauses = new Pauses(this.#list);
  readonly #now = slot(GROUP.now, 0);
  readonly #source: object;
  #last: ObservationOf<"record"> | undefined;
  #records: number;
  #isBroken = false;

  /** `kept`: of how many responses and tool calls everything is kept; of older ones only what cannot change. */
  constructor(forest: Forest, key: AgentKey, kept = KEPT) {
    this.#modelTimes = new ModelTimes(this.#list, kept);
    this.#tools = new ToolUses(this.#list, kept);
    const agent = agentOf(forest, key);
    this.key = key;
    this.#source = closedIn(agent.calls).keptIn;
    this.#records = agent.records;
    agent.stepsSince?.(agent.records);
    for (const step of agent.steps()) this.#add(step);
    this.#compute(forest, agent);
    this.#list.takeEdits();
  }

  get spans(): Span[] {
    return this.#list.spans;
  }

  get length(): number {
    return this.#list.length;
  }

  /** Number of spans computed so far. */
  get computed(): number {
    return this.#list.computed;
  }

  /** Valid only for a timeline that was not advanced. */
  get times(): WorkTimes {
    return { calls: new Map(this.#modelTimes.times()), tools: new Map(this.#tools.times()) };
  }

  /** Whether `advance` failed after it had changed the spans. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /**
   * Processes new records of the forest and returns the edits. Null if records were not just appended: then a new
   * timeline is needed.
   */
  advance(forest: Forest): readonly SpanEdit[] | null {
    const agent = agentOf(forest, this.key);
    const steps = closedIn(agent.calls).keptIn === this.#source ? agent.stepsSince?.(this.#records) : null;
    if (steps == null) return null;
    for (const step of steps.toSorted(byTime)) {
      if (this.#last !== undefined && byTime(step, this.#last) <= 0 && !this.#tools.acceptsLate(step)) return null;
      this.#add(step);
    }
    if (!this.#modelTimes.continuesWith(agent.calls) || this.#tools.mustRestart) return null;
    this.#records = agent.records;
    this.#compute(forest, agent);
    this.#isBroken = this.#modelTimes.mustRestart || this.#tools.mustRestart;
    if (this.#isBroken) return null;
    this.#modelTimes.settle();
    this.#tools.settle();
    return this.#list.takeEdits();
  }

  #add(step: ObservationOf<"record">) {
    this.#modelTimes.add(step);
    this.#tools.add(step);
    if (this.#last === undefined || byTime(this.#last, step) < 0) this.#last = step;
  }

  #compute(forest: Forest, agent: LinkedAgent): void {
    const isRunning = agent.verdict.status === "running";
    const children = agent.children.map((child) => childOf(agentOf(forest, child)));
    const { inputs } = this.#modelTimes;
    this.#modelTimes.assign(agent.calls);
    this.#modelTimes.compute();
    this.#tools.compute({
      children,
      isRunning,
      end: isRunning ? null : (endOf(agent) ?? agent.lastAt),
      waiting: agent.waiting,
    });
    this.#pauses.compute(
      inputs,
      children.length === 0 ? [] : [...children, ...lateDescendants(forest, agent)],
      isRunning,
    );
    this.#list.set(this.#now, isRunning && !this.#pauses.isWaiting ? this.#thinking() : null);
  }

  /** A running agent with an input and no running tool waits for the model. */
  #thinking(): Span | null {
    const since = this.#modelTimes.inputs.at(-1);
    if (since === undefined || this.#list.openCount > 0 || this.#modelTimes.done > since) return null;
    return { ...BLANK, kind: "model", from: since, to: null, name: null, end: null };
  }
}

/** The shell call that started a thread, also if that is inferred. */
function startedBy({ kind, evidence, parent }: LinkedAgent): readonly CallKey[] {
  const decided = kind === "external" ? evidence.find((one) => one.parent === parent) : undefined;
  return decided?.call == null ? [] : [decided.call];
}

function childOf(child: LinkedAgent): Child {
  const to = endOf(child);
  const reported = child.statements
    .filter((s) => s.state !== "launched" && s.state !== "revived")
    .flatMap((s) => s.at ?? []);
  return {
    uri: child.uri,
    calls: [
      ...new Set([
        ...(child.spawnCall === undefined ? [] : [child.spawnCall.call]),
        ...callsOf(child).map(({ call }) => call),
        ...startedBy(child),
      ]),
    ],
    to,
    ends: to === null ? reported : [...reported, to],
    isRunning: child.verdict.status === "running",
    background: child.background === true || child.statements.some((s) => s.state === "launched"),
  };
}

/** Agents further down that outlived their parent: they report to the thread. */
function lateDescendants(forest: Forest, thread: LinkedAgent): Child[] {
  if (thread.parent !== null) return [];
  return subtreeOf(forest, thread.key).flatMap((key) => {
    const agent = agentOf(forest, key);
    if (agent.parent === null || agent.parent === thread.key || key === thread.key) return [];
    const [own, above] = [childOf(agent), childOf(agentOf(forest, agent.parent))];
    return above.to !== null && (own.to ?? Number.POSITIVE_INFINITY) > above.to ? [own] : [];
  });
}
