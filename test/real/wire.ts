/** The part of the Messages API that the scripted model supports. */

export interface ContentBlock {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  input?: Record<string, unknown>;
  thinking?: string;
  signature?: string;
  tool_use_id?: string;
  is_error?: boolean;
  content?: string | ContentBlock[];
}

export interface MessagesRequest {
  model: string;
  stream?: boolean;
  messages: { role: string; content: string | ContentBlock[] }[];
  tools?: { name: string; input_schema?: { properties?: Record<string, unknown> } }[];
  metadata?: { user_id?: string };
}

export interface WireUsage {
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
  cache_creation: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number };
}

export interface Answer {
  id: string;
  type: "message";
  role: "assistant";
  model: string;
  content: ContentBlock[];
  stop_reason: "end_turn" | "tool_use";
  stop_sequence: null;
  usage: WireUsage;
}

/** The response as the server-sent events of the API. */
export function* streamed(answer: Answer): Generator<string> {
  yield opening(answer);
  for (const [index, block] of answer.content.entries()) {
    const { start, deltas } = pieces(block);
    yield event({ type: "content_block_start", index, content_block: start });
    for (const delta of deltas) yield event({ type: "content_block_delta", index, delta });
    yield event({ type: "content_block_stop", index });
  }
  yield event({
    type: "message_delta",
    delta: { stop_reason: answer.stop_reason, stop_sequence: null },
    usage: answer.usage,
  });
  yield event({ type: "message_stop" });
}

/**
 * As in the real API, the output is not known yet when the response starts: a reader that uses this number fails the
 * test.
 */
export function opening(answer: Answer): string {
  return event({
    type: "message_start",
    message: { ...answer, content: [], stop_reason: null, usage: { ...answer.usage, output_tokens: 1 } },
  });
}

function pieces(block: ContentBlock): { start: ContentBlock; deltas: Record<string, unknown>[] } {
  if (block.type === "tool_use") {
    return {
      start: { ...block, input: {} },
      deltas: [{ type: "input_json_delta", partial_json: JSON.stringify(block.input) }],
    };
  }
  if (block.type === "thinking") {
    return {
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        { type: "thinking_delta", thinking: block.thinking },
        { type: "signature_delta", signature: block.signature },
      ],
    };
  }
  const text = block.text ?? "";
  const half = Math.ceil(text.length / 2);
  return {
    start: { type: "text", text: "" },
    deltas: [text.slice(0, half), text.slice(half)].filter(Boolean).map((part) => ({ type: "text_delta", text: part })),
  };
}

function event(data: { type: string; [more: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
