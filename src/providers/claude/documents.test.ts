import { describe, expect, it } from "vitest";
import {
  agentCall,
  agentFile,
  agentWriter,
  mainWriter,
  metaFile,
  read,
  SESSION,
  THREAD_FILE,
  text,
  toolUse,
  treeFrom,
} from "../../../test/support/claude-records.ts";
import * as key from "./keys.ts";

const CALL = "toolu_0123456789abcdef";
const thread = () => [mainWriter().user("Begin.")];
const agent = (id: string) => {
  const { user, assistant } = agentWriter(id);
  return [user("Do it."), assistant([text("Done.")])];
};

describe("an agent's meta file", () => {
  it("names its parent, which overrides all other evidence", () => {
    const tree = treeFrom({
      [THREAD_FILE]: thread(),
      [agentFile("outer")]: agent("outer"),
      [agentFile("inner")]: agent("inner"),
      [metaFile("inner")]: { agentType: "Explore", description: "Look", parentAgentId: "outer", spawnDepth: 2 },
    });
    expect(tree.children).toMatchObject([
      {
        agentId: "outer",
        children: [
          {
            agentId: "inner",
            type: "Explore",
            description: "Look",
            link: { rule: "meta.parentAgentId", source: "protocol", confidence: 1 },
          },
        ],
      },
    ]);
  });

  it("names the thread itself as the parent, by the depth", () => {
    const tree = treeFrom({
      [THREAD_FILE]: thread(),
      [agentFile("a")]: agent("a"),
      [metaFile("a")]: { agentType: "Explore", spawnDepth: 1 },
    });
    expect(tree.children[0]?.link).toMatchObject({ rule: "meta.spawnDepth", source: "protocol" });
  });

  it("names the call of any caller", () => {
    const outer = agentWriter("outer");
    const tree = treeFrom({
      [THREAD_FILE]: thread(),
      [agentFile("outer")]: [
        outer.user("Do it."),
        outer.assistant([agentCall(CALL, "Do it.")], { stop_reason: "tool_use" }),
      ],
      [metaFile("inner")]: { agentType: "Explore", toolUseId: CALL, requestShape: "background" },
    });
    expect(tree.children[0]?.children).toMatchObject([
      { agentId: "inner", background: true, link: { rule: "meta.toolUseId", toolCallId: CALL } },
    ]);
  });

  it("is sufficient evidence of an agent", () => {
    const tree = treeFrom({ [THREAD_FILE]: thread(), [metaFile("a")]: {} });
    expect(tree.children).toMatchObject([{ agentId: "a", warnings: ["its transcript was not found"] }]);
  });

  it("has the name and the actual type of a teammate", () => {
    const meta = {
      taskKind: "in_process_teammate",
      agentType: "bob",
      spawnedAgentType: "general-purpose",
      name: "bob",
    };
    const tree = treeFrom({
      [THREAD_FILE]: thread(),
      [agentFile("abob-1")]: agent("abob-1"),
      [metaFile("abob-1")]: meta,
    });
    expect(tree.children).toMatchObject([{ kind: "teammate", name: "bob", type: "general-purpose" }]);
  });

  it("states that a person stopped the agent, if there are no other records", () => {
    const tree = treeFrom({ [THREAD_FILE]: thread(), [metaFile("a")]: { stoppedByUser: true } });
    expect(tree.children).toMatchObject([{ agentId: "a", status: "shutdown", statusSource: "protocol" }]);
  });

  it("that is not an object is reported", () => {
    expect(read({ [metaFile("a")]: ["not an object"] }).problems).toMatchObject([
      { code: "line-not-json", where: metaFile("a") },
    ]);
  });
});

describe("a workflow", () => {
  const folder = `projects/-home-dev-repo/${SESSION}`;
  const journal = `${folder}/subagents/workflows/wf_1/journal.jsonl`;

  function running() {
    const main = mainWriter();
    return [
      main.user("Begin."),
      main.assistant([toolUse(CALL, "Workflow", { name: "flow" })], { stop_reason: "tool_use" }),
      main.result(CALL, "Started.", { toolUseResult: { runId: "wf_1" } }),
    ];
  }

  it("is the spawn call of every agent in its run", () => {
    const tree = treeFrom({
      [THREAD_FILE]: running(),
      [journal]: [
        { type: "started", agentId: "w1", label: "first" },
        { type: "result", agentId: "w1", result: { ok: true } },
        { type: "started", agentId: "w2", label: "second" },
      ],
      [`${folder}/workflows/wf_1.json`]: {
        workflowProgress: [{ agentId: "w2", state: "killed" }, { agentId: "w3", state: "queued" }, null],
      },
    });
    expect(
      tree.children.map((c) => [c.agentId, c.kind, c.description, c.status, c.link?.toolCallId, c.result]),
    ).toEqual([
      ["w1", "workflow", "first", "completed", CALL, '{"ok":true}'],
      ["w2", "workflow", "second", "shutdown", CALL, null],
    ]);
  });

  it("gets no agent from a journal line that names none", () => {
    expect(read({ [journal]: [{ type: "note" }, { type: "started", agentId: " " }] })).toEqual({
      observations: [],
      problems: [],
    });
  });
});

describe("a process file", () => {
  it("names the process, its thread, its start time, and what it waits for", () => {
    const mark = {
      pid: 42,
      sessionId: SESSION,
      procStart: "12345",
      pidDomain: "linux:m:pid:[1]",
      startedAt: 1_700_000_000_000,
      waitingFor: "permission prompt",
    };
    expect(read({ "sessions/42.json": mark }).observations).toMatchObject([
      {
        type: "process-seen",
        thread: key.thread(SESSION),
        process: { pid: 42, birth: "12345", domain: "linux:m:pid:[1]", startedAt: 1_700_000_000_000 },
        waitingFor: "permission prompt",
      },
    ]);
  });

  it("is reported if it has no pid, and ignored if it has no session", () => {
    expect(read({ "sessions/42.json": { sessionId: SESSION } })).toEqual({
      observations: [],
      problems: [{ code: "record-malformed", where: "sessions/42.json", detail: "no pid" }],
    });
    const onWindows = { pid: 42, sessionId: SESSION, procStartFt: "134335934283456780", pidDomain: "win32:desk" };
    expect(read({ "sessions/42.json": onWindows }).observations).toMatchObject([
      { process: { birth: "134335934283456780", domain: "win32:desk" } },
    ]);
    expect(read({ "sessions/42.json": { pid: 42 } })).toEqual({ observations: [], problems: [] });
  });
});
