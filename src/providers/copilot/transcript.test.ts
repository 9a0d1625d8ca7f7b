import { describe, expect, it } from "vitest";
import { link } from "../../core/link.ts";
import { copilot } from "./index.ts";

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
  const open = (path: string) => copilot.stream(path)?.open({ path, bytes: 1, bornMs: Date.parse("2026-11-15T21:29:00Z") });
  const parser = open(PATH);
  const bytes = (text: string) => new TextEncoder().encode(text);
  const observations = [
    ...records.flatMap((record, i) => parser?.push(bytes(JSON.stringify(record)), i + 1).observations ?? []),
    ...more.flatMap(([path, text]) => open(path)?.push(bytes(text), 0).observations ?? []),
  ];
  return (liveness: "alive" | "gone" = "gone") => link(observations, { now: Date.parse("2026-11-15T21:29:30Z"), liveness: () => liveness });
}

const byId = (forest: ReturnType<ReturnType<typeof shown>>) => new Map([...forest.agents.values()].map((agent) => [agent.agentId, agent]));

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
      { content: "", toolRequests: [{ toolCallId: "call-of-agent-a-01", name: "task", arguments: { prompt: "b", agent_type: "y" } }] },
      "a",
    ),
    event("subagent.started", 5, { toolCallId: "call-of-agent-a-01", agentType: "y", executionMode: "background", parentId: "a" }, "b"),
    usage(6, "response-of-agent-b", "b"),
    event("subagent.failed", 7, { toolCallId: "call-of-agent-a-01", error: "400 no", totalTokens: 999 }, "b"),
    event("subagent.completed", 8, { toolCallId: "call-of-the-root-1", totalTokens: 2000 }, "a"),
  ];

  it("belong to the agent they name, below the one that asked", () => {
    const agents = byId(shown(nested)());
    expect([agents.get("a")?.parent, agents.get("b")?.parent]).toEqual([`copilot:${SESSION}`, `copilot:${SESSION}/a`]);
    expect([agents.get("a")?.verdict.status, agents.get("b")?.verdict.status]).toEqual(["completed", "errored"]);
    expect([agents.get(null)?.calls.length, agents.get("a")?.calls.length, agents.get("b")?.calls.length]).toEqual([1, 0, 1]);
    expect(agents.get("b")?.calls[0]?.tokens).toMatchObject({ inputTokens: 50, cacheReadTokens: 30, cacheWriteTokens: 20, outputTokens: 10 });
    expect(agents.get("b")?.background).toBe(true);
  });

  it("that no agent asked for are the product's own", () => {
    const forest = shown([...nested, usage(9, "response-of-nobody", undefined, { interactionType: "conversation-title" })])();
    expect(
      byId(forest)
        .get(null)
        ?.ownBehalf.flatMap((one) => one.calls),
    ).toHaveLength(1);
    expect(forest.agents.size).toBe(3);
  });
});

describe("a session whose process is marked", () => {
  const open = [event("session.start", 0, {}), event("user.message", 1, { content: "go" })];
  const mark = [`session-state/${SESSION}/inuse.123.lock`, "123"] as const;

  it("runs while it lives, and is lost when it is gone, or took its mark away", () => {
    const status = (forest: ReturnType<ReturnType<typeof shown>>) => byId(forest).get(null)?.verdict.status;
    expect(status(shown(open, [mark])("alive"))).toBe("running");
    expect(status(shown(open, [mark])("gone"))).toBe("shutdown");
    expect(status(shown(open)())).toBe("shutdown");
  });
});

it("a name that a person gave is the title, whatever quotes it has", () => {
  const title = (yaml: string) =>
    byId(shown([event("user.message", 1, { content: "go" })], [[`session-state/${SESSION}/workspace.yaml`, yaml]])()).get(null)?.title;
  expect(title(`id: ${SESSION}\nname: 'it''s mine'\nuser_named: true\n`)).toBe("it's mine");
  expect(title(`id: ${SESSION}\nname: go\nuser_named: false\n`)).toBeNull();
});
