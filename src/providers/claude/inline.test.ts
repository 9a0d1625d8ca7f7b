import { describe, expect, it } from "vitest";
import {
  agentCall,
  forestOf,
  mainWriter,
  OTHER_SESSION,
  SESSION,
  THREAD_FILE,
  text,
  treeFrom,
  writer,
} from "../../../test/support/claude-records.ts";

const CALL = "toolu_0123456789abcdef";
const SECOND_CALL = "toolu_fedcba9876543210";

describe("agents inside the thread's own transcript, as up to 2.0.24", () => {
  /** Two concurrent agents: their records are mixed, and only the chain of parents distinguishes them. */
  function inlineThread() {
    const main = mainWriter();
    const [first, second] = [writer("first", { isSidechain: true }), writer("second", { isSidechain: true })];
    return [
      main.user("Begin."),
      main.assistant([agentCall(CALL, "Do the first."), agentCall(SECOND_CALL, "Do the second.")], {
        stop_reason: "tool_use",
      }),
      // The clocks of the writers are in sync: a response is later than its request.
      ...[
        second.user("Do the second."),
        first.user("Do the first."),
        first.assistant([text("First.")]),
        second.assistant([text("Second.")]),
      ].map(later),
      main.result(CALL, "First.", { toolUseResult: { status: "completed" } }),
      main.assistant([text("All done.")]),
    ];
  }
  const later = (record: Readonly<Record<string, unknown>>) => ({
    ...record,
    timestamp: new Date(Date.parse(String(record.timestamp)) + 5_000).toISOString(),
  });

  it("are distinguished by their chains, and named after the calls with their prompts", () => {
    const tree = treeFrom({ [THREAD_FILE]: inlineThread() });
    expect(tree.children.map((c) => [c.agentId, c.prompt, c.result]).sort()).toEqual([
      [CALL, "Do the first.", "First."],
      [SECOND_CALL, "Do the second.", "Second."],
    ]);
    expect(tree.usage.own.calls).toBe(2);
  });

  it("are ignored in a copy of the transcript: they stay with the original thread", () => {
    const warm = writer("warm-up-of-this-thread", { isSidechain: true });
    const original = [warm.user("Warmup"), warm.assistant([text("Ready.")]), ...inlineThread()];
    const main = mainWriter();
    const next = [main.user("Go on."), main.assistant([text("Went on.")])].map((record, i) => ({
      ...later(later(record)),
      uuid: `record-of-the-copy-${i}`,
    }));
    const copy = [...original, ...next].map((record) => ({ ...record, sessionId: OTHER_SESSION }));
    const forest = forestOf({ [THREAD_FILE]: original, [THREAD_FILE.replace(SESSION, OTHER_SESSION)]: copy });
    expect([...forest.agents.values()].map((agent) => agent.uri).sort()).toEqual(
      ["", `/${CALL}`, `/${SECOND_CALL}`]
        .map((agent) => `claude://${SESSION}${agent}`)
        .concat(`claude://${OTHER_SESSION}`),
    );
  });

  it("are not agents before the thread's own records begin: that is a promoted transcript", () => {
    const copy = writer("copy", { isSidechain: true });
    const main = mainWriter();
    const tree = treeFrom({
      [THREAD_FILE]: [
        copy.user("Do it."),
        copy.assistant([text("Done.")]),
        main.user("Go on."),
        main.assistant([text("Went on.")]),
      ],
    });
    expect(tree.children).toEqual([]);
    expect(tree.usage.own.calls).toBe(2);
  });
});

describe("a warm-up inside the transcript of a thread (2.0.19)", () => {
  const warmUp = (name: string) => {
    const inline = writer(name, { isSidechain: true, version: "2.0.19", cwd: "/home/dev/repo" });
    const haiku = { model: "claude-haiku-4-5-20251001", usage: { input_tokens: 900, output_tokens: 40 } };
    return [inline.user("Warmup"), inline.assistant([text("Ready.")], haiku)];
  };
  const own = () => {
    const main = writer("main", { isSidechain: false, version: "2.0.19", cwd: "/home/dev/repo" });
    return [
      main.user("Fix the test."),
      main.assistant([text("Fixed.")], { usage: { input_tokens: 3, output_tokens: 5 } }),
    ];
  };

  it("is internal at any position: the thread has its own prompt, model and tokens", () => {
    const [first, second] = [warmUp("first"), warmUp("second")];
    const interleaved = [first[0], second[0], second[1], first[1]];
    for (const records of [
      [...interleaved, ...own()],
      [...own(), ...interleaved],
    ]) {
      const tree = treeFrom({ [THREAD_FILE]: records });
      expect(tree).toMatchObject({
        prompt: "Fix the test.",
        model: ["claude-opus-5-5"],
        status: "completed",
        result: "Fixed.",
        counts: { messages: 2 },
      });
      expect(tree.usage).toMatchObject({
        own: { calls: 1, inputTokens: 3, outputTokens: 5 },
        internal: { calls: 2, inputTokens: 1_800, outputTokens: 80 },
      });
      expect(tree.children).toEqual([]);
    }
  });

  it("is not the prompt of a thread without user input", () => {
    const tree = treeFrom({ [THREAD_FILE]: warmUp("first") });
    expect(tree).toMatchObject({
      prompt: null,
      model: [],
      cwd: "/home/dev/repo",
      children: [],
      usage: { own: { calls: 0 }, internal: { calls: 1 } },
    });
    expect(tree.records).toMatchObject([{ path: THREAD_FILE }]);
  });
});
