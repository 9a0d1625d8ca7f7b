/** Schemas of recorded API traffic. */
import * as v from "valibot";
import { REQUEST_TAGS } from "../core/facts/traffic.ts";
import { STATUSES } from "../core/link/status.ts";
import { count, flag, Tokens, text, wholeNumber } from "./schemas.ts";

const status = v.picklist(STATUSES);
const when = v.pipe(v.string(), v.isoTimestamp());

const request = {
  request_id: v.string(),
  uri: v.pipe(text, v.description("The agent that made it")),
  is_subtask: v.boolean(),
  parent_task_request_id: v.pipe(text, v.description("The request whose response contains the spawn call")),
  task_tool_invocation: v.array(
    v.object({ tool_use_id: v.string(), name: v.string(), prompt: text, description: text }),
  ),
  conversation_id: v.string(),
  branch: v.string(),
  previous_request_id: text,
  is_retry: v.boolean(),
  tag: v.nullable(v.picklist(REQUEST_TAGS)),
  method: v.string(),
  path: v.string(),
  upstream: v.string(),
  model: text,
  message_count: count,
  status,
  status_reason: v.string(),
  http_status: v.nullable(count),
  stop_reason: text,
  error: text,
  usage: v.nullable(v.object(Tokens)),
  started_at: when,
  ended_at: v.nullable(when),
  first_token_ms: v.nullable(v.number()),
  duration_ms: v.nullable(v.number()),
};
const Request = v.pipe(v.object(request), v.metadata({ ref: "Request" }));
export const Requests = v.object({ items: v.array(Request), next: text });

const headers = v.record(v.string(), v.string());
const piece = v.object({ piece: v.string(), role: v.string(), preview: v.string(), chars: count, is_new: v.boolean() });
export const RequestDetail = v.object({
  ...request,
  content: v.object({
    headers,
    response_headers: headers,
    system: v.nullable(piece),
    tools: v.nullable(piece),
    messages: v.array(piece),
    previous: v.nullable(v.object({ system: text, tools: text, gone: v.array(v.string()) })),
    settings: v.record(v.string(), v.unknown()),
    answer: v.array(v.record(v.string(), v.unknown())),
  }),
});
export const PieceText = v.object({ json: v.unknown() });

const subtasks = v.array(
  v.object({
    request_id: text,
    parent_task_request_id: text,
    task_number: count,
    tool_use_id: text,
    description: text,
    prompt: text,
    message_count: count,
    status,
    uri: v.string(),
    tokens: count,
    duration_ms: v.nullable(v.number()),
  }),
);
export const Subtasks = v.object({ items: subtasks, next: v.null() });

const conversation = {
  id: v.string(),
  uri: v.string(),
  title: text,
  requests: count,
  branches: v.array(
    v.object({
      name: v.string(),
      requests: count,
      messages: count,
      first_request_id: v.string(),
      last_request_id: v.string(),
    }),
  ),
  first_at: when,
  last_at: when,
};
const Conversation = v.pipe(
  v.object({ ...conversation, messages: count, subtasks: count }),
  v.metadata({ ref: "Conversation" }),
);
const message = v.object({
  number: count,
  role: v.string(),
  text: v.string(),
  content: v.unknown(),
  request_id: v.string(),
});
export const ConversationDetail = v.object({
  ...conversation,
  message_count: count,
  subtask_count: count,
  branch: v.pipe(v.string(), v.description("The branch whose messages these are")),
  messages: v.object({ items: v.array(message), next: text }),
  subtasks: v.object({ items: subtasks, next: text }),
});
export const Conversations = v.object({ items: v.array(Conversation), next: text });

export const RequestsQuery = v.strictObject({
  agent: v.optional(v.pipe(v.string(), v.description("only those of this agent, by its URI"))),
  work: v.optional(
    v.pipe(flag, v.description("omit internal model calls: titles, quota checks, compactions and the like")),
  ),
  limit: v.optional(wholeNumber(1, 1_000), "50"),
  cursor: v.optional(v.string()),
});
export const ConversationsQuery = v.strictObject({
  limit: v.optional(wholeNumber(1, 200), "50"),
  cursor: v.optional(v.string()),
});
export const ConversationQuery = v.strictObject({
  branch: v.optional(
    v.pipe(v.string(), v.description("the branch whose messages to return; default: the one with the newest request")),
  ),
  limit: v.optional(wholeNumber(1, 1_000), "50"),
  messages_cursor: v.optional(v.pipe(v.string(), v.description("`next` of the previous page of messages"))),
  subtasks_cursor: v.optional(v.pipe(v.string(), v.description("`next` of the previous page of sub-tasks"))),
});
