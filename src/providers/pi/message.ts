import { asAmount, asCount, asList, asObject, asText, asTime, asWords, type JsonObject } from "../../core/json.ts";
import type { Stand } from "../../core/observation.ts";
import { NO_TOKENS, type Tokens } from "../../core/usage.ts";

/** A message of a conversation, wherever it stands: in a session, in the file of an agent, or in the result of the call that made the agent. */
export interface Message {
  readonly role: string;
  readonly at: number | null;
  readonly text: string;
  readonly thoughts: readonly string[];
  readonly calls: readonly ToolCall[];
  /** Set for what a tool answered. */
  readonly answers: { readonly call: string; readonly tool: string | null; readonly isError: boolean; readonly details: JsonObject | null } | null;
  readonly answer: Answer | null;
  /** What a tool used to ask models itself. */
  readonly used: Used | null;
  readonly stands: Stand | null;
  readonly error: string | null;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
}

/** One answer of a model. */
export interface Answer extends Used {
  readonly provider: string;
  readonly model: string;
  readonly response: string | null;
}

export interface Used {
  readonly tokens: Tokens;
  /** Null where it does not know prices: then it writes 0. */
  readonly costUsd: number | null;
}

export function readMessage(json: JsonObject): Message | null {
  const role = asWords(json.role);
  if (role === null) return null;
  const blocks = asList(json.content).map(asObject);
  const of = (type: string) => blocks.filter((block) => block?.type === type);
  const text =
    typeof json.content === "string"
      ? json.content
      : of("text")
          .map((block) => asText(block?.text) ?? "")
          .join("\n");
  const calls = of("toolCall").flatMap((block) => {
    const [id, name] = [asWords(block?.id), asWords(block?.name)];
    return id === null || name === null ? [] : [{ id, name, args: asObject(block?.arguments) ?? {} }];
  });
  const call = role === "toolResult" ? asWords(json.toolCallId) : null;
  return {
    role,
    at: asTime(json.timestamp),
    text: role === "bashExecution" ? `$ ${asText(json.command) ?? ""}\n${asText(json.output) ?? ""}` : text,
    thoughts: of("thinking").flatMap((block) => asWords(block?.thinking) ?? []),
    calls,
    answers: call === null ? null : { call, tool: asWords(json.toolName), isError: json.isError === true, details: asObject(json.details) },
    answer: role === "assistant" ? answerIn(json) : null,
    used: role === "toolResult" ? usedIn(json.usage) : null,
    stands: standAfter(role, asText(json.stopReason), calls.length > 0),
    error: asWords(json.errorMessage),
  };
}

function answerIn(json: JsonObject): Answer | null {
  const used = usedIn(json.usage);
  const failed = json.stopReason === "error" || json.stopReason === "aborted";
  // What failed before anything was answered is no answer.
  if (used === null || (failed && total(used.tokens) === 0)) return null;
  const model = asWords(json.responseModel) ?? asText(json.model) ?? "";
  return { ...used, provider: asText(json.provider) ?? "", model, response: asWords(json.responseId) };
}

const total = (t: Tokens) => t.inputTokens + t.outputTokens + t.cacheReadTokens + t.cacheWriteTokens;

/** Null where nothing was used, or it is not told. `input` counts neither cache. */
export function usedIn(value: unknown): Used | null {
  const usage = asObject(value);
  if (usage === null) return null;
  const cost = asAmount(asObject(usage.cost)?.total) ?? asAmount(usage.cost);
  const cacheWriteTokens = asCount(usage.cacheWrite);
  const tokens = {
    ...NO_TOKENS,
    inputTokens: asCount(usage.input),
    outputTokens: asCount(usage.output),
    reasoningTokens: asCount(usage.reasoning),
    cacheReadTokens: asCount(usage.cacheRead),
    cacheWriteTokens,
    cacheWrite1hTokens: Math.min(cacheWriteTokens, asCount(usage.cacheWrite1h)),
  };
  return { tokens, costUsd: cost !== null && cost > 0 ? cost : null };
}

function standAfter(role: string, stop: string | null, calls: boolean): Stand | null {
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
