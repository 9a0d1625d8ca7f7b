/**
 * The scripts of the model. A prompt contains a marker `@@name`; the last one in the conversation names the script, and
 * the number of responses since then is the step. So the model keeps no state per agent, and agents that are
 * resumed, forked, nested, parallel or have equal prompts need nothing special.
 */
import type { MessagesRequest } from "./wire.ts";

export type Block = { text: string } | { thinking: string } | { tool: string; input: Record<string, unknown> };

/** The input of a step that depends on the request. */
export interface Asked {
  /** Counts the requests of a run, so that a text that contains it is unique. */
  n: number;
  request: MessagesRequest;
}

export type Reply =
  | { blocks: Block[]; afterMs?: number }
  | { error: { status: number; type: string; message: string } }
  /** The response starts and never continues, until the client disconnects. */
  | { hang: true };

export type Step = Block | Block[] | Reply | ((asked: Asked) => Block | Block[] | Reply);
export type Scripts = Record<string, Step[]>;

export interface Position {
  script: string | null;
  step: number;
}

const MARKER = /@@([A-Za-z0-9_-]+)/g;

export function positionOf(request: MessagesRequest): Position {
  let script: string | null = null;
  let step = 0;
  for (const message of request.messages) {
    if (message.role === "assistant") step += 1;
    if (message.role !== "user") continue;
    const marker = textsOf(message.content)
      .flatMap((text) => [...text.matchAll(MARKER)])
      .at(-1)?.[1];
    if (marker === undefined) continue;
    script = marker;
    step = 0;
  }
  return { script, step };
}

/** The texts of people and programs, without tool results, which may quote a marker. */
export function textsOf(content: MessagesRequest["messages"][number]["content"]): string[] {
  if (typeof content === "string") return [content];
  return content.flatMap((block) => (block.type === "text" && block.text !== undefined ? [block.text] : []));
}

export function replyOf(scripts: Scripts, position: Position, asked: Asked): Reply {
  const steps = position.script === null ? undefined : scripts[position.script];
  // Small internal requests of the product (titles, paths of a command) offer no tools and expect at most some JSON.
  if (!asked.request.tools?.length || !steps) return { blocks: [{ text: '{"title": "scripted"}' }] };
  const step = steps[Math.min(position.step, steps.length - 1)] ?? { text: "nothing to say" };
  const reply = typeof step === "function" ? step(asked) : step;
  if (Array.isArray(reply)) return { blocks: reply };
  return "blocks" in reply || "error" in reply || "hang" in reply ? reply : { blocks: [reply] };
}
