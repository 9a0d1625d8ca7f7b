import { everyone, type Step, type Story, type StoryCall } from "../../core/views/story.ts";
import { messagesOf, outputOf } from "./messages.ts";
import type { Span, SpanTool, Trace } from "./span.ts";
import { isMessage, type Turn, timeOf, turnsOf } from "./turns.ts";

/**
 * The traces of a thread, one per turn: model and tool calls as siblings, agents below the calls that spawned them, at
 * any depth.
 */
export function tracesOf(thread: Story): Trace[] {
  const turns = turnsOf(thread);
  const places = callsIn(turns);
  const callers = callersIn(thread);
  return turns.map((turn, i) => {
    const next = turns[i + 1]?.start ?? Number.POSITIVE_INFINITY;
    return new TraceBuilder(callers).turn(thread, turn, { next, isFirst: i === 0, ...places });
  });
}

/** The turn of each tool call and model call. */
const callsIn = (turns: readonly Turn[]) => ({
  tools: new Map(
    turns.flatMap((turn) =>
      turn.steps.flatMap(({ event }) => (event.tool === null ? [] : [[event.tool.callId, turn.number] as const])),
    ),
  ),
  calls: new Map(
    turns.flatMap((turn) => turn.steps.flatMap(({ call }) => (call === null ? [] : [[call, turn.number] as const]))),
  ),
});

/** The agent that made each tool call. A fork may contain the result of a call that it did not make. */
function callersIn(thread: Story): ReadonlyMap<string, string> {
  const calls = [...everyone(thread)].flatMap(({ record, steps }) =>
    steps.flatMap(({ event: { kind, tool } }) =>
      kind === "toolCall" && tool !== null ? [[tool.callId, record.uri] as const] : [],
    ),
  );
  return new Map(calls.reverse());
}

interface TurnPlace {
  /** Start of the next turn. */
  readonly next: number;
  readonly isFirst: boolean;
  readonly tools: ReadonlyMap<string, number>;
  readonly calls: ReadonlyMap<string, number>;
}

/** A span under construction. */
type Draft = { -readonly [K in keyof Span]: Span[K] };

interface Pending {
  readonly child: Story;
  readonly parent: Draft;
  readonly isPlaced: boolean;
}

class TraceBuilder {
  readonly #spans: Draft[] = [];
  readonly #callers: ReadonlyMap<string, string>;
  readonly #pending: Pending[] = [];

  constructor(callers: ReadonlyMap<string, string>) {
    this.#callers = callers;
  }

  turn(thread: Story, turn: Turn, { next, isFirst, tools, calls }: TurnPlace): Trace {
    const { record } = thread;
    // Spans without a record in the thread are assigned to a turn by time.
    const isOfTime = (at: number | null) => (at === null ? isFirst : (isFirst || at >= turn.start) && at < next);
    const isLast = next === Number.POSITIVE_INFINITY;
    const root = this.#add({
      ...blank(thread, null, turn.number, turn.start),
      key: `turn:${turn.key}`,
      kind: "turn",
      isCertain: thread.isOver || turn.steps[0]?.isProvisional === false,
      input: messagesOf(turn.inputs),
      reportedAgents: turn.inputs.flatMap(({ reports }) => reports),
      error: isLast ? failureOf(record.status, record.statusReason) : null,
    });
    const isOwnCall = ({ key, at }: StoryCall) =>
      (calls.get(key) ?? (isOfTime(at) ? turn.number : null)) === turn.number;
    const isOwnChild = ({ record: { link, startedAt } }: Story) => {
      const of = link?.toolCallId == null ? undefined : tools.get(link.toolCallId);
      return (of ?? (isOfTime(startedAt === null ? null : Date.parse(startedAt)) ? turn.number : null)) === turn.number;
    };
    const steps = turn.steps.slice(turn.inputs.length);
    this.#work(
      root,
      steps,
      turn.inputs,
      thread.calls.filter(isOwnCall),
      thread.children.filter(isOwnChild),
      isLast && !thread.isOver,
    );
    this.#agents();
    root.output = lastOutput(steps);
    if (!isLast) root.error = interruptionOf(steps, this.#spans);
    return finished(root, this.#spans, isLast && !thread.isOver ? new Set([root]) : new Set());
  }

  /** The spans directly below a turn or an agent. */
  #work(
    parent: Draft,
    steps: readonly Step[],
    before: readonly Step[],
    calls: readonly StoryCall[],
    children: readonly Story[],
    open: boolean,
  ) {
    const latest = (at: number | null) => {
      if (at !== null) parent.ownEnd = Math.max(parent.ownEnd ?? at, at);
    };
    for (const step of steps) latest(timeOf(step));
    if (parent.kind === "agent")
      for (const step of steps.filter(({ event }) => event.kind === "user")) this.#add(promptOf(step, parent));
    this.#calls(parent, steps, before, calls, open);
    const tools = this.#tools(parent, steps, open);
    for (const step of steps.filter(({ event }) => event.kind === "compaction")) this.#add(compactionOf(step, parent));
    parent.marks = steps.flatMap((step) =>
      step.event.kind === "error" ? [{ at: timeOf(step) ?? parent.start, text: step.event.text ?? "error" }] : [],
    );
    for (const child of children.toReversed()) {
      const spawn = child.record.link?.toolCallId == null ? undefined : tools.get(child.record.link.toolCallId);
      this.#pending.push({
        child,
        parent: spawn ?? parent,
        isPlaced: (spawn !== undefined && child.isPlaced) || (child.isOver && parent.story.isOver),
      });
    }
  }

  /** All agents below, depth first. Uses an explicit stack, because the depth is unlimited. */
  #agents() {
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) this.#agent(next);
  }

  #agent({ child, parent, isPlaced }: Pending) {
    const { record } = child;
    const startedAt = record.startedAt === null ? parent.start : Date.parse(record.startedAt);
    // The call exists before the agent's own records, so its time is stable.
    const start = parent.kind === "tool" ? parent.start : startedAt;
    const agent = this.#add({
      ...blank(child, parent, parent.turn, start),
      key: agentKeyOf(child),
      kind: "agent",
      isCertain: parent.isCertain && isPlaced,
      input: record.prompt === null ? [] : [{ role: "user", text: record.prompt }],
      output: record.result === null ? [] : [{ role: "assistant", text: record.result }],
      error: failureOf(record.status, record.statusReason),
    });
    const steps = child.steps.filter(isMessage);
    const ended = record.endedAt ?? record.lastActivityAt ?? record.startedAt;
    agent.ownEnd = ended === null ? agent.start : Date.parse(ended);
    this.#work(agent, steps, [], child.calls, child.children, !child.isOver);
    if (agent.output.length === 0) agent.output = lastOutput(steps);
  }

  #calls(parent: Draft, steps: readonly Step[], before: readonly Step[], calls: readonly StoryCall[], open: boolean) {
    const byCall = Map.groupBy(
      steps.filter(
        ({ event }) => event.kind === "assistant" || event.kind === "reasoning" || event.kind === "toolCall",
      ),
      ({ call, key }) => call ?? `~${key}`,
    );
    const known = new Map(calls.map((call) => [call.key, call]));
    const lastCall = steps.findLast(({ call }) => call !== null);
    let input: Step[] = [...before];
    let since = parent.start;
    const seen = new Set<string>();
    for (const step of steps) {
      const name = step.call ?? `~${step.key}`;
      const response = byCall.get(name);
      if (response === undefined) {
        input.push(step);
        since = Math.max(since, timeOf(step) ?? since);
        continue;
      }
      if (seen.has(name)) continue;
      seen.add(name);
      // A response may still grow until something follows it.
      const grows = open && step.call !== null && step.call === lastCall?.call && steps.at(-1)?.call === step.call;
      const call = known.get(name) ?? null;
      if (call !== null || response.some(({ event }) => event.kind === "assistant"))
        this.#add(callOf(parent, call, name, response, { input, since, grows }));
      input = [];
      since = Math.max(since, ...response.map((one) => timeOf(one) ?? since));
    }
    for (const call of calls.filter(({ key }) => !seen.has(key)))
      this.#add(callOf(parent, call, call.key, [], { input: [], since: call.at ?? since, grows: false }));
  }

  #tools(parent: Draft, steps: readonly Step[], open: boolean): ReadonlyMap<string, Draft> {
    const tools = new Map<string, Draft>();
    for (const step of steps) {
      const { tool, kind, text } = step.event;
      if (tool === null) continue;
      const { uri } = parent.story.record;
      const known = tools.get(tool.callId);
      if (known === undefined && kind === "toolResult" && (this.#callers.get(tool.callId) ?? uri) !== uri) continue;
      const at = timeOf(step) ?? parent.start;
      if (known === undefined) tools.set(tool.callId, this.#add(toolOf(parent, step, tool.callId, open)));
      if (kind !== "toolResult") continue;
      const span = tools.get(tool.callId) as Draft;
      span.ownEnd = Math.max(parent.story.toolTimes.get(tool.callId)?.to ?? at, span.start);
      span.tool = { ...(span.tool as SpanTool), output: text };
      span.error = tool.isError ? (text ?? "the tool reported an error") : null;
      span.output = messagesOf([step]);
    }
    return tools;
  }

  #add(span: Draft): Draft {
    this.#spans.push(span);
    return span;
  }
}

/** A stable name of an agent, independent of its thread and of when its records appear. */
function agentKeyOf({ record: { provider, sessionId, agentId, parent }, soleCall }: Story): string {
  if (soleCall !== null) return `agent of:${provider}:${uniqueId(soleCall, parent ?? sessionId)}`;
  return `agent:${provider}:${agentId === null ? sessionId : uniqueId(agentId, sessionId)}`;
}

/** Native ids are long and unique; short ones are unique only within their parent. */
const uniqueId = (id: string, within: string) => (id.length >= 16 ? id : `${within}/${id}`);

function failureOf(status: Story["record"]["status"], reason: string): string | null {
  const failure = {
    errored: "failed",
    shutdown: "interrupted",
    notFound: "no record of it",
    running: null,
    pendingInit: null,
    completed: null,
  }[status];
  return failure === null ? null : reason === "" ? failure : `${failure}: ${reason}`;
}

/** How a turn ended that has a successor, if not by a response. */
function interruptionOf(steps: readonly Step[], spans: readonly Span[]): string | null {
  const last = steps.at(-1)?.event;
  if (last?.kind === "error") return last.text ?? "failed";
  return spans.some(
    ({ kind, parent, error }) =>
      parent?.kind === "turn" && kind !== "agent" && error?.startsWith("interrupted") === true,
  )
    ? "interrupted"
    : null;
}

function blank(story: Story, parent: Span | null, turn: number, start: number): Draft {
  const from = Math.max(start, parent?.start ?? start);
  return {
    key: "",
    kind: "message",
    parent,
    story,
    turn,
    start: from,
    born: start,
    end: null,
    isCertain: parent?.isCertain ?? false,
    ownEnd: null,
    input: [],
    output: [],
    call: null,
    tool: null,
    error: null,
    marks: [],
    reportedAgents: [],
  };
}

function promptOf(step: Step, parent: Span): Draft {
  const span = blank(parent.story, parent, parent.turn, timeOf(step) ?? parent.start);
  return {
    ...span,
    key: `prompt:${step.key}`,
    kind: "prompt",
    isCertain: isCertainIn(parent, [step]),
    input: messagesOf([step]),
    ownEnd: span.start,
  };
}

function compactionOf(step: Step, parent: Span): Draft {
  const span = blank(parent.story, parent, parent.turn, timeOf(step) ?? parent.start);
  return {
    ...span,
    key: `compaction:${step.key}`,
    kind: "compaction",
    isCertain: isCertainIn(parent, [step]),
    output: messagesOf([step]),
    ownEnd: span.start,
  };
}

/** Spans are final once the product's own records contain them; others once the agent is complete. */
const isCertainIn = (parent: Span, steps: readonly Step[]) =>
  parent.isCertain && (parent.story.isOver || (steps.length > 0 && steps.every(({ isProvisional }) => !isProvisional)));

interface CallContext {
  readonly input: readonly Step[];
  readonly since: number;
  readonly grows: boolean;
}

function callOf(
  parent: Span,
  call: StoryCall | null,
  name: string,
  response: readonly Step[],
  { input, since, grows }: CallContext,
): Draft {
  const times = response.flatMap((step) => timeOf(step) ?? []);
  const last = call?.time?.to ?? Math.max(call?.at ?? since, ...times);
  const start = call?.time?.from ?? Math.min(since, last);
  return {
    ...blank(parent.story, parent, parent.turn, start),
    key: `call:${name}`,
    kind: call === null ? "message" : "call",
    // A step that names its model call is not a plain message, even if the call has not been counted yet.
    isCertain:
      isCertainIn(parent, response) &&
      (call !== null || parent.story.isOver || response.every((step) => step.call === null)),
    born: call?.at ?? times[0] ?? start,
    ownEnd: grows ? null : Math.max(last, parent.start),
    input: messagesOf(input),
    output: outputOf(response),
    call,
    error: call?.wasCut === true ? "interrupted: the response is incomplete" : null,
  };
}

function toolOf(parent: Span, step: Step, callId: string, open: boolean): Draft {
  const { event } = step;
  const { record } = parent.story;
  const span = blank(
    parent.story,
    parent,
    parent.turn,
    parent.story.toolTimes.get(callId)?.from ?? timeOf(step) ?? parent.start,
  );
  return {
    ...span,
    key: `tool:${record.provider}:${uniqueId(callId, `${record.sessionId}/${record.agentId ?? ""}`)}`,
    kind: "tool",
    isCertain: isCertainIn(parent, [step]),
    // The result may still arrive while the agent is running.
    ownEnd: open ? null : span.start,
    tool: {
      name: event.tool?.name ?? "tool",
      callId,
      input: event.kind === "toolCall" ? (event.tool?.input ?? null) : null,
      output: null,
    },
    error: open ? null : "interrupted: no result was recorded",
  };
}

function lastOutput(steps: readonly Step[]) {
  const last = steps.findLast(({ event }) => event.kind === "assistant");
  return last === undefined
    ? []
    : outputOf(
        steps.filter(
          (step) => step === last || (step.call !== null && step.call === last.call && step.event.kind === "assistant"),
        ),
      );
}

/**
 * A span that waits for others ends with the last of them. Children come after their parents, so one backward pass is
 * enough.
 */
function finished(root: Draft, spans: readonly Draft[], open: ReadonlySet<Draft>): Trace {
  const latest = new Map<Span, number | null>();
  for (const span of spans.toReversed()) {
    const waits =
      open.has(span) || (span.kind === "agent" && !span.story.isOver) || (span.ownEnd === null && span.kind !== "turn");
    const below = latest.has(span) ? (latest.get(span) as number | null) : span.start;
    span.end = waits || below === null ? null : Math.max(span.start, below, span.ownEnd ?? span.start);
    if (span.parent === null) continue;
    const known = latest.get(span.parent);
    latest.set(span.parent, span.end === null || known === null ? null : Math.max(known ?? 0, span.end));
  }
  return { root, spans };
}
