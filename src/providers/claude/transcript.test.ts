import { describe, expect, it } from "vitest";
import {
  agentCall,
  agentFile,
  agentWriter,
  forestOf,
  mainWriter,
  metaFile,
  OTHER_SESSION,
  read,
  SESSION,
  THREAD_FILE,
  text,
  toolUse,
  treeFrom,
} from "../../../test/support/claude-records.ts";
import * as key from "./keys.ts";
import { provider as claude } from "./provider.ts";

const CALL = "toolu_0123456789abcdef";
const SECOND_CALL = "toolu_fedcba9876543210";

/** A thread that spawns one agent, and the result of its call. */
function askingThread(toolUseResult: Readonly<Record<string, unknown>> = { status: "completed", agentId: "a0b1" }) {
  const main = mainWriter();
  return [
    main.user("Begin."),
    main.assistant([agentCall(CALL, "Do it.")], { stop_reason: "tool_use" }),
    main.result(CALL, "Done.", { toolUseResult }),
    main.assistant([text("All done.")]),
  ];
}

function finishedAgent(id = "a0b1", prompt = "Do it.") {
  const agent = agentWriter(id);
  return [agent.user(prompt), agent.assistant([text("Done.")])];
}

const codes = (files: Parameters<typeof read>[0]) =>
  read(files).problems.map((p) => `${p.code} ${p.where}: ${p.detail}`);

describe("an agent's file", () => {
  it("is shown under the thread that called it", () => {
    const tree = treeFrom({ [THREAD_FILE]: askingThread(), [agentFile("a0b1")]: finishedAgent() });
    expect(tree.children).toMatchObject([
      { agentId: "a0b1", status: "completed", link: { rule: "toolUseResult.agentId", toolCallId: CALL } },
    ]);
  });

  it("whose records are not those of a sub-agent is reported, and not shown", () => {
    const stray = mainWriter();
    const files = {
      [THREAD_FILE]: [mainWriter().user("Begin.")],
      [agentFile("a9")]: [stray.user("Do it."), stray.assistant([text("Done.")])],
    };
    expect(codes(files)).toEqual([`agent-file-unmarked ${agentFile("a9")}:1: agent a9`]);
    expect(treeFrom(files).children).toEqual([]);
  });

  it("that names another session is reported, and shown under neither", () => {
    const foreign = agentWriter("a9", { sessionId: OTHER_SESSION });
    const files = {
      [THREAD_FILE]: [mainWriter().user("Begin.")],
      [agentFile("a9")]: [foreign.user("Do it."), foreign.assistant([text("Done.")])],
    };
    expect(codes(files)).toEqual([`agent-file-foreign ${agentFile("a9")}:1: it names session ${OTHER_SESSION}`]);
    expect([...forestOf(files).agents.keys()]).toEqual([key.thread(SESSION)]);
  });

  it("that was rejected is ignored with its meta file, but not what its parent records about it", () => {
    const stray = [mainWriter().user("Do it.")];
    const meta = { agentType: "general-purpose", spawnDepth: 1 };
    expect(
      treeFrom({ [THREAD_FILE]: [mainWriter().user("Begin.")], [agentFile("a9")]: stray, [metaFile("a9")]: meta })
        .children,
    ).toEqual([]);
    const named = treeFrom({ [THREAD_FILE]: askingThread(), [agentFile("a0b1")]: stray, [metaFile("a0b1")]: meta });
    expect(named.children).toMatchObject([
      { agentId: "a0b1", status: "completed", statusSource: "parent_rollout", usage: { own: { calls: 0 } } },
    ]);
  });

  it("is placed in its thread if that is named but missing, and the thread is reported as missing", () => {
    const forest = forestOf({ [agentFile("a0b1")]: finishedAgent() });
    expect(forest.agents.get(key.agent(SESSION, "a0b1"))?.parent).toBe(key.thread(SESSION));
    expect(forest.problems.map((p) => p.code)).toEqual(["thread-missing"]);
  });

  it("in the folder of the transcripts belongs to the thread that its records name", () => {
    const forest = forestOf({ "projects/-repo/agent-0a1b2c3d.jsonl": finishedAgent("0a1b2c3d") });
    expect(forest.agents.get(key.agent(SESSION, "0a1b2c3d"))?.uri).toBe(`claude://${SESSION}/0a1b2c3d`);
  });

  it("that names no thread at all is unassigned, not lost", () => {
    const agent = agentWriter("0a1b2c3d", { sessionId: null });
    const forest = forestOf({
      "projects/-repo/agent-0a1b2c3d.jsonl": [agent.user("Do it."), agent.assistant([text("Done.")])],
    });
    expect([...forest.agents.values()].map((a) => a.uri).sort()).toEqual([
      "unassigned://claude",
      "unassigned://claude/0a1b2c3d",
    ]);
  });
});

describe("internal work of the product", () => {
  const usage = { usage: { input_tokens: 7, output_tokens: 5 } };

  it.each(["acompact-0a1b", "aprompt_suggestion-0a1b", "asession_memory-0a1b"])(
    "in the file of %s is not an agent, and its calls are internal",
    (id) => {
      const work = agentWriter(id);
      const tree = treeFrom({
        [THREAD_FILE]: [mainWriter().user("Begin.")],
        [agentFile(id)]: [work.user("Summarise."), work.assistant([text("Short.")], usage)],
      });
      expect(tree.children).toEqual([]);
      expect(tree.usage).toMatchObject({
        own: { calls: 0 },
        internal: { calls: 1, inputTokens: 7, outputTokens: 5 },
        subtree: { calls: 1 },
      });
    },
  );

  it("is not an agent, even if a call seems to name it", () => {
    const work = agentWriter("acompact-0a1b");
    const tree = treeFrom({
      [THREAD_FILE]: askingThread({ status: "completed", agentId: "acompact-0a1b" }),
      [agentFile("acompact-0a1b")]: [work.user("Summarise.")],
    });
    expect(tree.children).toEqual([]);
  });

  it("is a warm-up without a call, but not an agent with a warm-up as its prompt", () => {
    const warm = () => {
      const work = agentWriter("a0b1");
      return [work.user("Warmup"), work.assistant([text("Ready.")], usage)];
    };
    expect(treeFrom({ [THREAD_FILE]: [mainWriter().user("Begin.")], [agentFile("a0b1")]: warm() }).children).toEqual(
      [],
    );
    expect(treeFrom({ [THREAD_FILE]: askingThread(), [agentFile("a0b1")]: warm() }).children).toMatchObject([
      { agentId: "a0b1", usage: { own: { calls: 1 } } },
    ]);
  });
});

describe("a file that begins in the middle of a conversation", () => {
  const middle = () => {
    const work = agentWriter("a0b1");
    return [work.user("Do it.", { parentUuid: "a record of the thread's" }), work.assistant([text("Done.")])];
  };

  it("is internal if no call spawned it, and an agent if a call did", () => {
    expect(treeFrom({ [THREAD_FILE]: [mainWriter().user("Begin.")], [agentFile("a0b1")]: middle() }).children).toEqual(
      [],
    );
    expect(treeFrom({ [THREAD_FILE]: askingThread(), [agentFile("a0b1")]: middle() }).children).toMatchObject([
      { agentId: "a0b1" },
    ]);
  });

  it("is an agent if its meta file names a call, even if the call itself is lost", () => {
    const files = {
      [THREAD_FILE]: [mainWriter().user("Begin.")],
      [agentFile("a0b1")]: middle(),
      [agentFile("a0b1").replace(".jsonl", ".meta.json")]: { agentType: "worker", toolUseId: CALL },
    };
    expect(treeFrom(files).children).toMatchObject([{ agentId: "a0b1" }]);
  });
});

describe("a damaged file", () => {
  const main = [mainWriter().user("Begin.")];
  const [first, second, third] = (() => {
    const agent = agentWriter("a0b1");
    return [agent.user("Do it."), agent.assistant([text("Nearly.")]), agent.assistant([text("Done.")])];
  })();

  it("of an agent whose first lines are invalid is still an agent's, not internal work", () => {
    const files = { [THREAD_FILE]: main, [agentFile("a0b1")]: ["{junk", second, third] };
    expect(treeFrom(files).children).toMatchObject([{ agentId: "a0b1", result: "Done." }]);
    expect(codes(files)).toEqual([`line-not-json ${agentFile("a0b1")}:1: 5 bytes`]);
  });

  it("of an agent whose lines are out of order is still an agent's", () => {
    expect(treeFrom({ [THREAD_FILE]: main, [agentFile("a0b1")]: [third, second, first] }).children).toMatchObject([
      { agentId: "a0b1", result: "Done." },
    ]);
  });

  it("of an agent without its beginning is still an agent's if it has a meta file", () => {
    const files = { [THREAD_FILE]: main, [agentFile("a0b1")]: [second, third] };
    expect(treeFrom(files).children).toEqual([]);
    expect(
      treeFrom({ ...files, [metaFile("a0b1")]: { agentType: "Explore", description: "Look" } }).children,
    ).toMatchObject([{ agentId: "a0b1" }]);
  });

  it("of an agent is not rejected for a record without an agent id", () => {
    const files = { [THREAD_FILE]: main, [agentFile("a0b1")]: [{ type: "user" }, first, second] };
    expect(treeFrom(files).children).toMatchObject([{ agentId: "a0b1" }]);
    expect(codes(files)).toEqual([`record-malformed ${agentFile("a0b1")}:1: it does not name its agent`]);
  });

  it("of a working agent whose call is lost is still an agent's: a warm-up would have ended with its response", () => {
    const agent = agentWriter("a0b1");
    const atWork = [agent.assistant([toolUse(CALL, "Read")], { stop_reason: "tool_use" })];
    expect(treeFrom({ [THREAD_FILE]: main, [agentFile("a0b1")]: atWork }).children).toMatchObject([
      { agentId: "a0b1" },
    ]);
  });

  it("contains the record that was written after one that a crash truncated", () => {
    const cut = JSON.stringify(first).slice(0, 50);
    const files = { [THREAD_FILE]: main, [agentFile("a0b1")]: [first, cut + JSON.stringify(second)] };
    expect(treeFrom(files).children).toMatchObject([{ agentId: "a0b1", result: "Nearly." }]);
    expect(codes(files)).toEqual([
      expect.stringMatching(/^line-not-json .*:2: \d+ bytes; the complete record at its end was read$/),
    ]);
  });

  it.each([
    ["a request", '{"type":"api-request","sessionId":"x","params":{"model":"cl'],
    ["an attachment", '{"parentUuid":null,"isSidechain":false,"attachment":{"type":"environment","snap'],
  ])("contains it also after %s, which would be ignored if it were complete", (_what, cut) => {
    const files = { [THREAD_FILE]: [cut + JSON.stringify({ ...main[0], gitBranch: "main" })] };
    expect(treeFrom(files)).toMatchObject({ prompt: "Begin." });
    expect(codes(files)).toEqual([expect.stringContaining("the complete record at its end was read")]);
  });

  it("with invalid UTF-8 is read and reported", () => {
    const parser = claude.stream(THREAD_FILE)?.open({ path: THREAD_FILE, bytes: 1 });
    const bytes = Buffer.from(JSON.stringify(mainWriter().user("Beg@n.")));
    bytes[bytes.indexOf("@")] = 0xff;
    const found = parser?.push(bytes, 1);
    expect(found?.problems.map((p) => [p.code, p.where])).toEqual([["text-not-utf8", `${THREAD_FILE}:1`]]);
    expect(found?.observations).toContainEqual(
      expect.objectContaining({ type: "agent-described", prompt: "Beg\ufffdn." }),
    );
  });

  it("with a value nested deeper than the call stack loses no other value", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const record = JSON.stringify(mainWriter().assistant([toolUse(CALL, "Read", { x: "@" })])).replace('"@"', deep);
    const files = { [THREAD_FILE]: [record, mainWriter().user("Begin.")] };
    expect(read(files).problems).toEqual([]);
    expect(treeFrom(files)).toMatchObject({ counts: { toolCalls: 1, messages: 2 } });
    const parser = claude.stream(THREAD_FILE)?.open({ path: THREAD_FILE, bytes: 1 });
    const [event] = parser?.events(Buffer.from(record), 1) ?? [];
    expect(JSON.stringify(event)).toContain('"input":null');
  });

  it("with a negative count is read as if the count were zero", () => {
    const [record] = [
      mainWriter().assistant([text("Done.")], {
        usage: { input_tokens: -7, output_tokens: 5, cache_creation_input_tokens: -9 },
      }),
    ];
    expect(treeFrom({ [THREAD_FILE]: [record] }).usage.own).toMatchObject({
      inputTokens: 0,
      outputTokens: 5,
      cacheWriteTokens: 0,
    });
  });
});

describe("a model that refuses in mid-response", () => {
  const CALL = "toolu_0123456789abcdef";
  const begun = () => {
    const main = mainWriter();
    const taken = [
      main.assistant([text("First I")], { stop_reason: "refusal" }),
      main.assistant([agentCall(CALL, "Do it.")], { stop_reason: "refusal" }),
    ];
    const retry = main.write({
      type: "system",
      subtype: "model_refusal_fallback",
      direction: "retry",
      content: "Switched to another model.",
      retractedMessageUuids: taken.map(({ uuid }) => uuid),
    });
    return { main, records: [main.user("Begin."), ...taken, retry] };
  };

  it("has not completed until another model has answered", () => {
    const { main, records } = begun();
    expect(treeFrom({ [THREAD_FILE]: records })).toMatchObject({ status: "shutdown", result: null });
    const answered = [...records, main.assistant([text("Done.")])];
    expect(treeFrom({ [THREAD_FILE]: answered })).toMatchObject({ status: "completed", result: "Done." });
  });

  it("has made none of the calls that were taken back", () => {
    const { records } = begun();
    expect(treeFrom({ [THREAD_FILE]: records })).toMatchObject({ children: [], counts: { refused: 1 } });
  });

  it("is an event, which says how many messages were taken back", () => {
    const stream = claude.stream(THREAD_FILE);
    const parser = stream?.open({ path: THREAD_FILE, bytes: 1 });
    const line = new TextEncoder().encode(JSON.stringify(begun().records.at(-1)));
    expect(parser?.events(line, 1)).toMatchObject([
      { kind: "note", text: "Switched to another model. (2 messages before it were taken back)" },
    ]);
  });
});

describe("invalid records", () => {
  it("do not include the history of files", () => {
    expect(
      read({ [THREAD_FILE]: [{ type: "file-history-delta", messageId: "x", trackingPath: "a.ts" }] }).problems,
    ).toEqual([]);
  });

  it("are reported with their position, and the records after them are read", () => {
    const main = mainWriter();
    const records = [
      main.user("Begin."),
      '{"type":"user",',
      "[1]",
      { type: "brand-new" },
      { uuid: "x" },
      main.assistant([text("Done.")]),
    ];
    expect(codes({ [THREAD_FILE]: records })).toEqual([
      `line-not-json ${THREAD_FILE}:2: 15 bytes`,
      `record-malformed ${THREAD_FILE}:3: not an object`,
      `record-unknown ${THREAD_FILE}:4: brand-new`,
      `record-malformed ${THREAD_FILE}:5: no type`,
    ]);
    expect(treeFrom({ [THREAD_FILE]: records })).toMatchObject({ status: "completed", usage: { own: { calls: 1 } } });
  });
});

describe("short ids, as in gateways and hand-made transcripts", () => {
  it("are valid only in their own thread", () => {
    const simple = (sessionId: string) => [
      {
        type: "user",
        uuid: "1",
        parentUuid: null,
        sessionId,
        isSidechain: false,
        timestamp: "2026-01-01T00:00:00Z",
        message: { content: "Begin." },
      },
      {
        type: "assistant",
        uuid: "2",
        parentUuid: "1",
        sessionId,
        isSidechain: false,
        timestamp: "2026-01-01T00:00:01Z",
        message: { id: "msg_1", stop_reason: "end_turn", content: [toolUse("call_1", "Agent", { prompt: "Do it." })] },
      },
    ];
    const forest = forestOf({
      [THREAD_FILE]: simple(SESSION),
      [THREAD_FILE.replace(SESSION, OTHER_SESSION)]: simple(OTHER_SESSION),
    });
    const threads = [SESSION, OTHER_SESSION].map((id) => forest.agents.get(key.thread(id)));
    expect(threads.map((t) => [t?.calls.length, t?.children.length, t?.forkedFrom])).toEqual([
      [1, 1, null],
      [1, 1, null],
    ]);
  });
});

describe("tokens", () => {
  const answer = { id: "msg_0123456789abcdef" };

  it("of a response spread over several records are the largest, once", () => {
    const main = mainWriter();
    const tree = treeFrom({
      [THREAD_FILE]: [
        main.user("Begin."),
        main.assistant([{ type: "thinking", thinking: "Hm." }], {
          ...answer,
          stop_reason: null,
          usage: { input_tokens: 30, output_tokens: 2 },
        }),
        main.assistant([text("Let me see.")], {
          ...answer,
          stop_reason: null,
          usage: { input_tokens: 30, output_tokens: 2 },
        }),
        main.assistant([toolUse(CALL, "Bash")], {
          ...answer,
          stop_reason: "tool_use",
          usage: { input_tokens: 30, output_tokens: 87 },
        }),
      ],
    });
    expect(tree.usage.own).toMatchObject({ calls: 1, inputTokens: 30, outputTokens: 87 });
  });

  it("written to the cache for an hour are part of all cache writes", () => {
    const main = mainWriter();
    const usage = {
      input_tokens: 1,
      output_tokens: 2,
      cache_read_input_tokens: 300,
      cache_creation_input_tokens: 50,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
    };
    const tree = treeFrom({ [THREAD_FILE]: [main.user("Begin."), main.assistant([text("Done.")], { usage })] });
    expect(tree.usage.own).toMatchObject({
      inputTokens: 1,
      cacheReadTokens: 300,
      cacheWriteTokens: 50,
      cacheWrite1hTokens: 30,
    });
  });

  it("are not counted for messages that the product generated itself", () => {
    const main = mainWriter();
    const tree = treeFrom({
      [THREAD_FILE]: [
        main.user("Begin."),
        main.assistant(
          [text("API Error")],
          { model: "<synthetic>", usage: { input_tokens: 9, output_tokens: 9 } },
          { isApiErrorMessage: true },
        ),
      ],
    });
    expect(tree).toMatchObject({ status: "errored", usage: { own: { calls: 0, inputTokens: 0 } } });
  });
});

describe("an agent that a message revived", () => {
  it.each(["resumedAgentId", "revivedAgentId"])("is no longer completed: %s", (field) => {
    const message = (toolUseResult: Readonly<Record<string, unknown>>) => {
      const main = mainWriter();
      return [
        main.user("Begin."),
        main.assistant([agentCall(CALL, "Do it.")], { stop_reason: "tool_use" }),
        main.result(CALL, "Done.", { toolUseResult: { status: "completed", agentId: "a0b1" } }),
        main.assistant([toolUse(SECOND_CALL, "SendMessage", { to: "a0b1" })], { stop_reason: "tool_use" }),
        main.result(SECOND_CALL, "Sent.", { toolUseResult }),
      ];
    };
    const status = (records: readonly unknown[]) =>
      treeFrom({ [THREAD_FILE]: records, [agentFile("a0b1")]: finishedAgent() }).children.map((c) => [
        c.status,
        c.statusReason,
      ]);
    expect(status(message({ success: true }))).toEqual([["completed", expect.any(String)]]);
    expect(status(message({ success: true, [field]: "a0b1" }))).toEqual([
      ["shutdown", expect.stringContaining("revived it")],
    ]);
  });
});

describe("an agent without a file", () => {
  it("is errored if its call failed, and shut down if a person refused it", () => {
    const ask = (more: Readonly<Record<string, unknown>>, words: string) => {
      const main = mainWriter();
      return [
        main.user("Begin."),
        main.assistant([agentCall(CALL, "Do it.")], { stop_reason: "tool_use" }),
        main.result(CALL, words, more, true),
      ];
    };
    const status = (records: readonly unknown[]) =>
      treeFrom({ [THREAD_FILE]: records }).children.map((c) => [c.agentId, c.status, c.description]);
    expect(status(ask({}, "Agent type 'x' not found"))).toEqual([[CALL, "errored", "Work"]]);
    expect(status(ask({}, "The user doesn't want to proceed with this tool use."))).toEqual([
      [CALL, "shutdown", "Work"],
    ]);
    expect(status(ask({ toolDenialKind: "user" }, "No."))).toEqual([[CALL, "shutdown", "Work"]]);
  });

  it("has the status of the last of several notifications", () => {
    const main = mainWriter();
    const notification = (status: string) =>
      `<task-notification><task-id>a0b1</task-id><status>${status}</status><summary>Agent "Work" ${status}</summary></task-notification>`;
    const launched = { isAsync: true, status: "async_launched", agentId: "a0b1" };
    const records = [
      main.user("Begin."),
      main.assistant([agentCall(CALL, "Do it.")], { stop_reason: "tool_use" }),
      main.result(CALL, "Async agent launched successfully.", { toolUseResult: launched }),
      main.user(notification("failed")),
      main.user(notification("completed")),
    ];
    expect(treeFrom({ [THREAD_FILE]: records }).children).toMatchObject([
      { agentId: "a0b1", status: "completed", statusSource: "parent_rollout", background: true },
    ]);
  });
});
