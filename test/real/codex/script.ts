/**
 * The scripts of the model. A task contains a marker `@@name`; the last one in a thread's input names its script, and a
 * thread runs its script response by response. Inherited history is before the task, so forks need nothing special.
 */
import type { InputItem, ResponsesRequest, Tool } from "./wire.ts";

export type Block = { text: string } | { tool: string; input: Record<string, unknown> } | { code: string };

export interface Asked {
  request: ResponsesRequest;
}

export type Reply = { blocks: Block[]; afterMs?: number } | { error: number } | { hang: true };
export type Step = Block | Block[] | Reply | ((asked: Asked) => Block | Block[] | Reply);
export type Scripts = Record<string, Step[]>;

const MARKER = /@@([A-Za-z0-9_-]+)/g;

export function scriptOf({ input }: ResponsesRequest): string | null {
  const inputs = input.filter((item) => item.type === "agent_message" || item.role === "user" || isLetter(item));
  return inputs.flatMap((item) => [...textOf(item).matchAll(MARKER)]).at(-1)?.[1] ?? null;
}

/** Up to 0.135, messages of agents are passed to the model as its own text. */
const isLetter = (item: InputItem) => item.role === "assistant" && textOf(item).startsWith('{"author"');

function textOf({ content }: InputItem): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? part.encrypted_content ?? "").join("\n");
}

export function replyOf(scripts: Scripts, script: string | null, step: number, asked: Asked): Reply {
  const steps = (script === null ? undefined : scripts[script]) ?? [{ text: "nothing to say" }];
  const chosen = steps[Math.min(step, steps.length - 1)] ?? { text: "nothing to say" };
  const reply = typeof chosen === "function" ? chosen(asked) : chosen;
  if (Array.isArray(reply)) return { blocks: reply };
  return "blocks" in reply || "error" in reply || "hang" in reply ? reply : { blocks: [reply] };
}

/** Since 0.133 a model has to search for these tools before it sees them, unless it knows their names. */
const DEFERRED = new Set(["spawn_agent", "wait_agent"]);

/** Finds a tool: versions put the same tools into different namespaces, or add them to the first message. */
export function findTool({ tools = [], input }: ResponsesRequest, name: string): { namespace: string | null } | null {
  const offered = [...tools, ...input.flatMap((item) => item.tools ?? [])];
  const within = (list: readonly Tool[]) => list.some((tool) => tool.name === name);
  if (within(offered.filter((tool) => tool.type !== "namespace"))) return { namespace: null };
  const found = offered.find((tool) => tool.type === "namespace" && within(tool.tools ?? []));
  if (found !== undefined) return { namespace: found.name === "functions" ? null : (found.name ?? null) };
  return offered.some((tool) => tool.type === "tool_search") && DEFERRED.has(name)
    ? { namespace: "multi_agent_v1" }
    : null;
}

/** The results of a tool's calls so far, if they are JSON. */
export function resultsOf({ input }: ResponsesRequest, name: string): Record<string, unknown>[] {
  const calls = new Set(
    input.flatMap((item) => (item.name === name && item.call_id !== undefined ? [item.call_id] : [])),
  );
  return input.flatMap((item) => {
    if (item.type !== "function_call_output" || !calls.has(item.call_id ?? "") || typeof item.output !== "string")
      return [];
    return item.output.startsWith("{") ? [JSON.parse(item.output) as Record<string, unknown>] : [];
  });
}
