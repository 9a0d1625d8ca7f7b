import { asCount, asList, asObject, asText, asTime, asWords, type JsonObject, jsonText } from "../../core/json.ts";
import type { LifecycleState } from "../../core/observation.ts";
import type { Tokens } from "../../core/usage.ts";

/** One message of a conversation; the same one is written again when its tool calls have ended. */
export interface Message {
  readonly id: string;
  readonly at: number | null;
  readonly type: string;
  readonly text: string;
  readonly thoughts: readonly string[];
  readonly model: string;
  readonly tokens: Tokens | null;
  readonly calls: readonly ToolCall[];
  /** It asks for tools, though nothing is written of the calls yet. */
  readonly asks: boolean;
  /** What tools answered, as the model is told. */
  readonly answers: readonly { readonly id: string; readonly text: string; readonly isError: boolean }[];
  /** Not said by anybody: the surroundings that every session begins with. */
  readonly isContext: boolean;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  readonly at: number | null;
  readonly isDone: boolean;
  readonly isError: boolean;
  readonly text: string;
  /** Set for calls of agents. */
  readonly spawn: Spawn | null;
}

export interface Spawn {
  /** Since 0.39. */
  readonly agent: string | null;
  readonly agentType: string | null;
  readonly prompt: string | null;
  readonly end: { readonly state: LifecycleState; readonly says: string; readonly result: string | null } | null;
}

export const MESSAGE_TYPES: ReadonlySet<string> = new Set(["user", "gemini", "info", "error", "warning"]);

/** Null for what is no message. */
export function readMessage(json: JsonObject): Message | null {
  const [id, type] = [asWords(json.id), asWords(json.type)];
  if (id === null || type === null) return null;
  const parts = asList(json.content).map(asObject);
  const text = typeof json.content === "string" ? json.content : asList(json.content).map(partText).join("");
  return {
    id,
    at: asTime(json.timestamp),
    type,
    text,
    thoughts: asList(json.thoughts).flatMap((thought) => thoughtText(asObject(thought)) ?? []),
    model: asText(json.model) ?? "",
    tokens: tokensOf(asObject(json.tokens)),
    calls: asList(json.toolCalls).flatMap((call) => readCall(asObject(call)) ?? []),
    asks: parts.some((part) => asObject(part?.functionCall) !== null),
    answers: parts.flatMap((part) => readAnswer(asObject(part?.functionResponse)) ?? []),
    isContext: type === "user" && /^\s*<session_context>/.test(text),
  };
}

const partText = (part: unknown) => (typeof part === "string" ? part : (asText(asObject(part)?.text) ?? ""));

function thoughtText(thought: JsonObject | null): string | null {
  const words = [asWords(thought?.subject), asWords(thought?.description)].filter((text) => text !== null);
  return words.length === 0 ? null : words.join("\n");
}

function tokensOf(tokens: JsonObject | null): Tokens | null {
  if (tokens === null) return null;
  const cached = asCount(tokens.cached);
  return {
    // What tools put into the prompt is counted apart from it.
    inputTokens: Math.max(0, asCount(tokens.input) - cached) + asCount(tokens.tool),
    outputTokens: asCount(tokens.output),
    reasoningTokens: asCount(tokens.thoughts),
    cacheReadTokens: cached,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
  };
}

const DONE = new Set(["success", "error", "cancelled"]);

function readCall(json: JsonObject | null): ToolCall | null {
  const [id, name] = [asWords(json?.id), asWords(json?.name)];
  if (json === null || id === null || name === null) return null;
  const status = asText(json.status) ?? "";
  const text = asList(json.result)
    .map((part) => answerText(asObject(asObject(asObject(part)?.functionResponse)?.response)))
    .join("\n");
  const call = { id, name, args: asObject(json.args) ?? {}, at: asTime(json.timestamp), isDone: DONE.has(status), isError: status === "error", text };
  return { ...call, spawn: readSpawn(json, call, status) };
}

function readAnswer(json: JsonObject | null): Message["answers"][number] | null {
  const id = asWords(json?.id);
  const response = asObject(json?.response);
  return id === null ? null : { id, text: answerText(response), isError: response?.error !== undefined };
}

function answerText(response: JsonObject | null): string {
  const told = response?.output ?? response?.error;
  return asText(told) ?? (response === null ? "" : (jsonText(told ?? response) ?? ""));
}

/** Up to 0.38 every agent is a tool of its own name; what such a call shows tells it from other tools. */
export const SPAWN_TOOL = "invoke_agent";

function readSpawn(json: JsonObject, call: Omit<ToolCall, "spawn">, status: string): Spawn | null {
  const display = asObject(json.resultDisplay);
  const agent = asWords(json.agentId);
  if (call.name !== SPAWN_TOOL && display?.isSubagentProgress !== true && agent === null) return null;
  const { agent_name, prompt, objective, request, query, question, ...others } = call.args;
  const words = [prompt, objective, request, query, question, ...Object.values(others)].map(asWords).find((text) => text !== null) ?? null;
  return {
    agent,
    agentType: asWords(agent_name) ?? asWords(display?.agentName) ?? (call.name === SPAWN_TOOL ? null : call.name),
    prompt: words,
    end: call.isDone ? endOf(display, status, call.text) : null,
  };
}

/** The status of the call is `success` for children that failed as well; what it shows knows better. */
function endOf(display: JsonObject | null, status: string, text: string): Spawn["end"] {
  const [state, reason] = [asText(display?.state), asText(display?.terminateReason)];
  const end = (as: LifecycleState, says: string) => ({ state: as, says, result: as === "completed" ? (asWords(display?.result) ?? asWords(text)) : null });
  if (reason === "ABORTED" || state === "cancelled" || status === "cancelled") return end("shutdown", "its call was cancelled");
  if (reason !== null) return reason === "GOAL" ? end("completed", "its call returned its result") : end("errored", `its call ended with ${reason}`);
  if (state === "error" || status === "error") return end("errored", `its call failed: ${firstLine(text)}`);
  // Still shown as running when the call was over: the product did not say how it ended.
  return state === "running" ? null : end("completed", "its call has returned");
}

const firstLine = (text: string) => (text.split("\n")[0] ?? "").slice(0, 200);
