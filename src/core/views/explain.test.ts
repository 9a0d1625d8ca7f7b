import { describe, expect, it } from "vitest";
import { NO_TOKENS, NO_USAGE, type Tokens } from "../facts/usage.ts";
import type { AgentRecord } from "./agent.ts";
import type { AgentEvent } from "./event.ts";
import { type ExplainInput, explainTree } from "./explain.ts";
import { summarise } from "./explain-summary.ts";
import { filesOf } from "./files.ts";
import { BLANK, type Span } from "./span.ts";
import type { SpentRow } from "./stats.ts";
import type { Step, Story, StoryCall } from "./story.ts";

const T0 = Date.parse("2026-11-17T12:00:00.000Z");
const iso = (seconds: number) => new Date(T0 + seconds * 1_000).toISOString();

interface Made {
  readonly record?: Partial<AgentRecord>;
  readonly events?: readonly Partial<AgentEvent>[];
  readonly calls?: readonly Partial<StoryCall>[];
  readonly children?: readonly Story[];
}

function story(id: string, { record = {}, events = [], calls = [], children = [] }: Made = {}): Story {
  const uri = `toy://${id}`;
  const steps = events.map((event, i): Step => {
    const blank = {
      schema: "retinue/event@1",
      uri,
      id: `${id}#${i}`,
      seq: i,
      at: iso(i),
      text: null,
      summary: null,
    } as const;
    const more = { tool: null, usage: null, spawn: null, status: null, ref: { path: `${id}.jsonl`, line: i + 1 } };
    return {
      event: { ...blank, ...more, kind: "note", ...event },
      key: `${id}#${i}`,
      call: null,
      reports: [],
      isProvisional: false,
    };
  });
  const usage = { own: NO_USAGE, internal: null, subtree: NO_USAGE, reported: null };
  const blank = {
    uri,
    title: id,
    description: null,
    name: null,
    prompt: null,
    type: null,
    agentId: null,
    sessionId: id,
    forkedFrom: null,
  };
  const times = { startedAt: iso(0), endedAt: iso(10), lastActivityAt: iso(10), durationMs: 10_000, cwd: "/repo" };
  const status = { status: "completed", statusReason: "", activity: null, refused: [] } as const;
  return {
    record: { ...blank, ...times, ...status, usage, ...record } as AgentRecord,
    product: "Toy",
    tracedAs: "toy",
    soleCall: null,
    steps,
    calls: calls.map((call, i) => ({
      key: `${id}-call-${i}`,
      at: T0 + i * 1_000,
      time: null,
      model: "m",
      vendor: null,
      tokens: NO_TOKENS,
      allOutput: 0,
      costUsd: null,
      isInternal: false,
      wasCut: false,
      ...call,
    })),
    undivided: [],
    toolTimes: new Map(),
    children,
    isOver: true,
    isPlaced: true,
  };
}

const explained = (of: Story, more: Partial<ExplainInput> = {}) =>
  explainTree({
    story: of,
    now: T0 + 3_600_000,
    windowOf: () => null,
    spansOf: () => [],
    statedOf: () => null,
    ...more,
  }).findings.map(({ kind, agents, durationMs, evidence }) => ({
    kind,
    agents: agents.map((uri) => uri.slice("toy://".length)),
    durationMs,
    events: evidence.map(({ event }) => event),
  }));

const call = (callId: string, name: string, input: unknown): Partial<AgentEvent> => ({
  kind: "toolCall",
  tool: { callId, name, input, isError: false },
});
const result = (callId: string, text: string, isError = false): Partial<AgentEvent> => ({
  kind: "toolResult",
  text,
  tool: { callId, name: null, input: null, isError },
});

describe("findings", () => {
  it("are none for agents that completed", () => {
    expect(explained(story("root", { children: [story("a"), story("b")] }))).toEqual([]);
  });

  it("name the error of an agent that failed", () => {
    const failed = story("a", {
      record: { status: "errored", statusReason: "its last response is an API error" },
      events: [{ kind: "user" }, { kind: "error", text: "400" }, { kind: "note" }],
    });
    expect(explained(story("root", { children: [failed] }))).toEqual([
      { kind: "failed", agents: ["a"], durationMs: 10_000, events: ["a#1"] },
    ]);
  });

  it("name the statement about an end that no event shows", () => {
    const killed = story("a", { record: { status: "shutdown", statusReason: "gone" }, events: [{ kind: "user" }] });
    const stated = () => ({ says: "the log says error", place: "/tmp/task.log" });
    const { findings } = explainTree({
      story: killed,
      now: T0,
      windowOf: () => null,
      spansOf: () => [],
      statedOf: stated,
    });
    expect(findings[0]?.evidence).toMatchObject([
      { says: "the log says error", ref: { path: "/tmp/task.log", line: 0 } },
    ]);
  });

  it("report refused spawn calls", () => {
    const refused = [{ toolCallId: "1", at: null, type: "worker", description: null, reason: "limit reached" }];
    const asked = story("a", {
      record: { refused },
      events: [call("1", "Task", {}), result("1", "limit reached", true)],
    });
    expect(explained(asked)).toEqual([{ kind: "refused", agents: ["a"], durationMs: null, events: ["a#0", "a#1"] }]);
  });

  it("report a result after the last request of the parent", () => {
    const child = story("a", { record: { endedAt: iso(30) } });
    const parent = (last: number) => story("root", { children: [child], calls: [{ at: T0 }, { at: T0 + last }] });
    expect(explained(parent(10_000)).map(({ kind }) => kind)).toEqual(["unused"]);
    expect(explained(parent(40_000))).toEqual([]);
    // The time of a request is unknown.
    expect(explained(story("root", { children: [child], calls: [{ at: null }] }))).toEqual([]);
  });

  it("do not report a result that the parent responded to, whatever the times say", () => {
    const child = story("a", { record: { endedAt: iso(60) }, events: [{ kind: "assistant", text: "42" }] });
    const received = { kind: "toolResult", text: "42" } as const;
    const root = (events: readonly Partial<AgentEvent>[]) => {
      const made = story("root", { events, calls: [{ at: T0 }], children: [child] });
      return {
        ...made,
        steps: made.steps.map((step, i) => (i === 0 ? { ...step, reports: [child.record.uri] } : step)),
      };
    };
    expect(explained(root([received]))).toMatchObject([{ kind: "unused" }]);
    expect(explained(root([received, { kind: "assistant", text: "It is 42." }]))).toEqual([]);
  });

  it("do not report a copy of a session that was not continued", () => {
    const copy = (forkedFrom: string | null) => story("a", { record: { status: "notFound", forkedFrom } });
    expect(explained(copy(null))).toMatchObject([{ kind: "missing" }]);
    expect(explained(copy("toy://b"))).toEqual([]);
  });

  it("report the same call with the same result, unless it waits for agents", () => {
    const events = ["1", "2", "3"].flatMap((id) => [call(id, "Bash", { command: "ls" }), result(id, "a.txt")]);
    const loop = story("a", { events });
    expect(explained(loop)).toMatchObject([{ kind: "looped", events: ["a#0", "a#2", "a#4"] }]);
    const wait = (callId: string): Span => ({
      ...BLANK,
      kind: "wait",
      from: T0,
      to: T0,
      name: "agents",
      end: null,
      callId,
    });
    expect(explained(loop, { spansOf: () => ["1", "2", "3"].map(wait) })).toEqual([]);
    const changing = story("a", { events: events.map((event, i) => ({ ...event, text: `${i}` })) });
    expect(explained(changing)).toEqual([]);
    // A build after each change.
    const edit = (id: string) => call(id, "Edit", { file_path: "x.ts", old_string: id, new_string: `${id}!` });
    const building = story("a", {
      events: [...events.slice(0, 2), edit("x"), ...events.slice(2, 4), edit("y"), ...events.slice(4)],
    });
    expect(explained(building)).toEqual([]);
  });

  it("report waiting for a person and for an API", () => {
    const wait: Span = {
      ...BLANK,
      kind: "wait",
      from: T0,
      to: T0 + 9_000,
      name: "permission",
      end: "done",
      callId: "1",
    };
    expect(explained(story("a", { events: [call("1", "Bash", {})] }), { spansOf: () => [wait] })).toEqual([
      { kind: "waited", agents: ["a"], durationMs: 9_000, events: ["a#0"] },
    ]);
    const limited = story("a", {
      events: [
        { kind: "error", text: "429 rate limited", at: iso(0) },
        { kind: "assistant", text: "on", at: iso(20) },
      ],
    });
    expect(explained(limited)).toEqual([{ kind: "waited", agents: ["a"], durationMs: 20_000, events: ["a#0"] }]);
    // Each second counts once, and not the time until a person continued.
    const repeated = story("a", {
      events: [
        { kind: "error", text: "429", at: iso(0) },
        { kind: "error", text: "429 again", at: iso(10) },
        { kind: "assistant", text: "on", at: iso(30) },
        { kind: "error", text: "429 once more", at: iso(40) },
        { kind: "error", text: "429, the last one", at: iso(45) },
        { kind: "user", text: "now?", at: iso(900) },
        { kind: "assistant", text: "yes", at: iso(901) },
      ],
    });
    expect(explained(repeated)).toMatchObject([{ kind: "waited", durationMs: 35_000 }]);
  });

  it("report the same prompt and the same changed file among agents of one parent", () => {
    const write = (id: string) =>
      story(id, { record: { prompt: `Do ${id}` }, events: [call("1", "Write", { file_path: "x.ts", content: id })] });
    expect(explained(story("root", { children: [write("a"), write("b")] }))).toMatchObject([
      { kind: "contended", agents: ["a", "b"], events: ["a#0", "b#0"] },
    ]);
    const asked = (id: string) => story(id, { record: { prompt: "Do it." } });
    expect(explained(story("root", { children: [asked("a"), asked("b")] }))).toMatchObject([
      { kind: "repeated", agents: ["a", "b"] },
    ]);
  });

  it("report running agents without records, but not their parents", () => {
    const silent = story("a", { record: { status: "running" } });
    const root = story("root", { record: { status: "running" }, children: [silent] });
    expect(explained(root)).toMatchObject([{ kind: "silent", agents: ["a"], durationMs: 3_590_000 }]);
  });

  it("report lost caches, full contexts and compactions", () => {
    const tokens = (more: Partial<Tokens>) => ({ tokens: { ...NO_TOKENS, ...more } });
    const cached = story("a", {
      calls: [
        tokens({ cacheWriteTokens: 50_000 }),
        tokens({ inputTokens: 60_000 }),
        tokens({ cacheReadTokens: 60_000 }),
      ],
    });
    expect(explained(cached).map(({ kind }) => kind)).toEqual(["cache-missed"]);
    const full = { windowOf: () => 64_000 };
    expect(explained(story("a", { calls: [tokens({ inputTokens: 60_000 })] }), full)).toMatchObject([
      { kind: "context-full" },
    ]);
    const compacted = story("a", { events: [{ kind: "compaction" }, { kind: "compaction" }, { kind: "user" }] });
    expect(explained(compacted)).toMatchObject([{ kind: "compacted", events: ["a#0"] }]);
  });
});

describe("files", () => {
  it("are listed by path with what each agent did", () => {
    const reader = story("b", { events: [call("1", "read_file", { path: "/repo/x.ts" })] });
    const editor = story("a", {
      events: [
        call("1", "Edit", { file_path: "/repo/x.ts", old_string: "1", new_string: "2" }),
        call("2", "Write", { file_path: "./new.ts", content: "3" }),
        call("3", "Write", { file_path: "/repo/denied.ts", content: "3" }),
        result("3", "denied", true),
        call("4", "apply_patch", { input: "*** Begin Patch\n*** Update File: y.ts\n@@\n-a\n+b\n*** End Patch" }),
        call("5", "Bash", { command: "cat z.ts" }),
      ],
      children: [reader],
    });
    const list = filesOf(editor).map(({ path, reads, writes, edits, agents }) => [path, reads, writes, edits, agents]);
    expect(list).toEqual([
      ["/repo/x.ts", 1, 0, 1, ["toy://a", "toy://b"]],
      ["/repo/new.ts", 0, 1, 0, ["toy://a"]],
      ["/repo/y.ts", 0, 0, 1, ["toy://a"]],
      ["/repo/denied.ts", 0, 0, 0, ["toy://a"]],
    ]);
  });
});

describe("the summary of many threads", () => {
  const row = (more: Partial<SpentRow>): SpentRow => ({
    day: "2026-11-17",
    provider: "toy",
    model: "m",
    type: "worker",
    project: "p",
    template: null,
    status: "completed",
    thread: "toy://1",
    agents: 1,
    durationMs: 1,
    usage: { ...NO_USAGE, calls: 1, outputTokens: 10, costUsd: 1 },
    ...more,
  });

  it("adds up agents without a result, and names their threads", () => {
    const rows = [
      row({}),
      row({ status: "errored", thread: "toy://2" }),
      // The same agent on another day.
      row({ status: "errored", thread: "toy://2", agents: 0 }),
      row({ status: "shutdown", thread: "toy://3", type: "scout" }),
    ];
    const { agents, failed, interrupted, knownLostUsd, by } = summarise(rows);
    expect({ agents, failed, interrupted, knownLostUsd }).toEqual({
      agents: 3,
      failed: 1,
      interrupted: 1,
      knownLostUsd: 3,
    });
    expect(by.type).toMatchObject([
      { key: "worker", failed: 1, knownLostUsd: 2, threads: [{ uri: "toy://2", failed: 1, knownLostUsd: 2 }] },
      { key: "scout", interrupted: 1, threads: [{ uri: "toy://3" }] },
    ]);
    expect(summarise([row({})]).by).toEqual({ type: [], project: [], model: [] });
  });
});
