import { describe, expect, it } from "vitest";
import { link } from "../../core/link/link.ts";
import { provider as gemini } from "./provider.ts";

const SESSION = "e0b94bd8-9c3a-484c-8379-36af4166605b";
const CHILD = "40d02e9d-1b5a-415e-aa49-e18bcdc3c04c";
const FILE = "tmp/demo/chats/session-2026-11-15T21-28-e0b94bd8.jsonl";
const CHILD_FILE = `tmp/demo/chats/${SESSION}/${CHILD}.jsonl`;
const at = (second: number) => `2026-11-15T21:28:${String(second).padStart(2, "0")}.000Z`;
const head = { sessionId: SESSION, projectHash: "x", startTime: at(0), kind: "main" };
const childHead = { ...head, sessionId: CHILD, kind: "subagent", directories: ["/home/dev/demo"] };
const user = (id: string, second: number, text: string) => ({
  id,
  timestamp: at(second),
  type: "user",
  content: [{ text }],
});
const answer = (id: string, second: number, more: object = {}) => ({
  id,
  timestamp: at(second),
  type: "gemini",
  content: "",
  tokens: { input: 100, output: 10, cached: 40, thoughts: 5, tool: 7, total: 122 },
  model: "gemini-2.5-pro",
  ...more,
});
const spawn = (display: object, more: object = {}) => ({
  toolCalls: [
    {
      id: "call",
      name: "invoke_agent",
      args: { agent_name: "generalist", prompt: "look" },
      status: "success",
      timestamp: at(9),
      resultDisplay: display,
      ...more,
    },
  ],
});

function shown(...files: readonly (readonly [string, readonly object[]])[]) {
  const observations = files.flatMap(([path, records]) => {
    const parser = gemini.stream(path)?.open({ path, bytes: 1 });
    return records.flatMap(
      (record, i) =>
        parser?.push(new TextEncoder().encode(JSON.stringify(record)), path.endsWith(".json") ? 0 : i + 1)
          .observations ?? [],
    );
  });
  const forest = link(observations, { now: Date.parse(at(0)) + 3_600_000, liveness: () => "unknown" });
  return [...forest.agents.values()].map(({ agentId, parent, verdict, calls, answer: text }) => ({
    agentId,
    isRoot: parent === null,
    status: verdict.status,
    calls,
    text,
  }));
}

describe("a message", () => {
  it("that is written again when its calls have ended is one response; cache, tool and thought tokens are counted separately", () => {
    const [thread] = shown([
      FILE,
      [
        head,
        user("u", 1, "go"),
        answer("a", 2),
        answer("a", 2, { toolCalls: [] }),
        answer("b", 3, { content: "done" }),
      ],
    ]);
    expect([...(thread?.calls ?? [])].map(({ tokens }) => tokens)).toEqual([
      expect.objectContaining({ inputTokens: 67, outputTokens: 10, reasoningTokens: 5, cacheReadTokens: 40 }),
      expect.objectContaining({ inputTokens: 67 }),
    ]);
    expect(thread).toMatchObject({ status: "completed", text: "done" });
  });

  it("that was deleted or emptied counts nevertheless", () => {
    const [thread] = shown([
      FILE,
      [head, user("u", 1, "go"), answer("a", 2), { $rewindTo: "u" }, { $set: { messages: [] } }],
    ]);
    expect(thread?.calls).toHaveLength(1);
  });

  it("counts once if a resume writes it again", () => {
    const all = [user("u", 1, "go"), answer("a", 2, { content: "done" })];
    const [thread] = shown([
      FILE,
      [head, ...all, head, { $set: { messages: all } }, answer("b", 5, { content: "more" })],
    ]);
    expect(thread?.calls).toHaveLength(2);
  });
});

describe("an agent", () => {
  const child = [CHILD_FILE, [childHead, user("cu", 5, "look"), answer("ca", 6)]] as const;
  const parent = (display: object) =>
    [
      FILE,
      [
        head,
        user("u", 1, "go"),
        answer("a", 2),
        answer("a", 2, spawn(display, { agentId: CHILD })),
        answer("b", 10, { content: "done" }),
      ],
    ] as const;

  it.each([
    [{ isSubagentProgress: true, state: "completed", terminateReason: "GOAL", result: "found" }, "completed"],
    [{ isSubagentProgress: true, state: "completed", terminateReason: "MAX_TURNS" }, "errored"],
    [{ isSubagentProgress: true, state: "error" }, "errored"],
    [{ isSubagentProgress: true, state: "cancelled" }, "shutdown"],
  ])("has the status that its call displays, not that of the call: %o", (display, status) => {
    expect(shown(parent(display), child).find(({ agentId }) => agentId === CHILD)).toMatchObject({
      status,
      isRoot: false,
    });
  });

  it("with an emptied file is still shown, with the remaining records", () => {
    const emptied = [
      CHILD_FILE,
      [childHead, user("cu", 5, "look"), answer("ca", 6), { $set: { messages: [] } }],
    ] as const;
    expect(
      shown(parent({ isSubagentProgress: true, state: "error" }), emptied).find(({ agentId }) => agentId === CHILD),
    ).toMatchObject({ status: "errored" });
    const nothing = [CHILD_FILE, [childHead, { $set: { messages: [] } }]] as const;
    expect(shown(parent({ isSubagentProgress: true, state: "error" }), nothing)).toHaveLength(2);
  });

  it("of a killed parent is known by its folder, and shows that the parent's last message was not its response", () => {
    const [thread, agent] = shown([FILE, [head, user("u", 1, "go"), answer("a", 2, { content: "I ask one." })]], child);
    expect([thread?.status, agent?.status]).toEqual(["shutdown", "shutdown"]);
  });
});
