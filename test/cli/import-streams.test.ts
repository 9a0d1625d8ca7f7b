/**
 * Imports of agent output, from files and pipes: the product is recognised by the content, and data that is imported
 * twice is counted once.
 */
import { cpSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import { desk, printed, streamOf } from "../support/import-desk.ts";
import { liveHomes } from "../support/live-sources.ts";

const nodes = (tree: AgentTree): AgentTree[] => [tree, ...tree.children.flatMap(nodes)];
const shape = (tree: AgentTree) =>
  nodes(tree)
    .map(({ uri, parent, type, status, usage, counts }) => ({
      uri,
      parent,
      type,
      status,
      usage: usage.own,
      messages: counts.messages,
      tools: counts.toolCalls,
    }))
    .sort((a, b) => (a.uri < b.uri ? -1 : 1));

const TRIED: Readonly<Record<string, readonly string[]>> = {
  claude: ["c-nested", "d-background", "m-sendmessage", "v2.0.14"],
  codex: ["v1-nested"],
  opencode: ["parallel", "continue-child"],
  gemini: ["single"],
  pi: ["tintin"],
};
const RECORDINGS = Object.entries(TRIED).flatMap(([provider, names]) =>
  liveHomes(provider)
    .filter(({ name }) => names.includes(name))
    .map(({ name, home, recordings }) => {
      const folder = join(recordings, provider, "run");
      return { provider, name, home, files: readdirSync(folder).map((file) => join(folder, file)) };
    }),
);

describe("a saved stream", () => {
  it.each(RECORDINGS)(
    "is recognised as output of $provider, and gives the same tree as its recording: $name",
    async ({ provider, files }) => {
      const { run, json, file, data } = desk();
      for (const [i, path] of files.entries()) {
        const { code, stdout } = await run("import", file(printed(path), `out${i}.log`));
        expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^imported ${provider}://`))]);
      }
      const recorded = desk();
      mkdirSync(join(recorded.data, "recordings", provider), { recursive: true });
      cpSync(join(files[0] ?? "", ".."), join(recorded.data, "recordings", provider, "run"), { recursive: true });
      const roots = await json<AgentRecord[]>("ls");
      expect(roots.map(({ uri }) => uri).sort()).toEqual(
        (await recorded.json<AgentRecord[]>("ls")).map(({ uri }) => uri).sort(),
      );
      for (const { uri } of roots)
        expect(shape(await json<AgentTree>("tree", uri))).toEqual(shape(await recorded.json<AgentTree>("tree", uri)));
      expect(readdirSync(join(data, "imported"))).toEqual([provider]);
    },
  );

  it.each(RECORDINGS)(
    "is counted once together with its transcript, its recording and a second import: $provider $name",
    async ({ provider, home, files }) => {
      const { run, json, file, data } = desk(home);
      const before = await json<AgentRecord[]>("ls");
      mkdirSync(join(data, "recordings", provider), { recursive: true });
      cpSync(join(files[0] ?? "", ".."), join(data, "recordings", provider, "run"), { recursive: true });
      for (const path of files) {
        await run("import", file(printed(path)));
        const again = await run("import", file(printed(path), "copy.jsonl"));
        expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("is already imported")]);
      }
      const strip = (record: AgentRecord) => ({
        uri: record.uri,
        usage: record.usage.subtree,
        counts: record.counts,
        status: record.status,
      });
      expect((await json<AgentRecord[]>("ls")).map(strip)).toEqual(before.map(strip));
    },
  );

  it("is read from a pipe, as the product prints it and as editors and shells change it", async () => {
    const text = streamOf("claude", "c-nested");
    const plain = desk();
    const { code, stdout } = plain.pipedToProcess(text);
    expect([code, stdout]).toEqual([0, "imported claude://cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9: 1 file\n"]);
    const expected = shape(await plain.json<AgentTree>("tree", "latest"));
    expect(expected).toHaveLength(4);
    const list = `[${text.trim().split("\n").join(",")}]`;
    const changed: Record<string, string | Buffer> = {
      CRLF: text.replaceAll("\n", "\r\n"),
      "a BOM": `\uFEFF${text}`,
      "lines of a wrapper before it": `> npm run agent\n\n{"level":"info","msg":"starting"}\n${text}`,
      "no end of the last line": text.trimEnd(),
      "pretty-printed": text
        .trim()
        .split("\n")
        .map((line) => JSON.stringify(JSON.parse(line), null, 2))
        .join("\n"),
      "a list": list,
      "UTF-16": Buffer.from(`\uFEFF${text}`, "utf16le"),
    };
    for (const [how, input] of Object.entries(changed)) {
      const { piped, json } = desk();
      expect([how, (await piped(input)).code]).toEqual([how, 0]);
      expect([how, shape(await json<AgentTree>("tree", "latest"))]).toEqual([how, expected]);
    }
  });

  it("that grew is updated, and a truncated line is reported", async () => {
    const { run, file, json } = desk();
    const text = streamOf("claude", "d-background");
    const cut = text.slice(0, text.length - 200);
    expect((await run("import", file(cut))).stdout).toMatch(/^imported claude:/);
    expect((await run("doctor")).stdout).toMatch(/unfinished/i);
    expect((await run("import", file(text))).stdout).toMatch(/^updated claude:/);
    expect((await json<AgentTree>("tree", "latest")).status).toBe("completed");
  });

  it("of several sessions lists all of them", async () => {
    const { run, file, json } = desk();
    const { stdout } = await run("import", file(streamOf("claude", "a-single") + streamOf("claude", "c-nested")));
    expect(stdout).toBe(
      "imported claude://21c2d5cf-22df-46f8-9d93-f17c04dc0e30: 1 file\nit also contains claude://cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9\n",
    );
    expect(await json("ls")).toHaveLength(2);
  });

  it.each([
    ["nothing", "", "it is empty"],
    ["words", "hello\nworld\n", "stdin is not a transcript or output"],
    [
      "other JSON",
      '{"type":"result","ok":true}\n{"type":"message","role":"user"}\n',
      "stdin is not a transcript or output",
    ],
    ["bytes", Buffer.from([0, 255, 254, 10, 123, 200]), "stdin is not a transcript or output"],
  ])("is not %s", async (_, input, words) => {
    const { piped, data } = desk();
    const { code, stdout, stderr } = await piped(input);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(words);
    expect(existsSync(join(data, "imported/claude"))).toBe(false);
    expect(readdirSync(join(data, "imported"))).toEqual([]);
  });

  it("of Qwen Code is not taken for one of Claude Code", async () => {
    const { piped, data } = desk();
    const lines =
      '{"type":"system","subtype":"init","session_id":"5c26e3ea-c8f2-4441-9451-f3e08486fb6f","tools":["agent"],"permission_mode":"yolo","qwen_code_version":"0.24.4"}\n{"type":"assistant","session_id":"5c26e3ea-c8f2-4441-9451-f3e08486fb6f","parent_tool_use_id":null,"message":{"id":"x","role":"assistant","content":[]}}\n';
    const { code, stdout } = await piped(lines);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("imported qwen://5c26e3ea-c8f2-4441-9451-f3e08486fb6f"),
    });
    expect(readdirSync(join(data, "imported"))).not.toContain("claude");
  });
});

/** Minimal lines, as simple trackers of such streams write them. */
describe("a minimal stream", () => {
  const INIT =
    '{"type":"system","subtype":"init","session_id":"7d487776-214f-47e8-83a1-94b65d05821b","tools":["Task"]}\n';
  const CALL =
    '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Task","id":"toolu_014bmYNjTN754JKMTVXd9ijG","input":{"prompt":"What is 2+2?","subagent_type":"Explore"}}]}}\n';
  const resultLine = (result: object, session = {}) =>
    `${JSON.stringify({
      type: "user",
      message: {
        role: "user",
        content: [{ tool_use_id: "toolu_014bmYNjTN754JKMTVXd9ijG", type: "tool_result", content: ["2 + 2 = 4"] }],
      },
      tool_use_result: result,
      ...session,
    })}\n`;
  const RESULT = {
    status: "completed",
    prompt: "What is 2+2?",
    agentId: "a9a57a7",
    totalDurationMs: 2710,
    totalTokens: 40348,
  };

  it("needs the session id only once; a result has call, prompt, type and the product's counts", async () => {
    const { run, json, file } = desk();
    await run("import", file(INIT + CALL + resultLine(RESULT)));
    const tree = await json<AgentTree>("tree", "7d487776");
    expect(tree.children).toMatchObject([
      {
        uri: "claude://7d487776-214f-47e8-83a1-94b65d05821b/a9a57a7",
        type: "Explore",
        prompt: "What is 2+2?",
        status: "completed",
        result: "2 + 2 = 4",
        link: { toolCallId: "toolu_014bmYNjTN754JKMTVXd9ijG" },
        usage: {
          own: { calls: 0, inputTokens: 0 },
          reported: { totalTokens: 40348, toolUses: null, durationMs: 2710 },
        },
      },
    ]);
    expect(tree.usage.subtree).toMatchObject({ calls: 0, inputTokens: 0, outputTokens: 0 });
    const { stdout } = await run("tree", "7d487776");
    expect(stdout).toContain("40.3k*");
    expect(stdout).toContain("tokens as reported by the product, not in the sums");
    expect((await run("7d487776/a9a57a7")).stdout).toContain("Reported by the product, not in the sums: 40.3k tokens");
  });

  it("may be a single result, with or without the session", async () => {
    const { run, json, file } = desk();
    await run(
      "import",
      file(resultLine({ ...RESULT, agentType: "Plan" }, { session_id: "7d487776-214f-47e8-83a1-94b65d05821b" })),
    );
    expect((await json<AgentTree>("tree", "7d487776")).children).toMatchObject([
      {
        agentId: "a9a57a7",
        type: "Plan",
        prompt: "What is 2+2?",
        status: "completed",
        link: { toolCallId: "toolu_014bmYNjTN754JKMTVXd9ijG" },
      },
    ]);
    const { stdout } = await run("events", "7d487776");
    const spawns = stdout.split("\n").flatMap((line) => (line.includes('"kind":"spawn"') ? [JSON.parse(line)] : []));
    expect(spawns).toMatchObject([
      { spawn: { agentId: "a9a57a7", toolCallId: "toolu_014bmYNjTN754JKMTVXd9ijG", type: "Plan" } },
    ]);

    const lost = desk();
    expect((await lost.run("import", lost.file(JSON.stringify(JSON.parse(resultLine(RESULT)), null, 2)))).stdout).toBe(
      "imported unassigned://claude: 1 file\n",
    );
    expect((await lost.json<AgentTree>("tree", "unassigned://claude")).children).toMatchObject([
      { agentId: "a9a57a7", prompt: "What is 2+2?", status: "completed" },
    ]);
  });

  it.each([
    ["a string", '"content":"2 + 2 = 4"', "completed", "2 + 2 = 4"],
    ["a list of strings", '"content":["2 + 2 = 4"]', "completed", "2 + 2 = 4"],
    ["an error", '"content":"Error: no","is_error":true', "errored", null],
  ])("may have %s as a tool result", async (_, content, status, result) => {
    const { run, json, file } = desk();
    const line = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_014bmYNjTN754JKMTVXd9ijG","type":"tool_result",${content}}]}}\n`;
    await run("import", file(INIT + CALL + line));
    expect((await json<AgentTree>("tree", "7d487776")).children).toMatchObject([
      { agentId: "toolu_014bmYNjTN754JKMTVXd9ijG", status, result },
    ]);
  });

  it.each([true, false])("is recognised as OpenCode's without part ids (with call id: %s)", async (isNamed) => {
    const { run, json, file } = desk();
    const state = {
      status: "completed",
      input: { description: "Search CLI files", prompt: "Search the codebase", subagent_type: "explore" },
      output: "Found 22 files",
      metadata: { sessionId: "ses_49c7c5e7bffeI3pI0nEWWAO4p9" },
    };
    const part = { tool: "task", ...(isNamed ? { callID: "call_55642786" } : {}), state };
    const line = (fields: object) =>
      `${JSON.stringify({ timestamp: 1766901159273, sessionID: "ses_49c7c7eb8ffev6NZJAKSt5p48e", ...fields })}\n`;
    const finish = { reason: "stop", tokens: { input: 10, output: 5, reasoning: 0, cache: { read: 0, write: 0 } } };
    await run(
      "import",
      file(
        line({ type: "tool_use", part }) +
          line({ type: "text", part: { text: "Done." } }) +
          line({ type: "step_finish", part: finish }),
      ),
    );
    const tree = await json<AgentTree>("tree", "opencode://ses_49c7c7eb8ffev6NZJAKSt5p48e");
    expect(tree).toMatchObject({
      prompt: null,
      status: "completed",
      usage: { own: { calls: 1, inputTokens: 10, outputTokens: 5 } },
    });
    expect(tree.children).toMatchObject([
      {
        agentId: "ses_49c7c5e7bffeI3pI0nEWWAO4p9",
        type: "explore",
        prompt: "Search the codebase",
        description: "Search CLI files",
        status: "completed",
        result: "Found 22 files",
        link: { toolCallId: isNamed ? "call_55642786" : null },
      },
    ]);
  });
});
