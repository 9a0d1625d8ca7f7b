import type { RecordState } from "../../../core/facts/observation.ts";
import { NO_TOKENS, type Tokens, totalTokens } from "../../../core/facts/usage.ts";
import {
  asAmount,
  asCount,
  asList,
  asNonBlank,
  asObject,
  asText,
  asTime,
  type JsonObject,
} from "../../../core/tools/json.ts";

/** A message of a session, of an agent's file, or in the result of a spawn call. */
export interface Message {
  readonly role: string;
  readonly at: number | null;
  readonly text: string;
  readonly thoughts: readonly string[];
  readonly calls: readonly ToolCall[];
  /** Set for tool results. */
  readonly resultOf: ToolResult | null;
  /** Set for messages of the model, unless the model call failed without using tokens. */
  readonly response: ModelResponse | null;
  /** Usage of models by a tool. */
  readonly used: Used | null;
  readonly state: RecordState | null;
  readonly error: string | null;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
}

export interface ToolResult {
  readonly call: string;
  readonly tool: string | null;
  readonly isError: boolean;
  readonly details: JsonObject | null;
  readonly durationMs: number | null;
  /** Calls that the tool made itself, such as those of a script (Pi 1.5). */
  readonly nested: readonly NestedCall[];
}

/** `args` is empty if the arguments were too long to be recorded. */
export interface NestedCall extends ToolCall {
  /** `ok`, `error`, or `unfinished` if the script ended before the call. */
  readonly status: string | null;
  readonly error: string | null;
}

/** One model response. */
export interface ModelResponse extends Used {
  readonly provider: string;
  readonly model: string;
  /** The API's id. */
  readonly id: string | null;
}

export interface Used {
  readonly tokens: Tokens;
  /** Null if the price is unknown; Pi then writes 0. */
  readonly costUsd: number | null;
}

export function readMessage(json: JsonObject): Message | null {
  const role = asNonBlank(json.role);
  if (role === null) return null;
  const { text, thoughts, calls } = readContent(json.content);
  const call = role === "toolResult" ? asNonBlank(json.toolCallId) : null;
  return {
    role,
    at: asTime(json.timestamp),
    text: role === "bashExecution" ? `$ ${asText(json.command) ?? ""}\n${asText(json.output) ?? ""}` : text,
    thoughts,
    calls,
    resultOf:
      call === null
        ? null
        : {
            call,
            tool: asNonBlank(json.toolName),
            isError: json.isError === true,
            details: asObject(json.details),
            durationMs: asAmount(json.durationMs),
            nested: json.nestedCalls === undefined ? [] : nestedIn(json.nestedCalls),
          },
    response: role === "assistant" ? responseIn(json) : null,
    used: role === "toolResult" ? usedIn(json.usage) : null,
    state: stateAfter(role, asText(json.stopReason), calls.length > 0),
    error: asNonBlank(json.errorMessage),
  };
}

function readContent(content: unknown): Pick<Message, "text" | "thoughts" | "calls"> {
  const thoughts: string[] = [];
  const calls: ToolCall[] = [];
  if (typeof content === "string") return { text: content, thoughts, calls };
  let text: string | null = null;
  for (const item of asList(content)) {
    const block = asObject(item);
    if (block?.type === "text") {
      const part = asText(block.text) ?? "";
      text = text === null ? part : `${text}\n${part}`;
    } else if (block?.type === "thinking") {
      const thought = asNonBlank(block.thinking);
      if (thought !== null) thoughts.push(thought);
    } else if (block?.type === "toolCall") {
      const [id, name] = [asNonBlank(block.id), asNonBlank(block.name)];
      if (id !== null && name !== null) calls.push({ id, name, args: asObject(block.arguments) ?? {} });
    }
  }
  return { text: text ?? "", thoughts, calls };
}

function nestedIn(value: unknown): readonly NestedCall[] {
  return asList(asObject(value)?.calls).flatMap((item) => {
    const json = asObject(item);
    const [id, name] = [asNonBlank(json?.id), asNonBlank(json?.name)];
    if (id === null || name === null) return [];
    const [status, error] = [asText(json?.status), asNonBlank(json?.error)];
    return [{ id, name, args: asObject(json?.arguments) ?? {}, status, error }];
  });
}

function responseIn(json: JsonObject): ModelResponse | null {
  const used = usedIn(json.usage);
  const failed = json.stopReason === "error" || json.stopReason === "aborted";
  // A failure without tokens is not a response.
  if (used === null || (failed && totalTokens(used.tokens) === 0)) return null;
  const model = asNonBlank(json.responseModel) ?? asText(json.model) ?? "";
  return { ...used, provider: asText(json.provider) ?? "", model, id: asNonBlank(json.responseId) };
}

/** Null if no usage is recorded. `input` excludes caches. */
export function usedIn(value: unknown): Used | null {
  const usage = asObject(value);
  if (usage === null) return null;
  const cost = asAmount(asObject(usage.cost)?.total) ?? asAmount(usage.cost);
  const cacheWriteTokens = asCount(usage.cacheWrite);
  const tokens = {
    ...NO_TOKENS,
    inputTokens: asCount(usage.input),
    outputTokens: asCount(usage.output),
    reasoningTokens: asCount(usage.reasoning ?? usage.reasoningTokens),
    cacheReadTokens: asCount(usage.cacheRead),
    cacheWriteTokens,
    cacheWrite1hTokens: Math.min(cacheWriteTokens, asCount(usage.cacheWrite1h)),
  };
  return { tokens, costUsd: cost !== null && cost > 0 ? cost : null };
}

function stateAfter(role: string, stop: string | null, calls: boolean): RecordState | null {
  switch (role) {
    case "user":
    case "toolResult":
      return "open";
    case "assistant":
      if (stop === "error") return "failed";
      if (stop === "aborted") return "interrupted";
      return calls || stop === "toolUse" || stop === "pending" || stop === "deferred" ? "open" : "answered";
    default:
      return null;
  }
}
