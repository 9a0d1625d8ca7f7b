import type { RequestTag } from "../facts/traffic.ts";
import type { Tokens } from "../facts/usage.ts";
import type { Status } from "../link/status.ts";
import type { JsonObject } from "../tools/json.ts";

/** The public form of a proxied request. */
export interface RequestRecord {
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
  readonly conversation_id: string;
  readonly branch: string;
  readonly previous_request_id: string | null;
  readonly is_retry: boolean;
  readonly tag: RequestTag | null;
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
  readonly usage: Tokens | null;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly first_token_ms: number | null;
  readonly duration_ms: number | null;
}

export interface Subtask {
  /** Its first request; null if none was recorded. */
  readonly request_id: string | null;
  /** The request whose response contains the spawn call; null if it was not recorded. */
  readonly parent_task_request_id: string | null;
  readonly task_number: number;
  /** Null if it was manually linked to the request without a call. */
  readonly tool_use_id: string | null;
  readonly description: string | null;
  readonly prompt: string | null;
  readonly message_count: number;
  readonly status: Status;
  readonly uri: string;
  readonly tokens: number;
  readonly duration_ms: number | null;
}

/** A text of a request, by the name under which it can be fetched in full. */
export interface Piece {
  readonly piece: string;
  readonly role: string;
  readonly preview: string;
  readonly chars: number;
  /** It was not in the previous request. */
  readonly is_new: boolean;
}

export interface RequestContent {
  readonly headers: Readonly<Record<string, string>>;
  readonly response_headers: Readonly<Record<string, string>>;
  readonly system: Piece | null;
  readonly tools: Piece | null;
  readonly messages: readonly Piece[];
  /**
   * From the previous request: the names of its system prompt and tools, and messages that this one no longer contains.
   */
  readonly previous: {
    readonly system: string | null;
    readonly tools: string | null;
    readonly gone: readonly string[];
  } | null;
  readonly settings: JsonObject;
  readonly answer: readonly JsonObject[];
}

/** One message of a conversation. */
export interface ConversationMessage {
  /** From 1, oldest first. */
  readonly number: number;
  readonly role: string;
  readonly text: string;
  /** As in the API; for a response, its blocks. */
  readonly content: unknown;
  /** The request that first contained it, or whose response it is. */
  readonly request_id: string;
}

/** A request with its content. */
export interface RequestDetail extends RequestRecord {
  readonly content: RequestContent;
}
