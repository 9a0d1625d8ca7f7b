import { displayName, typeName } from "../../core/facts/display-name.ts";
import { totalTokens } from "../../core/facts/usage.ts";
import type { JsonObject } from "../../core/tools/json.ts";
import { cut, cutTexts } from "../trace/cut.ts";
import type { Message, Span, Trace } from "../trace/span.ts";
import { type FindPlace, Places, type RunPlace } from "./names.ts";

export interface LangSmithOptions {
  readonly project: string;
  /** Version of retinue. */
  readonly version: string;
  /** Metadata that the user has configured for every run. */
  readonly metadata: JsonObject;
  /** An existing run of the user that becomes the parent of all turns. */
  readonly outer: RunPlace | null;
  /** Added to all times, for servers that refuse old ones; the metadata then has the original times. */
  readonly shiftMs: number;
}

/** A run in LangSmith's format. */
export interface Run {
  readonly id: string;
  readonly trace_id: string;
  readonly parent_run_id?: string;
  readonly dotted_order: string;
  readonly name: string;
  readonly run_type: "chain" | "llm" | "tool" | "prompt";
  readonly start_time: string;
  /** Omitted while it runs. */
  readonly end_time?: string;
  readonly session_name: string;
  readonly tags: readonly string[];
  readonly inputs: JsonObject;
  readonly outputs?: JsonObject;
  readonly events?: readonly JsonObject[];
  readonly error?: string;
  readonly extra: { readonly metadata: JsonObject };
}

const MAX_TEXT = 500_000;
const MAX_ERROR = 10_000;

/** A run with its place and its span. */
export interface PlacedRun {
  readonly span: Span;
  readonly place: RunPlace;
  readonly run: Run;
  readonly mayHaveChildren: boolean;
}

/** The runs of one turn, parents first. */
export const runsOf = (trace: Trace, options: LangSmithOptions): Run[] =>
  placedRuns(trace, options).map(({ run }) => run);

/** The runs of one turn with their places. Runs that were posted before keep the place that `find` returns. */
export function placedRuns({ root, spans }: Trace, options: LangSmithOptions, find?: FindPlace): PlacedRun[] {
  const places = new Places(options.project, options.outer, options.shiftMs, find);
  const turn = places.of(root).id;
  const spawning = new Set(
    spans.flatMap(({ kind, parent }) => (kind === "agent" && parent?.kind === "tool" ? [parent] : [])),
  );
  return spans.map((span) => {
    const [place, isSpawning] = [places.of(span), spawning.has(span)];
    return {
      span,
      place,
      run: runOf(span, place, options, { turn, isSpawning }),
      mayHaveChildren: isSpawning || span.kind === "turn" || span.kind === "agent",
    };
  });
}

interface Around {
  readonly turn: string;
  readonly isSpawning: boolean;
}

function runOf(span: Span, place: RunPlace, options: LangSmithOptions, around: Around): Run {
  const { shiftMs, project } = options;
  const end = span.end === null ? null : Math.max(span.end + shiftMs, Date.parse(place.startTime));
  return {
    id: place.id,
    trace_id: place.traceId,
    ...(place.parentId === null ? {} : { parent_run_id: place.parentId }),
    dotted_order: place.dottedOrder,
    name: nameOf(span),
    run_type: RUN_TYPE[span.kind],
    start_time: place.startTime,
    // Not before the start, which may be some microseconds into the millisecond.
    ...(end === null
      ? {}
      : { end_time: end === Date.parse(place.startTime) ? place.startTime : new Date(end).toISOString() }),
    session_name: project,
    tags: tagsOf(span, around.isSpawning),
    inputs: cutTexts(inputsOf(span), MAX_TEXT) as JsonObject,
    ...(end === null ? {} : { outputs: cutTexts(outputsOf(span), MAX_TEXT) as JsonObject }),
    ...(span.marks.length === 0 || end === null
      ? {}
      : {
          events: span.marks.map(({ at, text }) => ({
            name: "error",
            time: new Date(at + shiftMs).toISOString(),
            message: cut(text, MAX_ERROR),
          })),
        }),
    ...(span.error === null || end === null ? {} : { error: cut(span.error, MAX_ERROR) }),
    extra: { metadata: metadataOf(span, options, around) },
  };
}

const RUN_TYPE: Readonly<Record<Span["kind"], Run["run_type"]>> = {
  turn: "chain",
  agent: "chain",
  message: "chain",
  compaction: "chain",
  prompt: "prompt",
  call: "llm",
  tool: "tool",
};

const isInAgent = ({ story }: Span) => story.record.parent !== null;

function nameOf({ kind, story, call, tool, parent }: Span): string {
  const { record, product } = story;
  switch (kind) {
    case "turn":
      return `${product} Turn`;
    case "agent":
      return `${typeName(record)} Subagent`;
    case "call":
      return `${parent?.kind === "agent" ? "Agent" : capitalised(record.provider)}: ${call?.model || "unknown model"}`;
    case "message":
      return "Assistant message";
    case "prompt":
      return "User prompt";
    case "tool":
      return tool?.name ?? "tool";
    case "compaction":
      return "Context Compaction";
    default:
      return kind satisfies never;
  }
}

const capitalised = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

function tagsOf(span: Span, isSpawning: boolean): string[] {
  const { kind, story, turn, call } = span;
  const { type, background } = story.record;
  const tags = {
    turn: [story.tracedAs, `turn-${turn}`],
    agent: ["agent", "subagent", ...(type === null ? [] : [type]), ...(background ? ["background"] : [])],
    call: call === null ? [] : [call.model, ...(call.isInternal ? ["internal"] : [])].filter((tag) => tag !== ""),
    tool: isSpawning ? ["agent-tool"] : [],
    message: [],
    prompt: [],
    compaction: ["compaction"],
  }[kind];
  return [...new Set([...tags, ...(isInAgent(span) ? ["subagent"] : [])])];
}

function metadataOf(span: Span, options: LangSmithOptions, { turn }: Around): JsonObject {
  const { story, kind, call, tool } = span;
  const { record } = story;
  const known = {
    ls_integration_version: options.version,
    ls_agent_runtime_version: record.productVersion,
    turn_id: turn,
    turn_number: span.turn,
    git_branch: record.branch,
    cwd: record.cwd,
    project: record.project,
    ...(isInAgent(span)
      ? {
          ls_subagent_id: record.agentId,
          ls_subagent_type: record.type,
          subagent_name: displayName(record),
          subagent_description: record.description,
          parent_agent: record.parent,
          spawn_depth: record.depth,
          background: record.background,
        }
      : {}),
    ...(tool === null ? {} : { ls_tool_name: tool.name, tool_call_id: tool.callId }),
    ...(kind === "agent" || kind === "turn"
      ? {
          status: record.status,
          status_reason: record.statusReason,
          warnings: record.warnings.length > 0 ? record.warnings : null,
        }
      : {}),
    ...(kind === "tool" && span.end !== span.ownEnd && span.ownEnd !== null
      ? { returned_at: new Date(span.ownEnd).toISOString() }
      : {}),
    ...(kind === "turn" && story.undivided.length > 0 ? { stated_usage_without_calls: story.undivided } : {}),
    ...(span.reportedAgents.length === 0 ? {} : { answers_agents: span.reportedAgents }),
    ...(options.shiftMs === 0
      ? {}
      : {
          true_start_time: new Date(span.start).toISOString(),
          true_end_time: span.end === null ? null : new Date(span.end).toISOString(),
        }),
    ...(call === null
      ? {}
      : { ls_provider: call.vendor, ls_model_name: call.model, ls_model_type: "chat", usage_metadata: usageOf(call) }),
  };
  return {
    ...options.metadata,
    ls_agent_purpose: "coding",
    ls_integration: story.tracedAs,
    ls_agent_runtime: story.product,
    ls_trace_schema_version: "coding-agent-v1",
    ls_agent_type: kind === "compaction" ? "compaction" : isInAgent(span) ? "subagent" : "root",
    thread_id: record.sessionId,
    uri: record.uri,
    agent: record.agentId ?? record.sessionId,
    ...Object.fromEntries(Object.entries(known).filter(([, value]) => value !== null && value !== undefined)),
  };
}

/** LangSmith's usage: input tokens include cache reads and writes. */
function usageOf({ tokens, allOutput, costUsd }: NonNullable<Span["call"]>): JsonObject {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens, reasoningTokens } = tokens;
  return {
    input_tokens: inputTokens + cacheReadTokens + cacheWriteTokens,
    output_tokens: allOutput,
    total_tokens: totalTokens(tokens) - outputTokens + allOutput,
    input_token_details: {
      cache_read: cacheReadTokens,
      cache_creation: cacheWriteTokens,
      ephemeral_5m_input_tokens: cacheWriteTokens - cacheWrite1hTokens,
      ephemeral_1hr_input_tokens: cacheWrite1hTokens,
    },
    output_token_details: { reasoning: reasoningTokens },
    ...(costUsd === null ? {} : { total_cost: costUsd }),
  };
}

function inputsOf({ kind, input, tool }: Span): JsonObject {
  return kind === "tool" ? { input: tool?.input ?? null } : { messages: input.map(messageOf) };
}

function outputsOf({ kind, output, tool }: Span): JsonObject {
  return kind === "tool" ? { output: tool?.output ?? null } : { messages: output.map(messageOf) };
}

function messageOf({ role, text, reasoning, toolCalls, callId }: Message): JsonObject {
  if (role !== "assistant")
    return { role, content: text ?? "", ...(callId === undefined ? {} : { tool_call_id: callId }) };
  return {
    role,
    content: [
      ...(reasoning === undefined ? [] : [{ type: "thinking", thinking: reasoning }]),
      ...(text === null ? [] : [{ type: "text", text }]),
      ...(toolCalls ?? []).map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
    ],
  };
}
