import type { Status } from "./types.ts";

/** `GET /api/requests` */
export interface ApiRequest {
  readonly request_id: string;
  readonly uri: string | null;
  readonly is_subtask: boolean;
  readonly parent_task_request_id: string | null;
  readonly task_tool_invocation: readonly {
    readonly tool_use_id: string;
    readonly name: string;
    readonly prompt: string | null;
    readonly description: string | null;
  }[];
  readonly branch: string;
  readonly previous_request_id: string | null;
  readonly is_retry: boolean;
  readonly tag: string | null;
  readonly method: string;
  readonly path: string;
  readonly upstream: string;
  readonly model: string | null;
  readonly message_count: number;
  readonly status: Status;
  readonly status_reason: string;
  readonly http_status: number | null;
  readonly stop_reason: string | null;
  readonly error: string | null;
  readonly usage: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly reasoningTokens: number;
    readonly cacheReadTokens: number;
    readonly cacheWriteTokens: number;
    readonly cacheWrite1hTokens: number;
  } | null;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly first_token_ms: number | null;
  readonly duration_ms: number | null;
}

export interface Piece {
  readonly piece: string;
  readonly role: string;
  readonly preview: string;
  readonly chars: number;
  readonly is_new: boolean;
}

/** `GET /api/requests/{id}` */
export interface ApiRequestDetail extends ApiRequest {
  readonly content: {
    readonly headers: Readonly<Record<string, string>>;
    readonly response_headers: Readonly<Record<string, string>>;
    readonly system: Piece | null;
    readonly tools: Piece | null;
    readonly messages: readonly Piece[];
    readonly previous: { readonly system: string | null; readonly tools: string | null; readonly gone: readonly string[] } | null;
    readonly settings: Readonly<Record<string, unknown>>;
    readonly answer: readonly Readonly<Record<string, unknown>>[];
  };
}

/** `GET /api/requests/{id}/subtasks` */
export interface Subtask {
  readonly request_id: string | null;
  readonly task_number: number;
  readonly tool_use_id: string;
  readonly description: string | null;
  readonly prompt: string | null;
  readonly message_count: number;
  readonly status: Status;
  readonly uri: string;
  readonly tokens: number;
  readonly duration_ms: number | null;
}

/** Messages in runs: those that stood in the request before are folded together. */
export type MessageRun = { readonly is: "before"; readonly messages: readonly Piece[] } | { readonly is: "new"; readonly message: Piece };

export function messageRuns(messages: readonly Piece[], hasPrevious: boolean): readonly MessageRun[] {
  const runs: MessageRun[] = [];
  let same: Piece[] = [];
  const flush = () => {
    if (same.length > 0) runs.push({ is: "before", messages: same });
    same = [];
  };
  for (const message of messages) {
    if (hasPrevious && !message.is_new) same.push(message);
    else {
      flush();
      runs.push({ is: "new", message });
    }
  }
  flush();
  return runs;
}

/** Adds a page, or what is newer, to the requests at hand: each once, newest first, as it is known last. */
export function merged(known: readonly ApiRequest[], more: readonly ApiRequest[]): readonly ApiRequest[] {
  const all = new Map([...known, ...more].map((request) => [request.request_id, request]));
  return [...all.values()].sort((a, b) => (a.started_at === b.started_at ? (a.request_id < b.request_id ? -1 : 1) : a.started_at < b.started_at ? 1 : -1));
}

/** The text of a part of an answer or a message, as people read it. */
export function wordsIn(json: unknown): string {
  if (typeof json === "string") return json;
  if (Array.isArray(json))
    return json
      .map(wordsIn)
      .filter((text) => text !== "")
      .join("\n\n");
  const part = (json ?? {}) as Readonly<Record<string, unknown>>;
  const said = [part.text, part.thinking].find((text) => typeof text === "string");
  if (typeof said === "string") return said;
  if (typeof part.name === "string" && "input" in part) return `${part.name} ${JSON.stringify(part.input, null, 2)}`;
  if (Array.isArray(part.content) || typeof part.content === "string") return wordsIn(part.content);
  return JSON.stringify(json, null, 2);
}
