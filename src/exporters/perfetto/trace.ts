import { displayName } from "../../core/facts/display-name.ts";
import { type JsonObject, printJson } from "../../core/tools/json.ts";
import { everyone, type Story } from "../../core/views/story.ts";
import type { Span } from "../trace/span.ts";
import { tracesOf } from "../trace/spans.ts";
import { Lanes } from "./lanes.ts";

/**
 * Trace events for Chrome and Perfetto: a track per agent, arrows for spawn and return, counters. Times are in
 * microseconds.
 */
export function perfettoTrace(story: Story): string {
  const spans = tracesOf(story).flatMap((trace) => trace.spans);
  const last = spans.reduce((latest, span) => Math.max(latest, span.end ?? span.ownEnd ?? span.start), 0);
  const agents = [...everyone(story)];
  const lanes = new Lanes(agents.map(({ record }) => record.uri));
  const slices = spans.filter(isSlice).map((span) => sliceOf(span, last, lanes));
  const events = [
    ...agents.flatMap((agent, i) => trackNames(agent, i, lanes)),
    ...slices.map(({ event }) => event),
    ...spans.filter((span) => !isSlice(span)).map((span) => instant(span, lanes)),
    ...flows(slices),
    ...counters(spans, last),
  ];
  return `${printJson({ displayTimeUnit: "ms", otherData: { uri: story.record.uri, product: story.product }, traceEvents: events })}\n`;
}

const PID = 1;
const micros = (ms: number) => Math.round(ms * 1_000);
const isSlice = ({ kind }: Span) => kind !== "prompt" && kind !== "compaction";

interface Slice {
  readonly span: Span;
  readonly track: number;
  readonly end: number;
  readonly event: JsonObject;
}

function sliceOf(span: Span, last: number, lanes: Lanes): Slice {
  const end = Math.max(span.start, endOf(span, last));
  const track = lanes.place(span.story.record.uri, span.start, end);
  const event = {
    ph: "X",
    pid: PID,
    tid: track,
    ts: micros(span.start),
    dur: micros(end) - micros(span.start),
    name: nameOf(span),
    cat: span.kind,
    args: argsOf(span),
  };
  return { span, track, end, event };
}

/** A spawn call ends when it returned; the agent has its own track. */
const endOf = ({ kind, ownEnd, end }: Span, last: number) =>
  kind === "tool" ? (ownEnd ?? end ?? last) : (end ?? last);

function nameOf({ kind, call, tool, story, turn }: Span): string {
  if (kind === "turn") return `turn ${turn}`;
  if (kind === "agent") return displayName(story.record);
  return call?.model || tool?.name || kind;
}

function argsOf({ call, tool, error, story, kind, input, output }: Span): JsonObject {
  const textOf = (messages: Span["input"]) =>
    messages
      .flatMap(({ text }) => text ?? [])
      .join("\n")
      .slice(0, 1_000);
  return {
    uri: story.record.uri,
    ...(kind === "agent" ? { parent: story.record.parent } : {}),
    ...(kind === "agent" || kind === "turn" ? { status: story.record.status } : {}),
    ...(call === null
      ? {}
      : {
          ...call.tokens,
          allInput: call.tokens.inputTokens + call.tokens.cacheReadTokens + call.tokens.cacheWriteTokens,
          allOutput: call.allOutput,
          costUsd: call.costUsd,
          internal: call.isInternal,
        }),
    ...(tool === null
      ? { input: textOf(input), output: textOf(output) }
      : { callId: tool.callId, output: tool.output?.slice(0, 1_000) ?? null }),
    ...(error === null ? {} : { error }),
  };
}

/** Names and sorts the tracks of an agent; the first agent also names the process. */
function trackNames({ record }: Story, order: number, lanes: Lanes): JsonObject[] {
  const label = displayName(record);
  return [
    ...(order === 0 ? [{ ph: "M", pid: PID, name: "process_name", args: { name: record.uri } }] : []),
    ...lanes.of(record.uri).flatMap((tid, i) => [
      { ph: "M", pid: PID, tid, name: "thread_name", args: { name: i === 0 ? label : `${label} (concurrent)` } },
      { ph: "M", pid: PID, tid, name: "thread_sort_index", args: { sort_index: order } },
    ]),
  ];
}

function instant(span: Span, lanes: Lanes): JsonObject {
  return {
    ph: "i",
    s: "t",
    pid: PID,
    tid: lanes.first(span.story.record.uri),
    ts: micros(span.start),
    name: span.kind,
    cat: span.kind,
    args: argsOf(span),
  };
}

/** From the call to its agent, and back. An arrow is attached to the slices that it starts and ends in. */
function flows(slices: readonly Slice[]): JsonObject[] {
  const bySpan = new Map(slices.map((slice) => [slice.span, slice]));
  return slices.flatMap((agent, i): JsonObject[] => {
    const from = agent.span.kind === "agent" && agent.span.parent !== null ? bySpan.get(agent.span.parent) : undefined;
    if (from === undefined) return [];
    const arrow = (
      name: string,
      id: number,
      [a, aAt]: readonly [Slice, number],
      [b, bAt]: readonly [Slice, number],
    ) => [
      { ph: "s", pid: PID, tid: a.track, ts: micros(aAt), id, name, cat: "agent" },
      { ph: "f", bp: "e", pid: PID, tid: b.track, ts: Math.max(micros(bAt), micros(aAt)), id, name, cat: "agent" },
    ];
    const spawn = arrow("spawn", 2 * i, [from, from.span.start], [agent, agent.span.start]);
    // A background agent does not return to its call.
    const returns = agent.span.end !== null && from.end >= agent.end && from.span.kind === "tool";
    return returns ? [...spawn, ...arrow("return", 2 * i + 1, [agent, agent.end], [from, from.end])] : spawn;
  });
}

/** Counter tracks: tokens so far, and the number of running agents. */
function counters(spans: readonly Span[], last: number): JsonObject[] {
  const calls = spans
    .flatMap(({ call, end, start }) => (call === null ? [] : [{ at: end ?? start, tokens: call.tokens }]))
    .sort((a, b) => a.at - b.at);
  const sum = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const tokens = calls.map(({ at, tokens: used }) => {
    sum.input += used.inputTokens;
    sum.output += used.outputTokens;
    sum.cacheRead += used.cacheReadTokens;
    sum.cacheWrite += used.cacheWriteTokens;
    return { ph: "C", pid: PID, ts: micros(at), name: "tokens", args: { ...sum } };
  });
  const changes = spans
    .flatMap((span) =>
      span.kind === "agent"
        ? [
            { at: span.start, by: 1 },
            { at: endOf(span, last), by: -1 },
          ]
        : [],
    )
    .sort((a, b) => a.at - b.at || b.by - a.by);
  let working = 0;
  const agents = changes.map(({ at, by }) => {
    working += by;
    return { ph: "C", pid: PID, ts: micros(at), name: "running agents", args: { agents: working } };
  });
  return [...tokens, ...agents];
}
