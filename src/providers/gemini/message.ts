import type { LifecycleState } from "../../core/facts/observation.ts";
import type { Tokens } from "../../core/facts/usage.ts";
import { asCount, asList, asNonBlank, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { outputText, partText, responsesIn } from "../kit/gemini-parts.ts";
import type { MessageResult } from "../kit/messages.ts";
import { firstLine } from "../kit/text.ts";

/** One message; it is written again when its tool calls have ended. */
export interface Message {
  readonly id: string;
  readonly at: number | null;
  readonly type: string;
  readonly text: string;
  readonly thoughts: readonly string[];
  readonly model: string;
  readonly tokens: Tokens | null;
  readonly calls: readonly ToolCall[];
  /** The message requests tools whose calls are not recorded yet. */
  readonly requestsTools: boolean;
  /** Tool results, as sent to the model. */
  readonly results: readonly MessageResult[];
  /** The context that every session begins with. */
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
  /** Set for spawn calls. */
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

/** Null if it is not a message. */
export function readMessage(json: JsonObject): Message | null {
  const [id, type] = [asNonBlank(json.id), asNonBlank(json.type)];
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
    requestsTools: parts.some((part) => asObject(part?.functionCall) !== null),
    results: responsesIn(json.content),
    isContext: type === "user" && /^\s*<session_context>/.test(text),
  };
}

function thoughtText(thought: JsonObject | null): string | null {
  const texts = [asNonBlank(thought?.subject), asNonBlank(thought?.description)].filter((text) => text !== null);
  return texts.length === 0 ? null : texts.join("\n");
}

function tokensOf(tokens: JsonObject | null): Tokens | null {
  if (tokens === null) return null;
  const cached = asCount(tokens.cached);
  return {
    // Tokens from tools are not part of `input`.
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
  const [id, name] = [asNonBlank(json?.id), asNonBlank(json?.name)];
  if (json === null || id === null || name === null) return null;
  const status = asText(json.status) ?? "";
  const text = asList(json.result)
    .map((part) => outputText(asObject(asObject(asObject(part)?.functionResponse)?.response)))
    .join("\n");
  const call = {
    id,
    name,
    args: asObject(json.args) ?? {},
    at: asTime(json.timestamp),
    isDone: DONE.has(status),
    isError: status === "error",
    text,
  };
  return { ...call, spawn: readSpawn(json, call, status) };
}

/** Up to 0.38 every agent type is a tool; its display distinguishes it from other tools. */
export const SPAWN_TOOL = "invoke_agent";

function readSpawn(json: JsonObject, call: Omit<ToolCall, "spawn">, status: string): Spawn | null {
  const display = asObject(json.resultDisplay);
  const agent = asNonBlank(json.agentId);
  if (call.name !== SPAWN_TOOL && display?.isSubagentProgress !== true && agent === null) return null;
  const { agent_name, prompt, objective, request, query, question, ...others } = call.args;
  const texts =
    [prompt, objective, request, query, question, ...Object.values(others)]
      .map(asNonBlank)
      .find((text) => text !== null) ?? null;
  return {
    agent,
    agentType:
      asNonBlank(agent_name) ?? asNonBlank(display?.agentName) ?? (call.name === SPAWN_TOOL ? null : call.name),
    prompt: texts,
    end: call.isDone ? endOf(display, status, call.text) : null,
  };
}

/** The call's status is `success` for failed children, too; the display is more accurate. */
function endOf(display: JsonObject | null, status: string, text: string): Spawn["end"] {
  const [state, reason] = [asText(display?.state), asText(display?.terminateReason)];
  const end = (as: LifecycleState, says: string) => ({
    state: as,
    says,
    result: as === "completed" ? (asNonBlank(display?.result) ?? asNonBlank(text)) : null,
  });
  if (reason === "ABORTED" || state === "cancelled" || status === "cancelled")
    return end("shutdown", "its call was cancelled");
  if (reason !== null)
    return reason === "GOAL"
      ? end("completed", "its call returned its result")
      : end("errored", `its call ended with ${reason}`);
  if (state === "error" || status === "error") return end("errored", `its call failed: ${firstLine(text)}`);
  // Still displayed as running when the call ended: the end is unknown.
  return state === "running" ? null : end("completed", "its call has returned");
}
