import { createHash } from "node:crypto";
import { displayName, typeName } from "../../core/facts/display-name.ts";
import { totalTokens } from "../../core/facts/usage.ts";
import { jsonText } from "../../core/tools/json.ts";
import { cut, cutTexts } from "../trace/cut.ts";
import type { Message, Span, Trace } from "../trace/span.ts";
import { type Attribute, attributes, CLIENT, ERROR, INTERNAL, nanos, type OtlpSpan, UNSET } from "./shape.ts";

const MAX_TEXT = 100_000;
const MAX_ERROR = 4_000;

const digest = (name: string) => createHash("sha256").update(name).digest("hex");
const traceIdOf = (root: Span) => digest(root.key).slice(0, 32);
export const spanIdOf = (span: Span) => digest(`span ${span.key}`).slice(0, 16);

/**
 * The ended spans with a final place, of the selected turns; a span that was sent cannot be changed. Attributes follow
 * three conventions: GenAI, OpenInference and parts of Langfuse's.
 */
export function otlpSpans(traces: readonly Trace[], isSelected: (trace: Trace) => boolean = () => true): OtlpSpan[] {
  const agents = new Map(
    traces.flatMap(({ root, spans }) =>
      spans.flatMap((span) => (span.kind === "agent" ? [[span.story.record.uri, { root, span }] as const] : [])),
    ),
  );
  return traces.filter(isSelected).flatMap(({ root, spans }) =>
    spans.flatMap((span): OtlpSpan[] => {
      if (span.end === null || !span.isCertain) return [];
      const reported = span.reportedAgents.flatMap((uri) => agents.get(uri) ?? []);
      return [
        {
          traceId: traceIdOf(root),
          spanId: spanIdOf(span),
          ...(span.parent === null ? {} : { parentSpanId: spanIdOf(span.parent) }),
          name: nameOf(span),
          kind: span.kind === "call" ? CLIENT : INTERNAL,
          startTimeUnixNano: nanos(span.start),
          endTimeUnixNano: nanos(span.end),
          attributes: attributes(attributesOf(span, span === root)),
          events: span.marks.map(({ at, text }) => ({
            timeUnixNano: nanos(at),
            name: "exception",
            attributes: attributes({ "exception.type": "error", "exception.message": cut(text, MAX_ERROR) }),
          })),
          links: reported.map((one) => ({
            traceId: traceIdOf(one.root),
            spanId: spanIdOf(one.span),
            attributes: attributes({
              "retinue.link": "notification",
              "gen_ai.agent.id": one.span.story.record.agentId,
            }),
          })),
          status: span.error === null ? { code: UNSET } : { code: ERROR, message: cut(span.error, MAX_ERROR) },
        },
      ];
    }),
  );
}

const agentName = ({ story: { record, tracedAs } }: Span) => (record.parent === null ? tracedAs : typeName(record));

function nameOf(span: Span): string {
  switch (span.kind) {
    case "turn":
    case "agent":
      return `invoke_agent ${agentName(span)}`;
    case "call":
      return `chat ${span.call?.model || "unknown"}`;
    case "tool":
      return `execute_tool ${span.tool?.name}`;
    case "compaction":
      return "compact";
    case "message":
    case "prompt":
      return span.kind;
    default:
      return span.kind satisfies never;
  }
}

const OPERATION: Partial<Record<Span["kind"], string>> = {
  turn: "invoke_agent",
  agent: "invoke_agent",
  call: "chat",
  tool: "execute_tool",
};
const OPEN_INFERENCE: Partial<Record<Span["kind"], string>> = {
  turn: "AGENT",
  agent: "AGENT",
  call: "LLM",
  tool: "TOOL",
};
const LANGFUSE: Partial<Record<Span["kind"], string>> = {
  turn: "agent",
  agent: "agent",
  call: "generation",
  tool: "tool",
  compaction: "chain",
};
/** GenAI's provider names, where they differ from those of price lists. */
const PROVIDER = new Map([
  ["google", "gcp.gen_ai"],
  ["amazon-bedrock", "aws.bedrock"],
  ["google-vertex", "gcp.vertex_ai"],
]);

function attributesOf(span: Span, isRoot: boolean): Record<string, Attribute> {
  const { story, kind } = span;
  const { record } = story;
  const vendor = span.call?.vendor ?? story.calls.find((call) => call.vendor !== null)?.vendor;
  const provider = vendor == null ? null : (PROVIDER.get(vendor) ?? vendor);
  return {
    "session.id": record.sessionId,
    "gen_ai.conversation.id": record.sessionId,
    "gen_ai.operation.name": OPERATION[kind],
    "gen_ai.provider.name": provider,
    "gen_ai.system": provider,
    "gen_ai.agent.id": record.agentId,
    "gen_ai.agent.name": agentName(span),
    "openinference.span.kind": OPEN_INFERENCE[kind] ?? "CHAIN",
    "langfuse.observation.type": LANGFUSE[kind] ?? "span",
    "retinue.uri": record.uri,
    "retinue.turn": span.turn,
    ...(isRoot
      ? {
          "langfuse.trace.name": `${story.product} turn`,
          "langfuse.trace.tags": [story.tracedAs],
          "retinue.project": record.project,
        }
      : {}),
    ...(kind === "agent" || kind === "turn" ? agentAttributes(span) : {}),
    ...(span.call === null ? {} : callAttributes(span.call)),
    ...(span.tool === null ? {} : toolAttributes(span.tool)),
    ...(span.tool === null ? contentAttributes(span) : {}),
    ...(span.error === null
      ? {}
      : {
          "error.type": span.error.startsWith("interrupted") ? "interrupted" : "error",
          "langfuse.observation.level": "ERROR",
        }),
  };
}

function agentAttributes({ story: { record, undivided }, parent }: Span): Record<string, Attribute> {
  return {
    "retinue.usage.without_calls": undivided.length === 0 ? null : JSON.stringify(undivided),
    "gen_ai.agent.description": record.description,
    "gen_ai.agent.version": record.productVersion,
    "gen_ai.request.model": record.model[0],
    "agent.name": typeName(record),
    "graph.node.id": record.uri,
    "graph.node.parent_id": record.parent,
    "retinue.agent.name": displayName(record),
    "retinue.agent.parent": record.parent,
    "retinue.agent.depth": record.depth,
    "retinue.agent.background": record.background,
    "retinue.agent.status": record.status,
    "retinue.agent.status_reason": record.statusReason,
    "retinue.agent.cwd": record.cwd,
    "retinue.agent.branch": record.branch,
    "retinue.agent.spawned_by": parent?.tool?.callId,
  };
}

/** Usage is only on model calls, because consumers that sum it up would count it twice. */
function callAttributes(call: NonNullable<Span["call"]>): Record<string, Attribute> {
  const { tokens, allOutput, costUsd, model } = call;
  const input = tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
  const details = {
    input: tokens.inputTokens,
    output: allOutput,
    cache_read_input_tokens: tokens.cacheReadTokens,
    cache_creation_input_tokens: tokens.cacheWriteTokens,
  };
  return {
    "gen_ai.request.model": model,
    "gen_ai.response.model": model,
    "gen_ai.response.id": call.key.slice(call.key.lastIndexOf(":") + 1),
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.output_tokens": allOutput,
    "gen_ai.usage.cache_read.input_tokens": tokens.cacheReadTokens,
    "gen_ai.usage.cache_creation.input_tokens": tokens.cacheWriteTokens,
    "gen_ai.usage.reasoning.output_tokens": tokens.reasoningTokens,
    "llm.model_name": model,
    "llm.token_count.prompt": input,
    "llm.token_count.completion": allOutput,
    "llm.token_count.total": totalTokens(tokens) - tokens.outputTokens + allOutput,
    "llm.token_count.prompt_details.cache_read": tokens.cacheReadTokens,
    "llm.token_count.prompt_details.cache_write": tokens.cacheWriteTokens,
    "llm.token_count.completion_details.reasoning": tokens.reasoningTokens,
    "llm.cost.total": costUsd,
    "langfuse.observation.usage_details": JSON.stringify(details),
    "langfuse.observation.cost_details": costUsd === null ? null : JSON.stringify({ total: costUsd }),
    "retinue.call.internal": call.isInternal ? true : null,
  };
}

function toolAttributes({ name, callId, input, output }: NonNullable<Span["tool"]>): Record<string, Attribute> {
  const given = input === null ? null : jsonText(cutTexts(input, MAX_TEXT));
  return {
    "gen_ai.tool.name": name,
    "gen_ai.tool.call.id": callId,
    "gen_ai.tool.type": "function",
    "tool.name": name,
    "gen_ai.tool.call.arguments": given,
    "gen_ai.tool.call.result": shortened(output),
    "input.value": given,
    "output.value": shortened(output),
  };
}

function contentAttributes({ input, output, kind }: Span): Record<string, Attribute> {
  const textOf = (messages: readonly Message[]) => messages.flatMap(({ text }) => text ?? []).join("\n");
  const [inputText, outputText] = [textOf(input), textOf(output)];
  return {
    ...(kind === "call"
      ? { "gen_ai.input.messages": messagesText(input), "gen_ai.output.messages": messagesText(output) }
      : {}),
    "input.value": inputText === "" ? null : shortened(inputText),
    "output.value": outputText === "" ? null : shortened(outputText),
  };
}

const shortened = (text: string | null) => (text === null ? null : cut(text, MAX_TEXT));

function messagesText(messages: readonly Message[]): string | null {
  if (messages.length === 0) return null;
  const parts = messages.map(({ role, text, reasoning, toolCalls, callId }) => ({
    role,
    parts: [
      ...(reasoning === undefined ? [] : [{ type: "reasoning", content: reasoning }]),
      ...(text === null
        ? []
        : [
            callId === undefined
              ? { type: "text", content: text }
              : { type: "tool_call_response", id: callId, response: text },
          ]),
      ...(toolCalls ?? []).map(({ id, name, input }) => ({ type: "tool_call", id, name, arguments: input })),
    ],
  }));
  // Texts are truncated before serialising, so that the result is valid JSON.
  return jsonText(cutTexts(parts, MAX_TEXT));
}
