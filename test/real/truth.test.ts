import { expect, it } from "vitest";
import type { Exchange } from "./model.ts";
import { truthOf } from "./truth.ts";
import { inventedUsage } from "./usage.ts";
import type { Answer, ContentBlock, MessagesRequest } from "./wire.ts";

const SESSION = "0f0f0f0f-0000-4000-8000-000000000000";
let responses = 0;

const text = (content: string): ContentBlock => ({ type: "text", text: content });
const call = (id: string, script: string): ContentBlock => ({
  type: "tool_use",
  id,
  name: "Task",
  input: { prompt: `Do it. @@${script}` },
});
const bash = (id: string): ContentBlock => ({ type: "tool_use", id, name: "Bash", input: {} });
const result = (id: string, content: string): ContentBlock => ({
  type: "tool_result",
  tool_use_id: id,
  content: [text(content)],
});

/** One request, given as the turns of its history, and its response. */
function exchange(
  script: string,
  turns: ContentBlock[][],
  content: ContentBlock[] | number,
  headers: Record<string, string> = {},
): Exchange {
  const messages: MessagesRequest["messages"] = turns.map((content, i) => ({
    role: i % 2 ? "assistant" : "user",
    content,
  }));
  const request: MessagesRequest = {
    model: "m",
    messages,
    tools: [{ name: "Task" }],
    metadata: { user_id: `user_x_session_${SESSION}` },
  };
  const position = { script, step: (turns.length - 1) / 2 };
  if (typeof content === "number")
    return { ...position, headers, request, status: content, answer: null, finished: true };
  responses += 1;
  const stop_reason: Answer["stop_reason"] = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
  const answer: Answer = {
    id: `msg_${responses}`,
    type: "message",
    role: "assistant",
    model: "m",
    content,
    stop_reason,
    stop_sequence: null,
    usage: inventedUsage(responses),
  };
  return { ...position, headers, request, status: 200, answer, finished: true };
}

const prompt = (script: string): ContentBlock[] => [text(`Do it. @@${script}`)];
const begin = [text("Begin. @@main")];
const brief = (exchanges: Exchange[], endings = {}) =>
  truthOf(exchanges, endings).threads.map(({ agents }) =>
    agents.map(({ agentId, parentAgentId, toolCallId, status, calls }) => ({
      agentId,
      parentAgentId,
      toolCallId,
      status,
      calls,
    })),
  );

it("distinguishes two agents with the same prompt and no ids by their results", () => {
  const spawn = [call("call-1", "S"), call("call-2", "S")];
  const exchanges = [
    exchange("main", [begin], spawn),
    exchange("S", [prompt("S")], [bash("b-1")]),
    exchange("S", [prompt("S")], [bash("b-2")]),
    exchange("S", [prompt("S"), [bash("b-2")], [result("b-2", "x")]], [text("Report two.")]),
    exchange("S", [prompt("S"), [bash("b-1")], [result("b-1", "x")]], [text("Report one.")]),
    exchange(
      "main",
      [begin, spawn, [result("call-1", "Report two. agentId: aaa"), result("call-2", "Report one. agentId: bbb")]],
      [text("Done.")],
    ),
  ];
  expect(brief(exchanges)).toEqual([
    [
      { agentId: null, parentAgentId: null, toolCallId: undefined, status: "completed", calls: 2 },
      { agentId: "bbb", parentAgentId: null, toolCallId: "call-2", status: "completed", calls: 2 },
      { agentId: "aaa", parentAgentId: null, toolCallId: "call-1", status: "completed", calls: 2 },
    ],
  ]);
});

it("uses ids and parents from the headers if these are sent", () => {
  const a = { "x-claude-code-agent-id": "a" };
  const leaf = { "x-claude-code-agent-id": "leaf", "x-claude-code-parent-agent-id": "a" };
  const exchanges = [
    exchange("main", [begin], [call("call-a", "A")]),
    exchange("A", [prompt("A")], [call("call-leaf", "L")], a),
    exchange("L", [prompt("L")], [text("Leaf.")], leaf),
    exchange(
      "A",
      [prompt("A"), [call("call-leaf", "L")], [result("call-leaf", "Leaf. agentId: leaf")]],
      [text("A.")],
      a,
    ),
    exchange("main", [begin, [call("call-a", "A")], [result("call-a", "A. agentId: a")]], [text("Done.")]),
  ];
  expect(brief(exchanges)[0]?.slice(1)).toEqual([
    { agentId: "a", parentAgentId: null, toolCallId: "call-a", status: "completed", calls: 2 },
    { agentId: "leaf", parentAgentId: "a", toolCallId: "call-leaf", status: "completed", calls: 1 },
  ]);
});

it("treats a repeated request that failed as one agent, which must be errored", () => {
  const exchanges = [
    exchange("main", [begin], [call("call-1", "F")]),
    exchange("F", [prompt("F")], 500),
    exchange("F", [prompt("F")], 500),
    exchange(
      "main",
      [begin, [call("call-1", "F")], [{ ...result("call-1", "Error"), is_error: true }]],
      [text("Done.")],
    ),
  ];
  expect(brief(exchanges, { F: { status: "errored", why: "API error" } })[0]?.slice(1)).toEqual([
    { agentId: "call-1", parentAgentId: null, toolCallId: "call-1", status: "errored", calls: 0 },
  ]);
  expect(() => brief(exchanges)).toThrow("how did F end?");
});

it("does not count a response that was never finished", () => {
  const cut = { ...exchange("main", [begin], [text("Cut off.")]), finished: false };
  expect(brief([cut], { main: { status: "shutdown", why: "killed" } })).toMatchObject([
    [{ status: "shutdown", calls: 0 }],
  ]);
});
