import type { ModelCall } from "./gather.ts";
import { type AgentKey, type CallKey, nativeCall, type RecordKey } from "./ids.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "./link.ts";
import { callsOf } from "./messages.ts";
import { endOf } from "./record.ts";
import { AGENTS, SPAN_KINDS, type Span } from "./span.ts";
import { totalTokens } from "./usage.ts";

/**
 * What an agent did when, by the times in its records: the model's answers, its tools, and whom it waited for.
 * Every call of a model and of a tool that has a time is in it once.
 */
export function spansOf(forest: Forest, key: AgentKey): Span[] {
  const agent = agentOf(forest, key);
  const children = agent.children.map((child) => lifeOf(agentOf(forest, child)));
  const isRunning = agent.verdict.status === "running";
  const steps = agent.steps();
  const { answers, asked } = answersOf(agent, steps);
  const told = [...answers.map(modelSpan), ...toolSpans(agent, steps, children)];
  const waits = agent.children.length === 0 ? [] : pauses(told, asked, [...children, ...lateOnes(forest, agent)], isRunning);
  const now = isRunning && waits.every((span) => span.to !== null) ? thinking(told, asked) : [];
  return [...told, ...waits, ...now].sort((a, b) => a.from - b.from || SPAN_KINDS.indexOf(a.kind) - SPAN_KINDS.indexOf(b.kind) || (a.to ?? 0) - (b.to ?? 0));
}

export interface Interval {
  readonly from: number;
  /** Null while it goes on. */
  readonly to: number | null;
}

/** The times of the same spans, by what they are about, so that traces show what pictures show. */
export interface WorkTimes {
  /** By the response of a model call. */
  readonly calls: ReadonlyMap<RecordKey, Interval>;
  /** By the provider's own id of a tool call. */
  readonly tools: ReadonlyMap<string, Interval>;
}

export function workTimes(forest: Forest, key: AgentKey): WorkTimes {
  const agent = agentOf(forest, key);
  const steps = agent.steps();
  const tools = toolSpans(
    agent,
    steps,
    agent.children.map((child) => lifeOf(agentOf(forest, child))),
  );
  return {
    calls: new Map(answersOf(agent, steps).answers.flatMap(({ from, to, calls }) => calls.map(({ response }) => [response, { from, to }] as const))),
    tools: new Map(tools.flatMap(({ callId, from, to }) => (callId === null ? [] : [[callId, { from, to }] as const]))),
  };
}

type Steps = ReturnType<LinkedAgent["steps"]>;

interface Life {
  readonly uri: string;
  /** The calls that made it, or went on with it. */
  readonly calls: readonly CallKey[];
  readonly to: number | null;
  /** Every time it was done; somebody may have gone on with it afterwards. */
  readonly ends: readonly number[];
  readonly isRunning: boolean;
  readonly background: boolean;
}

function lifeOf(child: LinkedAgent): Life {
  const to = endOf(child);
  const told = child.statements.filter((s) => s.state !== "launched" && s.state !== "revived").flatMap((s) => s.at ?? []);
  return {
    uri: child.uri,
    calls: [...new Set([...(child.spawnCall === undefined ? [] : [child.spawnCall.call]), ...callsOf(child).map(({ call }) => call)])],
    to,
    ends: to === null ? told : [...told, to],
    isRunning: child.verdict.status === "running",
    background: child.background === true || child.statements.some((s) => s.state === "launched"),
  };
}

/** Agents further down who outlived whoever made them: they report to the thread. */
function lateOnes(forest: Forest, thread: LinkedAgent): Life[] {
  if (thread.parent !== null) return [];
  return subtreeOf(forest, thread.key).flatMap((key) => {
    const agent = agentOf(forest, key);
    if (agent.parent === null || agent.parent === thread.key || key === thread.key) return [];
    const [own, above] = [lifeOf(agent), lifeOf(agentOf(forest, agent.parent))];
    return above.to !== null && (own.to ?? Number.POSITIVE_INFINITY) > above.to ? [own] : [];
  });
}

const blank = { callId: null, tokens: 0, outputTokens: 0, agents: [] } as const;

// --- models

interface Response {
  readonly keys: Set<RecordKey>;
  readonly first: number;
  last: number;
  /** When the last of its tools was called, where its own records hold what tools answered: the model was done by then. */
  lastCall: number | null;
  isSelfContained: boolean;
  readonly calls: ModelCall[];
}

/** A model at work, and the calls that it answered. */
interface Answer {
  readonly from: number;
  readonly to: number;
  readonly calls: readonly ModelCall[];
}

/**
 * The rows of a response share their last key. A model is at work from its request until its last row;
 * where the request is not recorded, from what the agent was told last.
 */
function answersOf(agent: LinkedAgent, steps: Steps): { readonly answers: readonly Answer[]; readonly asked: readonly number[] } {
  const responses = new Map<RecordKey | number, Response>();
  const asked: number[] = [];
  for (const [number, step] of steps.entries()) {
    if (step.at === null) continue;
    for (const { at } of step.results) asked.push(at ?? step.at);
    if (step.role === "user" && step.stands !== null) asked.push(step.at);
    if (step.role !== "assistant") continue;
    const name = step.keys.at(-1) ?? number;
    const response = responses.get(name) ?? { keys: new Set(), first: step.at, last: step.at, lastCall: null, isSelfContained: false, calls: [] };
    responses.set(name, response);
    for (const key of step.keys) response.keys.add(key);
    response.last = Math.max(response.last, step.at);
    response.isSelfContained ||= step.results.length > 0;
    for (const { at } of step.calls) response.lastCall = Math.max(response.lastCall ?? 0, at ?? step.at);
  }
  asked.sort((a, b) => a - b);
  const all = [...responses.values()].sort((a, b) => a.first - b.first);
  const alone = assign(agent.calls, all);
  const answers: Answer[] = [];
  let done = Number.NEGATIVE_INFINITY;
  let next = 0;
  for (const { first, last, lastCall, isSelfContained, calls } of all) {
    while (next < asked.length && (asked[next] ?? 0) <= first) next += 1;
    const sent = calls.find((call) => call.askedAt !== undefined)?.askedAt;
    const begun = sent ?? Math.max(done, asked[next - 1] ?? Number.NEGATIVE_INFINITY);
    const to = isSelfContained ? (lastCall ?? last) : last;
    const from = begun === Number.NEGATIVE_INFINITY || begun > to ? Math.min(first, to) : begun;
    done = Math.max(done, to);
    answers.push({ from, to, calls });
  }
  for (const call of alone) if (call.at !== null) answers.push({ from: Math.min(call.askedAt ?? call.at, call.at), to: call.at, calls: [call] });
  return { answers, asked };
}

function modelSpan({ from, to, calls }: Answer): Span {
  const tokens = calls.reduce((sum, call) => sum + totalTokens(call.tokens), 0);
  const outputTokens = calls.reduce((sum, call) => sum + call.tokens.outputTokens, 0);
  const name = calls.find((call) => call.model !== "")?.model ?? null;
  return { ...blank, kind: "model", from, to, name, tokens, outputTokens, end: calls.some((call) => call.end === "cut") ? "cut" : "done" };
}

/** Puts every call to its response: by name, else to the last one that had begun. Gives those that found none. */
function assign(calls: Iterable<ModelCall>, responses: readonly Response[]): ModelCall[] {
  const byKey = new Map(responses.flatMap((response) => [...response.keys].map((key) => [key, response] as const)));
  return [...calls].filter((call) => {
    const named = byKey.get(call.response) ?? (call.rows === null ? undefined : byKey.get(call.rows));
    const found = named ?? (call.at === null ? undefined : responses[firstAfter(responses, call.at) - 1]);
    found?.calls.push(call);
    return found === undefined;
  });
}

function firstAfter(responses: readonly Response[], at: number): number {
  let [low, high] = [0, responses.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((responses[middle]?.first ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A running agent that was told something and has no tool at work waits for the model. */
function thinking(told: readonly Span[], asked: readonly number[]): Span[] {
  const since = asked.at(-1);
  if (since === undefined || told.some((span) => span.to === null || (span.kind === "model" && span.to > since))) return [];
  return [{ ...blank, kind: "model", from: since, to: null, name: null, end: null }];
}

// --- tools

interface ToolUse {
  readonly name: string;
  readonly from: number;
  waitsFor: string | null;
  readonly awaitsAgents: boolean;
  to: number | null;
  isError: boolean;
}

function toolSpans(agent: LinkedAgent, steps: Steps, children: readonly Life[]): Span[] {
  const end = agent.verdict.status === "running" ? null : (endOf(agent) ?? agent.lastAt);
  const uses = new Map<CallKey, ToolUse>();
  for (const step of steps) {
    for (const { call, name, at = step.at, waitsFor = null, awaitsAgents = false } of step.calls) {
      const known = uses.get(call);
      if (known !== undefined) known.waitsFor = waitsFor;
      else if (at !== null) uses.set(call, { name, from: at, to: null, isError: false, waitsFor, awaitsAgents });
    }
    for (const { call, isError, at = step.at } of step.results) {
      const use = uses.get(call);
      if (use !== undefined && use.to === null && at !== null) Object.assign(use, { to: Math.max(use.from, at), isError });
    }
  }
  const made = new Map<CallKey, Life[]>();
  for (const child of children)
    for (const call of child.calls) {
      const list = made.get(call);
      if (list === undefined) made.set(call, [child]);
      else list.push(child);
    }
  const isOpen = openCalls(agent, steps);
  return [...uses].map(([call, use]) => {
    const cutAt = isOpen(call) ? null : (end ?? use.from);
    const heldFor = agent.waiting?.call === call ? agent.waiting.for : use.waitsFor;
    return toolSpan(call, use, { made: made.get(call) ?? [], children, cutAt, heldFor });
  });
}

interface Around {
  readonly made: readonly Life[];
  readonly children: readonly Life[];
  /** When a call ended that nobody answered; null where it may still be answered. */
  readonly cutAt: number | null;
  /** What a person has to give before it goes on. */
  readonly heldFor: string | null;
}

/** Only what the last response asked for can still be at work. */
function openCalls(agent: LinkedAgent, steps: Steps): (call: CallKey) => boolean {
  if (agent.verdict.status !== "running") return () => false;
  const last = steps.findLast((step) => step.role === "assistant" && step.calls.length > 0);
  const response = last?.keys.at(-1);
  const asked = steps.filter((step) => step === last || (response !== undefined && step.keys.at(-1) === response));
  const calls = new Set(asked.flatMap((step) => step.calls.map(({ call }) => call)));
  return (call) => calls.has(call);
}

function toolSpan(call: CallKey, use: ToolUse, { made, children, cutAt, heldFor }: Around): Span {
  const to = use.to ?? cutAt;
  const awaited = use.awaitsAgents ? children.filter((child) => isAwaited(child, use.from, to)) : made;
  const isWaiting =
    awaited.length > 0 &&
    (use.awaitsAgents || awaited.some((child) => (to === null ? !child.background : child.ends.some((end) => end > use.from && end <= to))));
  const held = to !== null || isWaiting ? null : heldFor;
  const end = to === null ? null : use.to === null ? "cut" : use.isError ? "failed" : "done";
  const kind = isWaiting || held !== null ? "wait" : "tool";
  const name = held ?? (isWaiting ? AGENTS : use.name);
  return {
    ...blank,
    kind,
    from: use.from,
    to: to === null ? null : Math.max(use.from, to),
    name,
    callId: nativeCall(call),
    end,
    agents: awaited.map((child) => child.uri),
  };
}

/** It was done in the meantime, or is not done yet. */
const isAwaited = ({ ends, isRunning }: Life, since: number, until: number | null) =>
  until === null ? isRunning : ends.some((end) => end > since && end <= until);

// --- waiting

/** Between an answer and what woke the agent up: agents that ended then were waited for. */
function pauses(told: readonly Span[], asked: readonly number[], children: readonly Life[], isRunning: boolean): Span[] {
  const waits: Span[] = [];
  const spans = told.toSorted((a, b) => a.from - b.from);
  let done: number | null = null;
  let next = 0;
  const ends = children.flatMap(({ uri, ends: all }) => all.map((end) => ({ end, uri }))).sort((a, b) => a.end - b.end);
  let seen = 0;
  const wait = (from: number, to: number | null) => {
    // Pauses come one after the other, and so do ends.
    while ((ends[seen]?.end ?? Number.POSITIVE_INFINITY) <= from) seen += 1;
    const first = seen;
    while (to !== null && (ends[seen]?.end ?? Number.POSITIVE_INFINITY) <= to) seen += 1;
    const awaited = to === null ? children.filter((child) => child.isRunning) : ends.slice(first, seen);
    const agents = [...new Set(awaited.map(({ uri }) => uri))];
    const last = to === null ? null : (ends[seen - 1]?.end ?? from);
    if (agents.length > 0) waits.push({ ...blank, kind: "wait", from, to: last, name: AGENTS, end: to === null ? null : "done", agents });
  };
  for (const at of asked) {
    for (; next < spans.length && (spans[next]?.from ?? 0) < at; next += 1) {
      const { to } = spans[next] as Span;
      done = to === null ? Number.POSITIVE_INFINITY : Math.max(done ?? to, to);
    }
    if (done === null || done >= at) continue;
    wait(done, at);
    done = at;
  }
  const last = spans.reduce((latest, { to }) => Math.max(latest, to ?? Number.POSITIVE_INFINITY), Number.NEGATIVE_INFINITY);
  const lastAsked = asked.at(-1) ?? Number.NEGATIVE_INFINITY;
  if (isRunning && Number.isFinite(last) && last >= lastAsked) wait(last, null);
  return waits;
}
