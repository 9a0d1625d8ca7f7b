import { describe, expect, it, vi } from "vitest";
import type { Fact, Observation } from "../../../core/facts/observation.ts";
import { keysOf } from "./keys.ts";
import { messageFile, partFile, SessionRows, sessionFile } from "./reader.ts";
import { tokensOf } from "./tokens.ts";

const KEY = keysOf("opencode");
const FILE = { path: "/db#ses_1", bytes: 1 };
const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

interface MessageParts {
  readonly info: object;
  readonly parts?: readonly object[];
}

function message({ info, parts = [] }: MessageParts) {
  const record = {
    updated: 9,
    size: 1,
    extent: {},
    id: "msg_1",
    sessionID: "ses_1",
    info: { time: { created: 1_000 }, ...info },
  };
  return bytes({ ...record, parts: parts.map((data, i) => ({ id: `prt_${i}`, data })) });
}

const pushed = (record: Uint8Array) => new SessionRows(KEY, FILE).push(record, 1, "msg_1");
const facts = <T extends Fact["type"]>(record: Uint8Array, type: T) =>
  pushed(record).observations.filter((o): o is Extract<Observation, { type: T }> => o.type === type);
const session = (more: object) => bytes({ updated: 1, session: { id: "ses_1", time: { created: 500 }, ...more } });
const tool = (state: object, name = "task") => ({ type: "tool", tool: name, callID: "c1", state });
const assistant = (more: object, parts: readonly object[] = []): MessageParts => ({
  info: { role: "assistant", modelID: "m", ...more },
  parts,
});
const DONE = { time: { created: 1_000, completed: 2_000 } };

it("a row is parsed once for its facts and its events", () => {
  const record = message(assistant({ finish: "stop", ...DONE }, [{ type: "text", text: "It is done." }]));
  const reader = new SessionRows(KEY, FILE);
  const parse = vi.spyOn(JSON, "parse");
  try {
    reader.push(record, 1, "msg_1");
    expect(reader.events(record).map(({ text }) => text)).toEqual(["It is done."]);
    expect(parse).toHaveBeenCalledTimes(1);
    // Another row, without its facts.
    expect(reader.events(new Uint8Array(record)).map(({ text }) => text)).toEqual(["It is done."]);
    expect(parse).toHaveBeenCalledTimes(2);
  } finally {
    parse.mockRestore();
  }
});

describe("a session", () => {
  it("is a thread of its own, or an agent below its parent", () => {
    expect(facts(session({}), "agent-described")).toMatchObject([{ agent: "opencode:ses_1", kind: "main" }]);
    expect(facts(session({ parentID: "ses_0" }), "parent-named")).toMatchObject([
      {
        child: "opencode:ses_1",
        parent: "opencode:ses_0",
        rule: "session.parentID",
        source: "protocol",
        confidence: 1,
      },
    ]);
  });

  it.each([
    [{ agent: "explore", title: "Look (@general subagent)" }, ["explore", "general"]],
    [{ title: "Tell (@a subagent) of (@b subagent)" }, ["b"]],
    [{ title: "Renamed" }, []],
  ])("has the type in its row, else the last type in its title: %o", (more, types) => {
    const described = facts(session({ parentID: "ses_0", ...more }), "agent-described").filter(
      (d) => d.agentType !== undefined,
    );
    // The earliest value counts, and a user's message is earlier than a title.
    expect(described.sort((a, b) => (a.at ?? 0) - (b.at ?? 0)).map((d) => d.agentType)).toEqual(types);
  });

  it.each([
    [
      '[{"permission":"task","pattern":"*","action":"deny"},{"permission":"bash","pattern":"rm *","action":"deny"}]',
      { allowed: null, denied: ["task"] },
    ],
    [
      [
        { permission: "*", pattern: "*", action: "deny" },
        { permission: "read", pattern: "*", action: "allow" },
      ],
      { allowed: ["read"], denied: null },
    ],
    ["junk", undefined],
    [null, undefined],
  ])("lists the tools that it may not use: %o", (permission, tools) => {
    expect(facts(session({ permission }), "agent-described")[0]?.tools).toEqual(tools);
  });

  it("belongs to the process that has the database open, if it was not imported", () => {
    expect(facts(session({}), "process-seen").map((o) => o.process)).toEqual([{ holds: "/db" }]);
    const foreign = new SessionRows(KEY, { ...FILE, isForeign: true }).push(session({}), 0, "session");
    expect(foreign.observations.filter((o) => o.type === "process-seen")).toEqual([]);
  });
});

describe("the state of a session after a message", () => {
  it.each([
    [assistant({ ...DONE, finish: "stop" }), "answered", true],
    [assistant({ ...DONE, finish: "length" }), "answered", true],
    [assistant({ ...DONE, finish: "tool-calls" }, [tool({ status: "completed" }, "bash")]), "open", true],
    [assistant({ ...DONE, finish: "stop" }, [tool({ status: "running" }, "bash")]), "open", true],
    [assistant({}), "open", true],
    [assistant({ ...DONE }), "answered", false],
    [assistant({ ...DONE, error: { name: "MessageAbortedError" } }), "interrupted", true],
    [assistant({ ...DONE, error: { name: "APIError", data: { message: "500" } } }), "failed", true],
    [{ info: { role: "user" }, parts: [{ type: "text", text: "hi" }] }, "open", true],
  ])("%o", (parts, state, certain) => {
    expect(facts(message(parts), "record").at(-1)).toMatchObject({ state, certain });
  });

  it("shows what it waits for", () => {
    const waits = (part: object) => facts(message(assistant({}, [part])), "record")[0]?.calls[0]?.waitsFor;
    expect(waits(tool({ status: "running", input: {} }, "bash"))).toBeUndefined();
    expect(waits(tool({ status: "running" }, "question"))).toBe("answer");
    expect(waits(tool({ status: "running" }, "read"))).toBeUndefined();
  });
});

describe("a call that spawns a child", () => {
  const of = (state: object, name?: string) => {
    const { observations } = pushed(message(assistant({}, [tool(state, name)])));
    const pick = <T extends Fact["type"]>(type: T) =>
      observations.filter((o): o is Extract<Observation, { type: T }> => o.type === type);
    return {
      spawns: pick("spawn-called").map((o) => o.makes),
      children: pick("call-spawned").map((o) => [o.child, o.rule]),
      ends: pick("lifecycle").map((o) => [o.of, o.state, o.result, o.yields === true]),
    };
  };
  const child = { sessionId: "ses_2", parentSessionId: "ses_1" };
  const CALL = { call: "opencode:ses_1/c1" };

  it.each([
    ["is being written", { status: "pending", input: {} }, { spawns: [], children: [], ends: [] }],
    [
      "runs",
      { status: "running", metadata: child },
      { spawns: ["one"], children: [["opencode:ses_2", "task.metadata.sessionId"]], ends: [] },
    ],
    [
      "has ended",
      { status: "completed", metadata: child, output: "<task_result>\nfound\n</task_result>" },
      {
        spawns: ["one"],
        children: [["opencode:ses_2", "task.metadata.sessionId"]],
        ends: [["opencode:ses_2", "completed", "found", true]],
      },
    ],
    [
      "goes on in the background",
      { status: "completed", metadata: { ...child, background: true }, output: '<task id="ses_2" state="running">' },
      {
        spawns: ["one"],
        children: [["opencode:ses_2", "task.metadata.sessionId"]],
        ends: [["opencode:ses_2", "launched", null, false]],
      },
    ],
    [
      "was cancelled",
      { status: "error", metadata: child, error: "Task cancelled" },
      {
        spawns: ["one"],
        children: [["opencode:ses_2", "task.metadata.sessionId"]],
        ends: [["opencode:ses_2", "shutdown", null, true]],
      },
    ],
    [
      "failed before it had a child",
      { status: "error", error: "No model" },
      { spawns: ["one"], children: [], ends: [[CALL, "errored", null, false]] },
    ],
    [
      "was refused",
      { status: "error", error: "Unknown agent type: x is not a valid agent type" },
      { spawns: ["one"], children: [], ends: [] },
    ],
    [
      "names its child in a text only",
      { status: "completed", output: "done\n\n<task_metadata>\nsession_id: ses_2\n</task_metadata>" },
      {
        spawns: ["one"],
        children: [["opencode:ses_2", "task output"]],
        ends: [["opencode:ses_2", "completed", "done", true]],
      },
    ],
    [
      "was copied by a fork",
      { status: "completed", metadata: { ...child, parentSessionId: "ses_0" } },
      { spawns: [], children: [], ends: [] },
    ],
  ])("%s", (_what, state, expected) => {
    expect(of(state)).toEqual(expected);
  });

  it("may be that of a plugin", () => {
    expect(of({ status: "running", metadata: child }, "delegate_task").spawns).toEqual(["maybe"]);
    expect(of({ status: "running", metadata: {} }, "delegate_task").spawns).toEqual([]);
  });

  it("gets its result from a notification if the child ran in the background", () => {
    const text =
      '<task id="ses_2" state="error">\n<summary>Background task failed: x</summary>\n<task_result>\nno\n</task_result>\n</task>';
    const notice = message({ info: { role: "user" }, parts: [{ type: "text", text, synthetic: true }] });
    expect(facts(notice, "lifecycle").map((o) => [o.of, o.state])).toEqual([["opencode:ses_2", "errored"]]);
    expect(facts(notice, "agent-described").map((o) => o.prompt)).toEqual([undefined]);
  });
});

describe("tokens", () => {
  it.each([
    [
      "apart from reasoning, as now",
      { total: 2050, input: 1500, output: 45, reasoning: 5, cache: { read: 500, write: 0 } },
      50,
    ],
    [
      "with reasoning, as up to 1.2.27",
      { total: 2050, input: 1500, output: 50, reasoning: 5, cache: { read: 500, write: 0 } },
      50,
    ],
    ["without a total, as in 1.0", { input: 1500, output: 50, reasoning: 5, cache: { read: 500, write: 0 } }, 50],
    ["that make no sense", { total: "many", input: -5, output: null, cache: 7 }, 0],
  ])("%s", (_what, stored, outputTokens) => {
    expect(tokensOf(stored).outputTokens).toBe(outputTokens);
  });

  it("count once per step, and only if a model responded", () => {
    const step = { type: "step-finish", tokens: { input: 5, output: 1 }, cost: 0.5 };
    const calls = (parts: MessageParts) =>
      facts(message(parts), "model-call").map((c) => [c.response, c.tokens.inputTokens, c.costUsd]);
    expect(calls(assistant({ tokens: { input: 5, output: 1 } }, [step, { ...step, cost: 1 }]))).toEqual([
      ["opencode:msg_1 0", 5, 0.5],
      ["opencode:msg_1 1", 5, 1],
    ]);
    expect(calls(assistant({ tokens: { input: 5, output: 1 }, cost: 2 }))).toEqual([["opencode:msg_1 0", 5, 2]]);
    // The cost of Kilo's messages includes that of the agents they spawned.
    const spawning = assistant({ tokens: { input: 5, output: 1 }, cost: 2 }, [tool({ status: "running", input: {} })]);
    expect(calls(spawning)).toEqual([["opencode:msg_1 0", 5, undefined]]);
    expect(calls(assistant({ tokens: { input: 0, output: 0 } }))).toEqual([]);
  });

  it("of a compaction are internal", () => {
    const summary = pushed(
      message(assistant({ ...DONE, summary: true, finish: "stop", tokens: { input: 5, output: 1 } })),
    );
    expect(new Set(summary.observations.map((o) => o.speaker))).toEqual(new Set(["opencode:ses_1/compaction"]));
  });
});

describe("a copy", () => {
  const keys = (id: string, more: object = {}) => {
    const record = {
      updated: 1,
      id,
      sessionID: "ses_9",
      info: { role: "assistant", modelID: "m", tokens: { input: 1, output: 2 }, ...DONE, ...more },
      parts: [],
    };
    return new SessionRows(KEY, FILE).push(bytes(record), 1, id).observations[0]?.keys;
  };

  it("has other ids and the same key; another message has another key", () => {
    expect(keys("msg_a")).toEqual(keys("msg_b"));
    expect(keys("msg_a")).not.toEqual(keys("msg_a", { time: { created: 1_001, completed: 2_000 } }));
  });
});

describe("events", () => {
  const events = (parts: MessageParts) =>
    new SessionRows(KEY, FILE).events(message(parts)).map((e) => [e.kind, e.text ?? e.tool?.name, e.name]);

  it("are returned once they are complete, each under a stable name", () => {
    const call = (state: object) => events(assistant({}, [tool({ input: { a: 1 }, ...state }, "bash")]));
    expect(call({ status: "pending" })).toEqual([]);
    expect(call({ status: "running" })).toEqual([["toolCall", "bash", "prt_0"]]);
    expect(call({ status: "completed", output: "out" })).toEqual([
      ["toolCall", "bash", "prt_0"],
      ["toolResult", "out", "prt_0 result"],
    ]);
    const eventsAt = (time: object) => events(assistant({}, [{ type: "text", text: "half", time }]));
    expect([eventsAt({ start: 1 }), eventsAt({ start: 1, end: 2 })]).toEqual([[], [["assistant", "half", "prt_0"]]]);
  });

  it("contain errors, subtasks and the product's own messages", () => {
    expect(events(assistant({ error: { name: "APIError", data: { message: "no" } } }))).toEqual([
      ["error", "APIError: no", "error"],
    ]);
    expect(
      events({
        info: { role: "user" },
        parts: [
          { type: "subtask", agent: "explore", command: "look", prompt: "here" },
          { type: "text", text: "x", synthetic: true },
        ],
      }),
    ).toEqual([
      ["user", "/look @explore: here", "prt_0"],
      ["note", "x", "prt_1"],
    ]);
  });
});

describe("JSON files", () => {
  const of = (parser: ReturnType<typeof sessionFile>, value: unknown) => parser.push(bytes(value), 0);

  it("have the same content as a row", () => {
    const part = of(partFile(KEY, FILE), {
      id: "prt_1",
      sessionID: "ses_1",
      messageID: "msg_1",
      ...tool({ status: "running", metadata: { sessionId: "ses_2" }, time: { start: 5 } }),
    });
    expect(part.observations.map((o) => o.type)).toEqual(["record", "spawn-called", "call-spawned", "agent-described"]);
    const info = of(messageFile(KEY, FILE), {
      id: "msg_1",
      sessionID: "ses_1",
      role: "assistant",
      tokens: { input: 3, output: 1 },
      ...DONE,
      finish: "stop",
    });
    expect(info.observations.map((o) => o.type)).toEqual(["record", "record", "model-call", "agent-described"]);
    expect(of(sessionFile(KEY, FILE), { id: "ses_1", version: "1.0.0" }).observations[0]).toMatchObject({
      productVersion: "1.0.0",
    });
  });

  it("that are invalid are reported", () => {
    expect(
      [sessionFile, messageFile, partFile].map((open) =>
        of(open(KEY, FILE), { odd: true }).problems.map((p) => p.code),
      ),
    ).toEqual([["record-malformed"], ["record-malformed"], ["record-malformed"]]);
    expect(
      sessionFile(KEY, FILE)
        .push(new TextEncoder().encode("{"), 0)
        .problems.map((p) => p.code),
    ).toEqual(["line-not-json"]);
  });
});
