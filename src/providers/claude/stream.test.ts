import { describe, expect, it } from "vitest";
import { threadKey } from "../../core/facts/ids.ts";
import type { Observation } from "../../core/facts/observation.ts";
import { link } from "../../core/link/link.ts";
import { recordedLine, recordedNote } from "../../core/ports/recording.ts";
import { beganNote } from "../../core/ports/run-note.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { treeOf } from "../../core/views/record.ts";
import { provider as claude } from "./provider.ts";

const SESSION = "11111111-2222-4333-8444-555555555555";
const NOW = 1_794_800_000_000;
const [A, B] = ["toolu_000000000000000a", "toolu_000000000000000b"];

let ids = 0;
const nextId = () => {
  ids += 1;
  return String(ids).padStart(12, "0");
};
const printed = (line: object) => ({ session_id: SESSION, uuid: `00000000-0000-4000-8000-${nextId()}`, ...line });
const assistant = (content: readonly object[], more: object = {}) =>
  printed({
    type: "assistant",
    parent_tool_use_id: null,
    message: {
      id: `msg_000000000000${nextId()}`,
      role: "assistant",
      model: "m",
      content,
      usage: { input_tokens: 5, output_tokens: 1 },
    },
    ...more,
  });
const user = (content: unknown, more: object = {}) =>
  printed({ type: "user", parent_tool_use_id: null, message: { role: "user", content }, ...more });
const task = (id: string, prompt: string, name = "Task") => ({
  type: "tool_use",
  id,
  name,
  input: { description: "Look", prompt, subagent_type: "Explore" },
});
const result = (id: string, content: unknown, isError = false) => ({
  type: "tool_result",
  tool_use_id: id,
  content,
  is_error: isError,
});
const system = (subtype: string, more: object = {}) => printed({ type: "system", subtype, ...more });
const started = (id: string, call: string | null, more: object = {}) =>
  system("task_started", {
    task_id: id,
    ...(call === null ? {} : { tool_use_id: call }),
    task_type: "local_agent",
    prompt: "Do it.",
    description: "Look",
    ...more,
  });

function treeFrom(lines: readonly (object | string)[]): AgentTree {
  const stream = claude.recorded?.("run/x.jsonl");
  const observations: Observation[] = [];
  const records = [
    recordedNote(
      beganNote({
        command: ["claude", "-p", "Begin – größer 🌳"],
        cwd: "/x",
        process: { pid: 1, birth: "1", domain: "linux:elsewhere:pid:[1]", startedAt: NOW },
      }),
      NOW,
    ),
    ...lines.map((line, i) => recordedLine(typeof line === "string" ? line : JSON.stringify(line), NOW + i * 10)),
  ];
  // Saved and restored after every line, as when a server is restarted.
  let saved: unknown;
  for (const [i, record] of records.entries()) {
    const parser = stream?.open({ path: "/r/x.jsonl", bytes: 0 }, saved);
    observations.push(...(parser?.push(new TextEncoder().encode(record.trimEnd()), i + 1).observations ?? []));
    saved = JSON.parse(JSON.stringify(parser?.save()));
  }
  const forest = link(observations, { now: NOW + 5_000, liveness: () => "alive" });
  return treeOf(forest, threadKey("claude", SESSION), () => 0);
}

const shape = ({ agentId, status, children }: AgentTree): unknown => ({
  agentId,
  status,
  ...(children.length === 0 ? {} : { children: children.map(shape) }),
});

describe("a background agent", () => {
  const asked = [system("init"), assistant([task(A, "Do it.", "Agent")])];
  const list = system("background_tasks_changed", {
    tasks: [{ task_id: "a1", task_type: "local_agent", subagent_type: "Explore", description: "Look" }],
  });
  const start = started("a1", A, { is_backgrounded: true });
  const after = [
    assistant([{ type: "text", text: "Looking." }], { parent_tool_use_id: A }),
    system("task_notification", { task_id: "a1", tool_use_id: A, status: "completed", summary: "Found." }),
  ];

  it.each([
    ["before", [list, start]],
    ["after", [start, list]],
  ])("starts once, if the list of tasks names it %s its start", (_, lines) => {
    const running = treeFrom([...asked, ...lines, ...after.slice(0, 1)]);
    expect(running.children).toMatchObject([
      { agentId: "a1", status: "running", link: { rule: "task_started.tool_use_id", toolCallId: A } },
    ]);
    const [child] = treeFrom([...asked, ...lines, ...after]).children;
    expect(child).toMatchObject({
      agentId: "a1",
      status: "completed",
      usage: { own: { calls: 1 } },
      warnings: [COUNT],
    });
  });

  it("has a warning if its last response was not printed", () => {
    const tool = assistant([{ type: "tool_use", id: B, name: "Bash", input: {} }], { parent_tool_use_id: A });
    const [child] = treeFrom([...asked, list, start, tool, ...after.slice(1)]).children;
    expect(child?.warnings).toEqual([LAST, COUNT]);
    const [without] = treeFrom([...asked, list, start, ...after.slice(1)]).children;
    expect(without?.warnings).toEqual([LAST]);
  });

  const COUNT =
    "1 of 1 responses have no final output count (the product's output has only the count with which a response began): output tokens and cost are too low";
  const LAST =
    "its last response is not in the product's output, which --forward-subagent-text would print: tokens and cost are too low";
});

describe("the usage that a result states", () => {
  const usage = {
    inputTokens: 9,
    outputTokens: 70,
    cacheReadInputTokens: 0,
    cacheCreationInputTokens: 0,
    costUSD: 0.5,
  };
  const ended = (modelUsage: object) =>
    printed({
      type: "result",
      subtype: "success",
      num_turns: 1,
      result: "Done.",
      usage: { input_tokens: 5, output_tokens: 50 },
      modelUsage,
    });
  const answered = [system("init"), assistant([{ type: "text", text: "Done." }])];
  const tokensOf = ({ usage: { own, internal } }: AgentTree) => [own.outputTokens, internal?.outputTokens ?? null];

  it("is the thread's own, as far as it is stated; a model that no agent used is internal", () => {
    expect(tokensOf(treeFrom([...answered, ended({ m: { ...usage, inputTokens: 5, outputTokens: 50 } })]))).toEqual([
      50,
      null,
    ]);
    const small = { "m[1m]": { ...usage, inputTokens: 5, outputTokens: 50 }, small: usage };
    expect(tokensOf(treeFrom([...answered, ended(small)]))).toEqual([50, 70]);
  });

  it("counts once if a later turn of the process repeats it or states nothing, and twice for another process", () => {
    const first = { m: { ...usage, inputTokens: 5, outputTokens: 50 } };
    const both = { m: { ...usage, inputTokens: 10, outputTokens: 100 } };
    expect(tokensOf(treeFrom([...answered, ended(first), ...answered, ended({}), ...answered, ended(both)]))[0]).toBe(
      100,
    );
    expect(tokensOf(treeFrom([...answered, ended(both), ...answered, ended(first)]))[0]).toBe(150);
  });

  it("is no statement if it is zero", () => {
    const zero = { inputTokens: 0, outputTokens: 0, cacheReadInputTokens: 0, cacheCreationInputTokens: 0, costUSD: 0 };
    expect(tokensOf(treeFrom([...answered, ended({ m: zero })]))).toEqual([1, null]);
  });
});

describe("a stream without task_started", () => {
  it("has an agent as soon as it is spawned, which gets its id from the result of its call", () => {
    const asked = [system("init"), assistant([task(A, "Schau – 看 🌲")])];
    expect(treeFrom(asked)).toMatchObject({
      prompt: "Begin – größer 🌳",
      children: [{ agentId: A, status: "pendingInit", prompt: "Schau – 看 🌲", type: "Explore" }],
    });
    const done = treeFrom([
      ...asked,
      user([result(A, [{ type: "text", text: "done" }])], {
        tool_use_result: { status: "completed", agentId: "a1", content: [{ type: "text", text: "done" }] },
      }),
    ]);
    expect(done.children).toMatchObject([
      { agentId: "a1", status: "completed", prompt: "Schau – 看 🌲", result: "done", link: { toolCallId: A } },
    ]);
  });

  it("may contain results as plain strings, and several in one message", () => {
    const tree = treeFrom([
      system("init"),
      assistant([task(A, "One."), task(B, "Two.", "Agent")]),
      user([result(A, "done\nagentId: a1 (for resuming)"), result(B, "done too\nagentId: b2 (for resuming)")]),
    ]);
    expect(tree.children.map(({ agentId, status, link: by }) => [agentId, status, by?.toolCallId])).toEqual([
      ["a1", "completed", A],
      ["b2", "completed", B],
    ]);
  });

  it("shows a failed call that spawned no agent", () => {
    const tree = treeFrom([
      system("init"),
      assistant([task(A, "One.")]),
      user([result(A, "Agent type 'x' not found", true)], { tool_use_result: "Error: Agent type 'x' not found" }),
    ]);
    expect(tree.children.map(shape)).toEqual([{ agentId: A, status: "errored" }]);
  });
});

describe("a stream with task_started", () => {
  it("reports agents at any depth when they begin, and how each ended", () => {
    const lines = [
      system("init", { claude_code_version: "2.1.325", cwd: "/x" }),
      assistant([task(A, "Outer.", "Agent")]),
      started("outer", A, { spawn_depth: 1, is_backgrounded: false }),
      started("inner", "toolu_00000000000000in", { spawn_depth: 2, parent_task_id: "outer", is_backgrounded: true }),
    ];
    const running = { agentId: "outer", status: "running", children: [{ agentId: "inner", status: "running" }] };
    expect(treeFrom(lines).children.map(shape)).toEqual([running]);
    const ended = treeFrom([
      ...lines,
      system("task_updated", { task_id: "inner", patch: { status: "killed" } }),
      system("task_notification", { task_id: "outer", status: "failed", summary: "no" }),
    ]);
    expect(ended.children.map(shape)).toEqual([
      { agentId: "outer", status: "errored", children: [{ agentId: "inner", status: "shutdown" }] },
    ]);
    expect(ended.children[0]?.children[0]).toMatchObject({
      background: true,
      link: { rule: "task_started.parent_task_id", confidence: 1 },
    });
  });

  it("does not report shells and workflows as agents, and has workflow agents below their call", () => {
    const tree = treeFrom([
      system("init"),
      assistant([{ type: "tool_use", id: A, name: "Workflow", input: { script: "…" } }]),
      started("b123", B, { task_type: "local_bash" }),
      started("w1", A, { task_type: "local_workflow" }),
      system("task_progress", {
        task_id: "w1",
        tool_use_id: A,
        workflow_progress: [{ type: "workflow_agent", agentId: "wa", label: "first", state: "done" }, null],
      }),
    ]);
    expect(tree.children).toMatchObject([
      { agentId: "wa", kind: "workflow", description: "first", status: "completed", link: { toolCallId: A } },
    ]);
  });

  it("reports an agent that a message revived", () => {
    const send = { type: "tool_use", id: B, name: "SendMessage", input: { to: "a1", message: "more" } };
    const lines = [
      system("init"),
      assistant([task(A, "One.", "Agent")]),
      started("a1", A),
      system("task_updated", { task_id: "a1", patch: { status: "completed" } }),
      assistant([send]),
      started("a1", B),
    ];
    expect(treeFrom(lines).children.map(shape)).toEqual([{ agentId: "a1", status: "running" }]);
    expect(treeFrom(lines).children[0]?.link?.toolCallId).toBe(A);
  });

  it("ignores lines that are invalid JSON, unknown or incomplete", () => {
    const tree = treeFrom([
      "Warning: something",
      "{",
      "[]",
      '{"type":"novelty","session_id":7}',
      system("init"),
      system("future_thing"),
      printed({ type: "result", subtype: "success", result: "done" }),
    ]);
    expect(tree).toMatchObject({ status: "completed", statusSource: "protocol", result: "done", children: [] });
  });
});

describe("commands", () => {
  it.each([
    [["claude", "-p", "x", "--output-format", "stream-json"], { printsJson: true }],
    [["/opt/claude", "--print", "x", "--output-format=stream-json"], { printsJson: true }],
    [
      ["npx", "-y", "@anthropic-ai/claude-code@2.1.325", "-p", "x"],
      {
        printsJson: false,
        withJsonOutput: [
          "npx",
          "-y",
          "@anthropic-ai/claude-code@2.1.325",
          "-p",
          "x",
          "--output-format",
          "stream-json",
          "--verbose",
        ],
      },
    ],
    [
      ["env", "A=b", "claude", "-p", "x", "--verbose"],
      {
        printsJson: false,
        withJsonOutput: ["env", "A=b", "claude", "-p", "x", "--verbose", "--output-format", "stream-json"],
      },
    ],
    [["claude", "-p", "x", "--output-format", "json"], { printsJson: false, withJsonOutput: null }],
    [["claude", "-p", "x", "--output-format", "json", "--verbose"], { withJsonOutput: null, control: null }],
    [["claude"], { printsJson: false, withJsonOutput: null, control: null }],
  ])("%j", (command, expected) => {
    expect(claude.wrap?.(command)).toMatchObject(expected);
  });

  it("of other programs are not changed", () => {
    expect([["claudette"], ["echo", "claude"], [], ["env"]].map((command) => claude.wrap?.(command))).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  it("are given JSON input instead of the prompt in the command line, which is sent as a message", () => {
    const control = claude.wrap?.(["claude", "-p", "hello", "--model", "hello"])?.control;
    expect(control?.first).toBe("hello");
    expect(control?.withJsonInput).toEqual([
      "claude",
      "-p",
      "--model",
      "hello",
      "--output-format",
      "stream-json",
      "--verbose",
      "--input-format",
      "stream-json",
    ]);
    expect(
      control?.responseIn('{"type":"control_response","response":{"subtype":"error","request_id":"r1","error":"no"}}'),
    ).toEqual({ id: "r1", error: "no" });
    expect(control?.responseIn('{"type":"assistant"}')).toBeNull();
  });

  it.each([
    [["claude", "-p", "hi"], ["done"]],
    [["claude", "-p", "hi", "--output-format=json"], ['{"type":"result","result":"done"}']],
    [
      ["claude", "-p", "hi", "--output-format", "stream-json", "--verbose"],
      ['{"type":"assistant","text":"control_request"}', '{"type":"result","result":"done"}'],
    ],
  ])("print the same with JSON input: %j", (command, expected) => {
    const control = claude.wrap?.(command)?.control;
    expect(control?.withJsonInput.filter((word) => word.includes("json"))).toEqual(["stream-json", "stream-json"]);
    const printed = [
      '{"type":"control_response","response":{}}',
      '{"type":"control_request","request":{}}',
      '{"type":"assistant","text":"control_request"}',
      '{"type":"result","result":"done"}',
    ];
    expect(printed.map((line) => control?.shown(line)).filter((line) => line !== null)).toEqual(expected);
  });
});
