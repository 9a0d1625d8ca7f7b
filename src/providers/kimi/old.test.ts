import { describe, expect, it } from "vitest";
import type { Observation } from "../../core/facts/observation.ts";
import { link } from "../../core/link/link.ts";
import type { Parser } from "../../core/ports/provider.ts";
import { treeOf } from "../../core/views/record.ts";
import { locate } from "./locate.ts";
import { OldWire, oldMeta } from "./old.ts";

const file = (path: string) => ({ path, bytes: 0 });
const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const at = 1_770_000_000;
const line = (second: number, type: string, payload: object) => ({
  timestamp: at + second,
  message: { type, payload },
});
const usage = (input: number, id: string) => ({
  token_usage: { input_other: input, output: 7, input_cache_read: 3, input_cache_creation: 1 },
  message_id: id,
});
const spawn = (id: string) => ({
  type: "function",
  id,
  function: {
    name: "Task",
    arguments: JSON.stringify({ description: "look", prompt: "Look.", subagent_type: "coder" }),
  },
});
const read = (parser: Parser, records: readonly unknown[]): Observation[] =>
  records.flatMap((record, i) => [...parser.push(bytes(record), i + 1).observations]);
const treeIn = (observations: readonly Observation[]) => {
  const forest = link(observations, { now: (at + 5_000) * 1000, liveness: () => "unknown" });
  const [root] = forest.roots;
  return root === undefined ? null : treeOf(forest, root, () => 0);
};
const HEAD = { type: "metadata", protocol_version: "1.3" };

describe("a session of the older Kimi CLI", () => {
  it("has agents with files of their own, which are named in their parent's events", () => {
    const main = read(new OldWire("s1", "main", file("main")), [
      HEAD,
      line(0, "TurnBegin", { user_input: "Go." }),
      line(1, "ToolCall", spawn("t1")),
      line(1, "StatusUpdate", usage(10, "m1")),
      line(2, "SubagentEvent", {
        parent_tool_call_id: "t1",
        agent_id: "a1",
        subagent_type: "coder",
        event: { type: "StatusUpdate", payload: usage(20, "m2") },
      }),
      line(4, "ToolResult", { tool_call_id: "t1", return_value: { is_error: false, output: "Seen.", message: "" } }),
      line(5, "ContentPart", { type: "text", text: "Done." }),
      line(5, "StatusUpdate", usage(11, "m3")),
      line(6, "TurnEnd", {}),
    ]);
    const child = read(new OldWire("s1", "a1", file("a1")), [
      HEAD,
      line(2, "TurnBegin", { user_input: "Look." }),
      line(3, "ContentPart", { type: "text", text: "Seen." }),
      line(3, "StatusUpdate", usage(20, "m2")),
    ]);
    const meta = {
      agent_id: "a1",
      subagent_type: "coder",
      status: "completed",
      description: "look",
      updated_at: at + 4,
    };
    const tree = treeIn([...main, ...child, ...oldMeta("s1", "a1", file("meta")).push(bytes(meta), 0).observations]);
    expect(tree).toMatchObject({
      prompt: "Go.",
      status: "completed",
      result: "Done.",
      usage: { own: { calls: 2, inputTokens: 21, outputTokens: 14, cacheReadTokens: 6, cacheWriteTokens: 2 } },
      children: [
        {
          agentId: "a1",
          type: "coder",
          prompt: "Look.",
          status: "completed",
          link: { toolCallId: "t1" },
          usage: { own: { calls: 1, inputTokens: 20 } },
        },
      ],
    });
  });

  it("has agents without ids in their parent's file only, in earlier versions", () => {
    const inner = (second: number, type: string, payload: object) =>
      line(second, "SubagentEvent", { task_tool_call_id: "t1", event: { type, payload } });
    const tree = treeIn(
      read(new OldWire("s1", "main", file("main")), [
        line(0, "TurnBegin", { user_input: "Go." }),
        line(1, "ToolCall", spawn("t1")),
        line(1, "StatusUpdate", usage(10, "m1")),
        inner(2, "ContentPart", { type: "text", text: "Seen." }),
        inner(2, "StatusUpdate", usage(20, "m2")),
        line(4, "StepInterrupted", {}),
      ]),
    );
    expect(tree).toMatchObject({
      status: "shutdown",
      usage: { own: { calls: 1, inputTokens: 10 } },
      children: [{ agentId: "t1", description: "look", usage: { own: { calls: 1, inputTokens: 20 } } }],
    });
  });

  it("is recognised by its path, and not read as one of Kimi Code", () => {
    expect(locate("sessions/0123abcd/3f6c/wire.jsonl")).toEqual({ is: "old-wire", session: "3f6c", agent: "main" });
    expect(locate("sessions/0123abcd/3f6c/subagents/a1/meta.json")).toMatchObject({ is: "old-meta", agent: "a1" });
    expect(locate("sessions/wd_demo_1/session_1/agents/main/wire.jsonl")).toMatchObject({ is: "wire", agent: "main" });
    expect(locate("sessions/0123abcd/3f6c/context.jsonl")).toBeNull();
  });
});
