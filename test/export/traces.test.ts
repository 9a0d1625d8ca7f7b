/** How threads become turns, turns become runs, and how runs grow while agents work. */
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readStory } from "../../src/app/export/story.ts";
import { flush } from "../../src/app/hooks/flush.ts";
import { hook } from "../../src/app/hooks/hook.ts";
import { openKept } from "../../src/app/kept/kept-file.ts";
import { readMachine } from "../../src/app/machine.ts";
import type { AgentKey } from "../../src/core/facts/ids.ts";
import { agentOf, subtreeOf } from "../../src/core/link/forest.ts";
import { spansOf } from "../../src/core/views/spans.ts";
import type { Story } from "../../src/core/views/story.ts";
import { runsOf } from "../../src/exporters/langsmith/runs.ts";
import { otlpSpans, spanIdOf } from "../../src/exporters/otlp/spans.ts";
import { tracesOf } from "../../src/exporters/trace/spans.ts";
import {
  agentCall,
  agentFile,
  agentWriter,
  mainWriter,
  metaFile,
  SESSION,
  THREAD_FILE,
  text,
  toolUse,
} from "../support/claude-records.ts";
import { filesBelow, homeEnv, RECORDED, recordedHome, recordedHomes } from "../support/fixtures.ts";
import { type LangSmithServer, startLangSmith } from "../support/langsmith-server.ts";
import { storiesOf } from "../support/stories.ts";

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-traces-"));
});
afterEach(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }));

type Records = readonly object[];
/** Ids as long as those of the API. */
const call = (n: number | string) => `toolu_0000000000000${n}`;
const agentId = (n: number) => `a00000000000000${n}`;
const usage = { usage: { input_tokens: 10, output_tokens: 5 } };

function write(path: string, records: Records) {
  const file = join(scratch, ".claude", path);
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
}
const meta = (id: string, toolUseId: string, more: object = {}) => {
  const file = join(scratch, ".claude", metaFile(id));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    JSON.stringify({ agentType: "general-purpose", description: "Work", toolUseId, spawnDepth: 1, ...more }),
  );
};

const story = async (): Promise<Story> => (await storiesOf(scratch))[0] as Story;
const OPTIONS = { project: "p", version: "1", metadata: { team: "core" }, outer: null, shiftMs: 0 };
const runs = async () => tracesOf(await story()).flatMap((trace) => runsOf(trace, OPTIONS));
type Run = Awaited<ReturnType<typeof runs>>[number];
const below = (all: readonly Run[], run: Run | undefined) => all.filter((one) => one.parent_run_id === run?.id);
const agentRuns = (all: readonly Run[]) => all.filter(({ tags }) => tags.includes("agent"));

/** A thread that spawns agents in its only turn. */
function spawning(...agents: readonly { readonly id: string; readonly records: Records | null }[]) {
  const main = mainWriter();
  const calls = agents.map((_, i) => agentCall(call(i), `task ${i}`));
  write(THREAD_FILE, [
    main.user("go"),
    main.assistant([text("I ask others."), ...calls], { stop_reason: "tool_use", ...usage }),
    ...agents.map((_, i) => main.result(call(i), `done ${i}`)),
    main.assistant([text("All done.")], usage),
  ]);
  for (const [i, { id, records }] of agents.entries()) {
    meta(id, call(i));
    if (records !== null) write(agentFile(id), records);
  }
}

function working(id: string, responses: number): Records {
  const agent = agentWriter(id);
  return [
    agent.user("do it"),
    ...Array.from({ length: responses }, (_, i) => agent.assistant([text(`step ${i}`)], usage)),
  ];
}

describe("runs", () => {
  it("five messages of one agent are five runs under that agent's run, which is under the call", async () => {
    spawning({ id: agentId(1), records: working(agentId(1), 4) });
    const all = await runs();
    const [agent] = agentRuns(all);
    const inside = below(all, agent);
    expect(inside.map(({ run_type, name }) => `${run_type} ${name}`)).toEqual([
      "prompt User prompt",
      ...Array.from({ length: 4 }, () => "llm Agent: claude-opus-5-5"),
    ]);
    for (const run of inside) expect(run.tags).toContain("subagent");
    const tool = all.find(({ id }) => id === agent?.parent_run_id);
    expect([tool?.run_type, tool?.name, tool?.tags]).toEqual(["tool", "Agent", ["agent-tool"]]);
    const turn = all[0];
    expect(below(all, turn).map(({ run_type }) => run_type)).toEqual(["llm", "llm", "tool"]);
    expect(below(all, turn)[0]?.name).toBe("Claude: claude-opus-5-5");
    expect(turn).toMatchObject({
      name: "Claude Code Turn",
      tags: ["claude-code", "turn-1"],
      extra: { metadata: { thread_id: SESSION, team: "core", ls_agent_type: "root" } },
    });
    expect(agent?.extra.metadata).toMatchObject({
      ls_subagent_id: agentId(1),
      ls_subagent_type: "general-purpose",
      ls_agent_type: "subagent",
      spawn_depth: 1,
    });
  });

  it("several sub-agents in one turn stay separate", async () => {
    spawning(...[1, 2, 3].map((n) => ({ id: agentId(n), records: working(agentId(n), n) })));
    const all = await runs();
    const agents = agentRuns(all);
    expect(agents.map((agent) => below(all, agent).length)).toEqual([2, 3, 4]);
    expect(new Set(agents.map(({ parent_run_id }) => parent_run_id)).size).toBe(3);
  });

  it("a missing or empty file of an agent does not affect the rest", async () => {
    spawning(
      { id: agentId(1), records: null },
      { id: agentId(2), records: [] },
      { id: agentId(3), records: working(agentId(3), 1) },
    );
    const all = await runs();
    expect(agentRuns(all).length).toBe(3);
    expect(all.every(({ end_time }) => end_time !== undefined)).toBe(true);
    expect(all[0]?.outputs).toEqual({
      messages: [{ role: "assistant", content: [{ type: "text", text: "All done." }] }],
    });
  });

  it("the rest of a transcript that is damaged in the middle is read", async () => {
    const main = mainWriter();
    const [first, second] = [
      [
        main.user("go"),
        main.assistant([toolUse(call(1), "Bash", { command: "a" })], { stop_reason: "tool_use", ...usage }),
      ],
      [main.result(call(1), "fine"), main.assistant([text("Done.")], usage)],
    ];
    write(THREAD_FILE, first);
    appendFileSync(join(scratch, ".claude", THREAD_FILE), '{"type":"assistant","mess\u0000 torn\n[1,2\n');
    write(THREAD_FILE, second);
    const all = await runs();
    expect(all.map(({ run_type, error }) => [run_type, error])).toEqual([
      ["chain", undefined],
      ["llm", undefined],
      ["llm", undefined],
      ["tool", undefined],
    ]);
  });

  it("nested agents are below their calls, and a hundred messages are a hundred runs", async () => {
    const [outer, inner] = [agentWriter(agentId(1)), agentWriter(agentId(2))];
    spawning({
      id: agentId(1),
      records: [
        outer.user("do it"),
        outer.assistant([agentCall(call("n"), "deeper")], { stop_reason: "tool_use", ...usage }),
        outer.result(call("n"), "ok"),
        outer.assistant([text("ok")], usage),
      ],
    });
    meta(agentId(2), call("n"), { parentAgentId: agentId(1), spawnDepth: 2 });
    write(agentFile(agentId(2)), [
      inner.user("deeper"),
      ...Array.from({ length: 120 }, (_, i) => inner.assistant([text(`step ${i}`)], usage)),
    ]);
    const all = await runs();
    const [first, second] = agentRuns(all);
    expect(below(all, second).length).toBe(121);
    expect(below(all, first).some(({ id }) => id === second?.parent_run_id)).toBe(true);
    expect(second?.dotted_order.split(".").length).toBe(5);
  });

  it("a tool's result ends its run and is not a run itself; an error marks it; no result is an interruption", async () => {
    const main = mainWriter();
    const tools = [1, 2, 3].map((n) => toolUse(call(n), "Bash", { command: `run ${n}` }));
    write(THREAD_FILE, [
      main.user("go"),
      main.assistant(tools, { stop_reason: "tool_use", ...usage }),
      main.result(call(1), "fine"),
      main.result(call(2), "no such file", {}, true),
    ]);
    const all = (await runs()).filter(({ run_type }) => run_type === "tool");
    expect(all.map(({ inputs, outputs, error }) => [inputs, outputs, error])).toEqual([
      [{ input: { command: "run 1" } }, { output: "fine" }, undefined],
      [{ input: { command: "run 2" } }, { output: "no such file" }, "no such file"],
      [{ input: { command: "run 3" } }, { output: null }, "interrupted: no result was recorded"],
    ]);
  });

  it("a turn starts with a message of a person, or with the end of a background agent, to which it is linked", async () => {
    const [recorded] = await storiesOf(recordedHome("claude", "d-background").home);
    const traces = tracesOf(recorded as Story);
    expect(traces.length).toBeGreaterThan(1);
    const agents = traces.flatMap(({ spans }) => spans.filter(({ kind }) => kind === "agent"));
    const links = otlpSpans(traces).flatMap((span) => span.links.map((link) => link.spanId));
    expect(links.length).toBeGreaterThan(0);
    for (const link of links) expect(agents.map(spanIdOf)).toContain(link);
    // A background agent is covered by the call that launched it.
    for (const agent of agents) expect(agent.parent?.end).toBeGreaterThanOrEqual(agent.end ?? Number.POSITIVE_INFINITY);
  });

  it("model calls start at the time of the request if that is recorded", async () => {
    const { home } = recordedHome("claude", "a-single");
    const requests = filesBelow(home)
      .filter((path) => path.endsWith(".jsonl"))
      .flatMap(
        (path) =>
          readFileSync(join(home, path), "utf8").match(/(?<=^\{"type":"api-request",[^{}]*"timestamp":")[^"]+/gm) ?? [],
      );
    const [recorded] = await storiesOf(home);
    const calls = tracesOf(recorded as Story).flatMap(({ spans }) =>
      spans.filter(({ kind, call: made }) => kind === "call" && made?.isInternal === false),
    );
    expect(calls.length).toBeGreaterThan(0);
    for (const { start, end } of calls) {
      expect(requests.map((at) => Date.parse(at))).toContain(start);
      expect(end).toBeGreaterThan(start);
    }
  });

  it.each(RECORDED.map(({ name }) => name))("%s: calls and tools have the times of the timeline", async (provider) => {
    expect(recordedHomes(provider)).not.toEqual([]);
    for (const { home } of recordedHomes(provider)) {
      const { forest, library } = await readMachine({ env: homeEnv(home), liveness: () => "gone" });
      for (const root of forest.roots) {
        const traced = tracesOf(await readStory(library, forest, root)).flatMap(({ spans }) => spans);
        const shown = new Set(
          subtreeOf(forest, root).flatMap((key) =>
            spansOf(forest, key).map(({ from, to }) => `${agentOf(forest, key).uri} ${from} ${to}`),
          ),
        );
        // In a trace nothing starts before its parent.
        const drawn = traced.filter(
          ({ kind, call: made, start, born, parent }) =>
            (kind === "tool" || made?.time != null) && start > (parent?.start ?? 0) && born > 0,
        );
        for (const { story: of, start, ownEnd, error } of drawn)
          if (error === null) expect(shown).toContain(`${of.record.uri} ${start} ${ownEnd}`);
      }
    }
  });

  it("contain nothing that was written after their facts were read", async () => {
    const main = mainWriter();
    write(THREAD_FILE, [main.user("go"), main.assistant([text("One.")], usage)]);
    const { forest, library } = await readMachine({ env: homeEnv(scratch) });
    write(THREAD_FILE, [main.user("more"), main.assistant([text("Two.")], usage)]);
    const [root] = forest.roots;
    const texts = (await readStory(library, forest, root as AgentKey)).steps.map(({ event }) => event.text);
    expect(texts).toContain("One.");
    expect(texts).not.toContain("more");
    expect(texts).not.toContain("Two.");
  });

  it("copies of a session yield the same runs under the same ids", async () => {
    const resumed = await storiesOf(recordedHome("claude", "h2-forks").home);
    const ids = resumed.flatMap((one) => tracesOf(one).flatMap((trace) => runsOf(trace, OPTIONS).map(({ id }) => id)));
    expect(new Set(ids).size).toBe(ids.length);
    const calls = resumed.reduce((sum, { record }) => sum + record.usage.subtree.calls, 0);
    expect(
      resumed.flatMap((one) => tracesOf(one).flatMap(({ spans }) => spans.filter(({ kind }) => kind === "call")))
        .length,
    ).toBe(calls);
  });
});

describe("while agents work", () => {
  let server: LangSmithServer;
  let env: Record<string, string>;
  beforeEach(async () => {
    server = await startLangSmith();
    env = {
      PATH: process.env.PATH ?? "",
      HOME: scratch,
      RETINUE_HOME: join(scratch, "data"),
      CC_LANGSMITH_API_KEY: "test-key",
      LANGSMITH_ENDPOINT: server.url,
      TRACE_TO_LANGSMITH: "true",
    };
    const kept = await openKept(env);
    kept.outbox.open(`langsmith ${server.url} (by product)`, 0);
    kept.close();
  });
  afterEach(() => server.close());

  /** As if it were being written now, by a version without process files. */
  const now = (records: Records) =>
    records.map((record) => ({
      ...record,
      version: "2.0.90",
      timestamp: new Date(Date.now() - 60_000 + number++ * 10).toISOString(),
    }));
  let number = 0;
  const names = (test: (run: { end_time?: string }) => boolean) =>
    [...server.runs.values()].filter(test).map(({ name }) => name);

  it("a turn is sent when all of it has ended, and once", async () => {
    const main = mainWriter();
    const agent = agentWriter(agentId(1));
    write(
      THREAD_FILE,
      now([main.user("go"), main.assistant([agentCall(call(0), "task")], { stop_reason: "tool_use", ...usage })]),
    );
    await flush(env);
    expect(server.requests).toEqual([]);
    meta(agentId(1), call(0));
    write(
      agentFile(agentId(1)),
      now([
        agent.user("task"),
        agent.assistant([toolUse(call(9), "Bash", { command: "ls" })], { stop_reason: "tool_use", ...usage }),
      ]),
    );
    await flush(env);
    expect(server.requests).toEqual([]);
    write(agentFile(agentId(1)), now([agent.result(call(9), "files"), agent.assistant([text("done")], usage)]));
    write(THREAD_FILE, now([main.result(call(0), "done"), main.assistant([text("All done.")], usage)]));
    await flush(env);
    expect(names(({ end_time }) => end_time === undefined)).toEqual([]);
    expect(names(() => true).toSorted()).toEqual(
      [
        "Agent",
        "Agent: claude-opus-5-5",
        "Agent: claude-opus-5-5",
        "Bash",
        "Claude Code Turn",
        "Claude: claude-opus-5-5",
        "Claude: claude-opus-5-5",
        "User prompt",
        "general-purpose Subagent",
      ].toSorted(),
    );
    const requests = server.requests.length;
    await flush(env);
    expect([server.requests.length, server.repeated]).toEqual([requests, []]);
  });

  it("the first hook in an existing session sends the turn that it reports, and none before it", async () => {
    const main = mainWriter();
    const old = (records: Records) => records.map((record) => ({ ...record, version: "2.0.90" }));
    write(
      THREAD_FILE,
      old([
        main.user("one"),
        main.assistant([text("First.")], usage),
        main.user("two"),
        main.assistant([text("Second.")], usage),
      ]),
    );
    rmSync(join(scratch, "data"), { recursive: true });
    const payload = {
      session_id: SESSION,
      transcript_path: join(scratch, ".claude", THREAD_FILE),
      hook_event_name: "Stop",
      last_assistant_message: "Second.",
    };
    await hook({ ...env, TRACE_TO_LANGSMITH: "" }, () => JSON.stringify(payload));
    await flush(env);
    expect(names(() => true)).toEqual(["Claude Code Turn", "Claude: claude-opus-5-5"]);
    expect([...server.runs.values()][0]?.outputs).toEqual({
      messages: [{ role: "assistant", content: [{ type: "text", text: "Second." }] }],
    });
  });

  it("an agent whose file is created late is reported when it exists", async () => {
    const main = mainWriter();
    write(
      THREAD_FILE,
      now([
        main.user("go"),
        main.assistant([agentCall(call(0), "task")], { stop_reason: "tool_use", ...usage }),
        main.result(call(0), "done"),
        main.assistant([text("Done.")], usage),
      ]),
    );
    await flush(env);
    // Far in the future: the thread itself would no longer be checked.
    const kept = await openKept(env);
    kept.outbox.setLookedTo(`langsmith ${server.url} (by product)`, Date.now() + 3_600_000);
    kept.close();
    meta(agentId(1), call(0));
    write(agentFile(agentId(1)), now(working(agentId(1), 3)));
    await flush(env);
    expect([...server.runs.values()].filter(({ name }) => name === "Agent: claude-opus-5-5").length).toBe(3);
    expect([...server.runs.values()].filter(({ tags }) => tags?.includes("agent")).length).toBe(1);
    for (const run of server.runs.values())
      if (run.parent_run_id !== undefined) expect(server.runs.has(run.parent_run_id)).toBe(true);
  });
});
