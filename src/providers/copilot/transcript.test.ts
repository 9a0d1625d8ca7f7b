import { describe, expect, it } from "vitest";
import { threadKey } from "../../core/facts/ids.ts";
import { link } from "../../core/link/link.ts";
import { treeOf } from "../../core/views/record.ts";
import { verifyAll } from "../../core/views/verify.ts";
import { provider as copilot } from "./provider.ts";

const SESSION = "96f34f9f-1eba-4f08-84b0-7facbacca19a";
const PATH = `session-state/${SESSION}/events.jsonl`;
const event = (type: string, second: number, data: object, agentId?: string) => ({
  type,
  data,
  ...(agentId === undefined ? {} : { agentId }),
  id: `${type}-${second}-${agentId ?? "of-the-session"}`,
  timestamp: `2026-11-15T21:29:${String(second).padStart(2, "0")}.000Z`,
});
const usage = (second: number, response: string, agentId?: string, more: object = {}) =>
  event(
    "session.usage_record",
    second,
    {
      usage: {
        model: "m",
        inputTokens: 100,
        outputTokens: 10,
        cacheReadTokens: 30,
        cacheWriteTokens: 20,
        apiCallId: response,
        interactionType: "conversation-agent",
        ...more,
      },
    },
    agentId,
  );

function shown(records: readonly object[], more: readonly (readonly [string, string])[] = []) {
  const open = (path: string) =>
    copilot.stream(path)?.open({ path, bytes: 1, bornMs: Date.parse("2026-11-15T21:29:00Z") });
  const parser = open(PATH);
  const bytes = (text: string) => new TextEncoder().encode(text);
  const observations = [
    ...records.flatMap((record, i) => parser?.push(bytes(JSON.stringify(record)), i + 1).observations ?? []),
    ...more.flatMap(([path, text]) => open(path)?.push(bytes(text), 0).observations ?? []),
  ];
  return (liveness: "alive" | "gone" = "gone") =>
    link(observations, { now: Date.parse("2026-11-15T21:29:30Z"), liveness: () => liveness });
}

const byId = (forest: ReturnType<ReturnType<typeof shown>>) =>
  new Map([...forest.agents.values()].map((agent) => [agent.agentId, agent]));

describe("events of all agents in one file", () => {
  const nested = [
    event("session.start", 0, { context: { cwd: "/home/dev/demo" }, copilotVersion: "1.0.102" }),
    event("user.message", 1, { content: "go" }),
    usage(2, "response-of-the-root"),
    event("assistant.message", 2, {
      content: "",
      apiCallId: "response-of-the-root",
      toolRequests: [{ toolCallId: "call-of-the-root-1", name: "task", arguments: { prompt: "a", agent_type: "x" } }],
    }),
    event("subagent.started", 3, { toolCallId: "call-of-the-root-1", agentType: "x", executionMode: "sync" }, "a"),
    event(
      "assistant.message",
      4,
      {
        content: "",
        toolRequests: [{ toolCallId: "call-of-agent-a-01", name: "task", arguments: { prompt: "b", agent_type: "y" } }],
      },
      "a",
    ),
    event(
      "subagent.started",
      5,
      { toolCallId: "call-of-agent-a-01", agentType: "y", executionMode: "background", parentId: "a" },
      "b",
    ),
    usage(6, "response-of-agent-b", "b"),
    event("subagent.failed", 7, { toolCallId: "call-of-agent-a-01", error: "400 no", totalTokens: 999 }, "b"),
    event("subagent.completed", 8, { toolCallId: "call-of-the-root-1", totalTokens: 2000 }, "a"),
  ];

  it("belong to the agent they name, below its parent", () => {
    const agents = byId(shown(nested)());
    expect([agents.get("a")?.parent, agents.get("b")?.parent]).toEqual([`copilot:${SESSION}`, `copilot:${SESSION}/a`]);
    expect([agents.get("a")?.verdict.status, agents.get("b")?.verdict.status]).toEqual(["completed", "errored"]);
    expect([agents.get(null)?.calls.length, agents.get("a")?.calls.length, agents.get("b")?.calls.length]).toEqual([
      1, 0, 1,
    ]);
    expect([...(agents.get("b")?.calls ?? [])][0]?.tokens).toMatchObject({
      inputTokens: 50,
      cacheReadTokens: 30,
      cacheWriteTokens: 20,
      outputTokens: 10,
    });
    expect(agents.get("b")?.background).toBe(true);
  });

  it("that no agent caused are internal", () => {
    const forest = shown([
      ...nested,
      usage(9, "response-of-nobody", undefined, { interactionType: "conversation-title" }),
    ])();
    expect(
      byId(forest)
        .get(null)
        ?.ownBehalf.flatMap((one) => [...one.calls]),
    ).toHaveLength(1);
    expect(forest.agents.size).toBe(3);
  });
});

describe("a session with a process file", () => {
  const open = [event("session.start", 0, {}), event("user.message", 1, { content: "go" })];
  const mark = [`session-state/${SESSION}/inuse.123.lock`, "123"] as const;

  it("is running while its process lives, and shut down when it is gone or removed its file", () => {
    const status = (forest: ReturnType<ReturnType<typeof shown>>) => byId(forest).get(null)?.verdict.status;
    expect(status(shown(open, [mark])("alive"))).toBe("running");
    expect(status(shown(open, [mark])("gone"))).toBe("shutdown");
    expect(status(shown(open)())).toBe("shutdown");
  });
});

it("a name that a person gave is the title, with any quotes", () => {
  const title = (yaml: string) =>
    byId(
      shown([event("user.message", 1, { content: "go" })], [[`session-state/${SESSION}/workspace.yaml`, yaml]])(),
    ).get(null)?.title;
  expect(title(`id: ${SESSION}\nname: 'it''s mine'\nuser_named: true\n`)).toBe("it's mine");
  expect(title(`id: ${SESSION}\nname: go\nuser_named: false\n`)).toBeNull();
});

describe("a version that does not record the usage of single responses (1.0.12 to 1.0.40)", () => {
  const message = (second: number, outputTokens: number | undefined, data: object = {}) =>
    event("assistant.message", second, {
      messageId: `message-number-${second}`,
      content: "",
      ...(outputTokens === undefined ? {} : { outputTokens }),
      ...data,
    });
  const shutdown = (second: number, inputTokens: number, outputTokens: number) =>
    event("session.shutdown", second, {
      shutdownType: "routine",
      sessionStartTime: Date.parse("2026-11-15T21:29:00.000Z"),
      modelMetrics: {
        "gpt-5.4": {
          requests: { count: 3, cost: 3 },
          usage: { inputTokens, outputTokens, cacheReadTokens: 300, cacheWriteTokens: 0 },
        },
      },
    });
  const start = [
    event("session.start", 0, {
      copilotVersion: "1.0.34",
      selectedModel: "gpt-5.4",
      context: { cwd: "/home/dev/demo" },
    }),
    event("user.message", 1, { content: "go" }),
  ];
  const task = (mode: string) => ({
    toolCallId: "call-of-the-root-1",
    name: "task",
    arguments: { prompt: "a", agent_type: "explore", mode },
  });
  const withAgent = [
    ...start,
    message(2, 40, { toolRequests: [task("background")] }),
    event("subagent.started", 3, {
      toolCallId: "call-of-the-root-1",
      agentName: "explore",
      agentDisplayName: "Explore Agent",
    }),
    message(4, 25, { content: "found", parentToolCallId: "call-of-the-root-1" }),
    event("subagent.completed", 5, { toolCallId: "call-of-the-root-1", agentName: "explore" }),
    event("session.usage_checkpoint", 6, { totalNanoAiu: 1, totalPremiumRequests: 1 }),
    message(7, 5, { content: "done" }),
  ];
  const treeOfSession = (records: readonly object[]) =>
    treeOf(shown(records)(), threadKey("copilot", SESSION), ({ costUsd }) => (costUsd === undefined ? 1 : costUsd));
  const verified = (records: readonly object[]) => verifyAll(shown(records)(), () => null)[0];

  it("counts every response with its output and its model, and warns that the rest is unknown", () => {
    const tree = treeOfSession([...start, message(2, 40), message(3, undefined), message(4, 2)]);
    expect(tree).toMatchObject({ model: ["gpt-5.4"], usage: { own: { calls: 3, outputTokens: 42, costUsd: null } } });
    expect(tree.warnings).toEqual([expect.stringContaining("does not record the input tokens of each response")]);
  });

  it("assigns a response by the spawn call of its agent, and recognises background agents by the input of their call", () => {
    const tree = treeOfSession(withAgent);
    expect(tree.usage.own).toMatchObject({ calls: 2, outputTokens: 45 });
    expect(tree.children).toMatchObject([
      {
        agentId: "call-of-the-root-1",
        status: "completed",
        background: true,
        usage: { own: { calls: 1, outputTokens: 25 } },
      },
    ]);
  });

  it("has the input of the total that the product states at the end: the thread's own, or that of all agents together", () => {
    const alone = treeOfSession([...start, message(2, 40), shutdown(3, 1_300, 40)]);
    expect(alone.usage).toMatchObject({
      own: { calls: 1, inputTokens: 1_000, cacheReadTokens: 300, outputTokens: 40 },
      internal: null,
    });
    const tree = treeOfSession([...withAgent, shutdown(8, 2_300, 70), shutdown(9, 2_300, 70)]);
    expect(tree.usage).toMatchObject({
      own: { inputTokens: 0 },
      subtree: { calls: 3, inputTokens: 2_000, cacheReadTokens: 300, outputTokens: 70 },
    });
    expect(tree.warnings).toContainEqual(expect.stringContaining("for all agents together"));
  });

  it("is verified by that total: the output must agree", () => {
    expect(verified([...withAgent, shutdown(8, 2_300, 70)])).toMatchObject({
      verdict: "explained",
      reasons: [{ code: "not-itemized" }],
      differences: [],
    });
    expect(verified([...withAgent, shutdown(8, 2_300, 71)])).toMatchObject({
      verdict: "differs",
      differences: [{ kind: "outputTokens", stated: 71, counted: 70 }],
    });
  });
});
