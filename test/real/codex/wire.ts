/** The part of the Responses API that Codex uses. */
export interface InputItem {
  type?: string;
  role?: string;
  content?: string | { text?: string; encrypted_content?: string }[];
  name?: string;
  call_id?: string;
  output?: unknown;
  tools?: Tool[];
}

export interface Tool {
  type: string;
  name?: string;
  /** Of a namespace. */
  tools?: Tool[];
}

export interface ResponsesRequest {
  model: string;
  input: InputItem[];
  tools?: Tool[];
}

export type OutputItem =
  | {
      type: "message";
      id: string;
      role: "assistant";
      status: "completed";
      content: { type: "output_text"; text: string; annotations: [] }[];
    }
  | {
      type: "function_call";
      id: string;
      call_id: string;
      name: string;
      namespace?: string;
      arguments: string;
      status: "completed";
    }
  | { type: "custom_tool_call"; id: string; call_id: string; name: string; input: string; status: "completed" };

export interface WireUsage {
  /** Cached tokens are part of it. */
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  /** Reasoning is part of it. */
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

export interface Answer {
  id: string;
  model: string;
  output: OutputItem[];
  usage: WireUsage;
}

/**
 * Numbers are unique and unevenly spaced, so that swapped, doubled or lost responses cannot have the right sums
 * by chance.
 */
export function inventedUsage(n: number): WireUsage {
  const [input, output, cached] = [1000 + 10 * n + n * n, 20 + 3 * n + 2 * n * n, 5 * n + (n ** 3 % 101)];
  return {
    input_tokens: input + cached,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: n },
    total_tokens: input + cached + output,
  };
}

const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

export const opening = ({ id, model }: Pick<Answer, "id" | "model">) =>
  event("response.created", { response: { id, object: "response", status: "in_progress", model, output: [] } });

export function* streamed(answer: Answer): Generator<string> {
  yield opening(answer);
  for (const [output_index, item] of answer.output.entries()) {
    yield event("response.output_item.added", { output_index, item: { ...item, status: "in_progress" } });
    yield event("response.output_item.done", { output_index, item });
  }
  yield event("response.completed", { response: { ...answer, object: "response", status: "completed" } });
}
