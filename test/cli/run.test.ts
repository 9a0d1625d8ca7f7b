/** `retinue run` is invisible to the command and to the reader of its output. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { retinue } from "../support/cli.ts";
import { FIXTURES, recordedHome } from "../support/fixtures.ts";
import { needsPosix } from "../support/needs.ts";
import { until } from "../support/server.ts";
import { json, NOISE, noise, outcome, SESSION, SPEAKING, STREAM, stage } from "../support/wrapped-runs.ts";

beforeEach(needsPosix("signals, nor scripts that name their interpreter"));

describe("retinue run passes through", () => {
  it.each([
    ["an unknown command", "noise", []],
    ["an agent whose stream is recorded", "claude", SPEAKING],
    ["an interactive agent", "claude", []],
  ])("the output, byte for byte: %s", async (_, name, args) => {
    const { program, start } = stage();
    const { stdout, stderr, code, signal } = await outcome(start(["--", program(name, NOISE), ...args]));
    expect(stdout.equals(noise)).toBe(true);
    expect({ code, signal, stderr: [...stderr] }).toEqual({ code: 7, signal: null, stderr: [0, 255, 10, 200] });
  });

  it("the input", async () => {
    const { program, start } = stage();
    const echo = program("claude", "process.stdin.pipe(process.stdout);");
    const { stdout } = await outcome(start(["--", echo, ...SPEAKING]), noise);
    expect(stdout.equals(noise)).toBe(true);
  });

  it.each(["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR2"] as const)("%s, and the exit that it causes", async (signal) => {
    const { program, start } = stage();
    const waits = program(
      "claude",
      `process.on("${signal}", () => { console.log("got it"); process.exit(42); }); console.log("up"); setInterval(() => {}, 1000);`,
    );
    const child = start(["--", waits, ...SPEAKING]);
    let output = "";
    child.stdout?.on("data", (part: Buffer) => {
      output += part;
    });
    await until(() => output === "up\n");
    child.kill(signal);
    expect(await once(child, "close")).toEqual([42, null]);
    expect(output).toBe("up\ngot it\n");
  });

  it("an exit by a signal", async () => {
    const { program, start, recordings } = stage();
    const dies = program("claude", `console.log("up"); process.kill(process.pid, "SIGKILL");`);
    expect(await outcome(start(["--", dies, ...SPEAKING]))).toMatchObject({ code: null, signal: "SIGKILL" });
    expect(recordings("claude").join("")).toContain('"note":{"ended":{"code":null,"signal":"SIGKILL"}}');
  });

  it("that the reader closed the pipe", async () => {
    const { program, start, home } = stage();
    const talks = program(
      "claude",
      `process.stdout.on("error", (e) => { require("node:fs").writeFileSync("${home}/heard", e.code); process.exit(9); }); setInterval(() => process.stdout.write("line\\n".repeat(1000)), 5);`,
    );
    const child = start(["--", talks, ...SPEAKING]);
    await once(child.stdout ?? child, "data");
    child.stdout?.destroy();
    expect(await once(child, "exit")).toEqual([9, null]);
    expect(readFileSync(join(home, "heard"), "utf8")).toBe("EPIPE");
  });

  it.each([
    ["an unknown command", "talks"],
    ["an agent whose stream is recorded", "claude"],
  ])("a closed pipe to a command that waits for room in it, by SIGPIPE: %s", async (_, name) => {
    const { start, home } = stage();
    const program = join(home, name);
    writeFileSync(program, '#!/bin/sh\necho "$$" >&2\nexec yes "a line of output"\n', { mode: 0o755 });
    const child = start(["--", program, ...SPEAKING]);
    let stderr = "";
    child.stderr?.on("data", (part: Buffer) => {
      stderr += part;
    });
    await once(child.stdout ?? child, "data");
    // Retinue stops reading when its own reader does.
    await until(() => /^State:\s+S/m.test(readFileSync(`/proc/${stderr.trim()}/status`, "utf8")));
    child.stdout?.destroy();
    // As shells report it.
    expect(await once(child, "exit")).toEqual([128 + constants.signals.SIGPIPE, null]);
    expect(stderr).toMatch(/^\d+\n$/);
  });

  it("its kind of output: a pipe, which it can open again", async () => {
    const { start } = stage();
    const { stdout, code } = await outcome(start(["--", "sh", "-c", "test -p /dev/stdout && echo again >/dev/stdout"]));
    expect([stdout.toString(), code]).toEqual(["again\n", 0]);
  });

  it("a missing command with the exit code and message of shells", async () => {
    const { start } = stage();
    const { code, stderr } = await outcome(start(["--", "/no/such/command"]));
    expect({ code, words: stderr.toString() }).toEqual({
      code: 127,
      words: expect.stringContaining("/no/such/command cannot be started"),
    });
  });

  it("everything even if the disk is not writable", async () => {
    const { program, start, env } = stage();
    mkdirSync(join(env.RETINUE_HOME, "recordings"), { recursive: true });
    // A file in place of the folder: nothing can be written below it, even by root.
    writeFileSync(join(env.RETINUE_HOME, "recordings", "claude"), "");
    const { stdout, code, stderr } = await outcome(start(["--", program("claude", NOISE), ...SPEAKING]));
    expect([stdout.equals(noise), code, stderr.length]).toEqual([true, 7, 4]);
  });
});

describe("a recorded run", () => {
  const speaks = (text: string) => `process.stdout.write(${JSON.stringify(text)});`;

  it("is read like a transcript, even if the home is empty", async () => {
    const { program, start, home, env } = stage();
    const { stdout } = await outcome(start(["--", program("claude", speaks(STREAM)), ...SPEAKING]));
    expect(stdout.toString()).toBe(STREAM);
    const tree = await json(["tree", SESSION], env);
    expect(tree).toMatchObject({
      uri: `claude://${SESSION}`,
      prompt: "hello",
      status: "completed",
      cwd: home,
      children: [{ description: "Background A", status: "completed" }],
    });
  });

  it("is complete up to the last line if retinue is killed, and the agent is shown", async () => {
    const { program, start, env } = stage();
    const lines = STREAM.split("\n").slice(0, 8).join("\n");
    const child = start(["--", program("claude", `${speaks(`${lines}\n`)} setInterval(() => {}, 1000);`), ...SPEAKING]);
    let output = "";
    child.stdout?.on("data", (part: Buffer) => {
      output += part;
    });
    await until(() => output.length > lines.length);
    const agents = async () =>
      ((await json(["tree", SESSION], env)) as { children: { status: string }[] }).children.map(({ status }) => status);
    expect(await agents()).toEqual(["running"]);
    const pid = Number(/"pid":(\d+)/.exec(readFileSync(recordingOf(env), "utf8"))?.[1]);
    child.kill("SIGKILL");
    await once(child, "exit");
    process.kill(pid, "SIGKILL");
    await until(async () => (await agents()).join() === "shutdown", agents);
  });

  it("is assigned to a product by its output, not by the name of the command", async () => {
    const opencode = readFileSync(join(FIXTURES, "opencode/single/recordings/opencode/run/stdout.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => `${JSON.stringify((JSON.parse(line) as { raw: object }).raw)}\n`)
      .join("");
    const preamble = '> wrapper 1.0\n{"level":"info"}\n';
    for (const [name, text, provider, args] of [
      ["wrapper", preamble + STREAM, "claude", []],
      ["claude", opencode, "opencode", SPEAKING],
      ["agent.sh", preamble + opencode, "opencode", ["x"]],
      ["claude", STREAM, "claude", ["--my-own-flag"]],
    ] as const) {
      const { program, start, env, recordings } = stage();
      const { stdout, code } = await outcome(start(["--", program(name, speaks(text)), ...args]));
      expect([stdout.toString() === text, code]).toEqual([true, 0]);
      expect(await json(["ls"], env)).toMatchObject([{ provider, status: "completed", counts: { descendants: 1 } }]);
      expect([recordings("run").length, recordings(provider).length]).toEqual([0, 1]);
      expect(recordings(provider)[0]).toContain('"note":{"ended":{"code":0,"signal":null}}');
    }
  });

  it("is listed as a command until its output shows an agent", async () => {
    const { program, start, env, recordings } = stage();
    const waits = program(
      "wrapper",
      `process.stdin.once("data", () => { ${speaks(STREAM)} process.stdin.destroy(); });`,
    );
    const child = start(["--", waits]);
    await until(() => recordings("run").length === 1);
    expect(await json(["ls"], env)).toMatchObject([{ provider: "run", status: "running" }]);
    child.stdin?.write("go on\n");
    await once(child, "close");
    expect(await json(["ls"], env)).toMatchObject([{ uri: `claude://${SESSION}`, status: "completed" }]);
  });

  it.each([
    ["JSON of its own", '{"type":"result","ok":true}\n{"type":"system","subtype":"init"}\n'.repeat(600)],
    ["a stream that names no thread", '{"type":"agent_start"}\n'],
    ["nothing", ""],
  ])("remains a command that prints %s", async (_, text) => {
    const { program, start, env } = stage();
    const { stdout } = await outcome(start(["--", program("wrapper", speaks(text))]));
    expect(stdout.toString()).toBe(text);
    expect(await json(["ls"], env)).toMatchObject([{ provider: "run", status: "completed", kind: "external" }]);
  });

  it("of any other command has its times and its exit", async () => {
    const { start, env } = stage();
    await outcome(start(["--", "sh", "-c", "exit 3"]));
    expect(await json(["ls"], env)).toMatchObject([
      { provider: "run", status: "errored", statusReason: "exit code 3", prompt: "sh -c exit 3", kind: "external" },
    ]);
  });

  const recordingOf = ({ RETINUE_HOME }: { RETINUE_HOME: string }) => {
    const folder = join(RETINUE_HOME, "recordings/claude/run");
    return join(folder, readdirSync(folder)[0] ?? "");
  };
});

/** The events that a run has printed so far; grows while it runs. */
function eventsOf(child: ChildProcess): readonly AgentEvent[] {
  const events: AgentEvent[] = [];
  let rest = "";
  child.stdout?.on("data", (part: Buffer) => {
    const parts = (rest + part).split("\n");
    rest = parts.pop() ?? "";
    events.push(...parts.map((line) => JSON.parse(line) as AgentEvent));
  });
  return events;
}

describe("--events", () => {
  it("reports an agent when it begins, not when it ends, and exits like the command", async () => {
    const { program, start } = stage();
    const lines = STREAM.trim().split("\n");
    const upTo = lines.findIndex((line) => line.includes('"task_started"')) + 1;
    // Continues only after retinue has reported the spawn.
    const waits = `const lines = ${JSON.stringify(lines)};
process.stdout.write(lines.slice(0, ${upTo}).join("\\n") + "\\n");
process.stdin.once("data", () => { process.stdout.write(lines.slice(${upTo}).join("\\n") + "\\n"); process.exitCode = 5; process.stdin.destroy(); });`;
    const child = start(["--events", "--", program("claude", waits), "-p", "hello"]);
    const events = eventsOf(child);
    await until(
      () => events.some(({ kind }) => kind === "spawn"),
      () => events,
    );
    expect(events.find(({ kind }) => kind === "spawn")?.spawn).toMatchObject({
      agentId: "a05b9e057afc83d61",
      type: "general-purpose",
      depth: 1,
      background: true,
    });
    child.stdin?.write("go on\n");
    expect(await once(child, "close")).toEqual([5, null]);
    const ends = events.flatMap(({ uri, status }) =>
      status === null ? [] : [`${uri.split("/").length > 3 ? "agent" : "thread"} ${status.status}`],
    );
    expect(ends).toContain("agent completed");
    expect(ends.at(-1)).toMatch(/completed/);
    expect(events.filter(({ kind }) => kind === "spawn")).toHaveLength(1);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  });

  it("reads a wrapper's output, and prints no events of a wrongly assumed thread", async () => {
    const { program, start } = stage();
    const { stdout, code } = await outcome(
      start(["--events", "--", program("wrapper", `process.stdout.write("hello\\n" + ${JSON.stringify(STREAM)});`)]),
    );
    const events = stdout
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as AgentEvent);
    expect([code, events.every(({ uri }) => uri.startsWith(`claude://${SESSION}`))]).toEqual([0, true]);
    expect(events.filter(({ kind }) => kind === "spawn")).toHaveLength(1);
  });

  it("reports an agent only under its own id, even if the product names it late", async () => {
    const { program, start, env } = stage();
    const lines = STREAM.trim().split("\n");
    const upTo = lines.findIndex((line) => line.includes('"task_started"'));
    // Names the agent only after retinue has printed its spawn call.
    const waits = `const lines = ${JSON.stringify(lines)};
process.stdout.write(lines.slice(0, ${upTo}).join("\\n") + "\\n");
process.stdin.once("data", () => { process.stdout.write(lines.slice(${upTo}).join("\\n") + "\\n"); process.stdin.destroy(); });`;
    const child = start(["--events", "--", program("claude", waits), "-p", "hello"]);
    const events = eventsOf(child);
    await until(
      () => events.some(({ kind }) => kind === "toolCall"),
      () => events,
    );
    child.stdin?.write("go on\n");
    await once(child, "close");
    const tree = (await json(["tree", SESSION], env)) as { uri: string; children: { uri: string }[] };
    expect(
      [...new Set(events.flatMap(({ uri, spawn }) => [uri, ...(spawn === null ? [] : [spawn.uri])]))].sort(),
    ).toEqual([tree.uri, ...tree.children.map(({ uri }) => uri)].sort());
  });

  it("reports an agent without an id at the end", async () => {
    const { program, start } = stage();
    const call =
      '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Task","id":"toolu_01","input":{"prompt":"Go"}}]}}';
    const failed =
      '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_01","is_error":true,"content":"no such agent"}]}}';
    const text = `{"type":"system","subtype":"init","session_id":"${SESSION}","tools":[],"apiKeySource":"none"}\n${call}\n${failed}\n`;
    const { stdout } = await outcome(
      start(["--events", "--", program("claude", `process.stdout.write(${JSON.stringify(text)});`), "-p", "hello"]),
    );
    const events = stdout
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as AgentEvent);
    const reported = events.filter(({ uri, spawn }) => uri.endsWith("/toolu_01") || spawn?.agentId === "toolu_01");
    expect(reported.map(({ kind, status }) => status?.status ?? kind).sort()).toEqual(["errored", "spawn"]);
  });

  it("prints one SubAgentSpawned object per agent with --format spawned, and nothing else", async () => {
    const { program, start } = stage();
    const claude = program("claude", `process.stdout.write(${JSON.stringify(STREAM)});`);
    const { stdout, code } = await outcome(start(["--events", "--format", "spawned", "--", claude, "-p", "hello"]));
    expect(code).toBe(0);
    expect(stdout.toString()).toBe(
      `${JSON.stringify({
        type: "sub_agent_spawned",
        agent_id: "a05b9e057afc83d61",
        session_id: SESSION,
        prompt: "Work in the background. @@A",
        subagent_type: "general-purpose",
        parent_tool_id: "toolu_01heQgZUv9pLC7nMzcdzQv8c",
      })}\n`,
    );
    for (const args of [
      ["--events", "--format", "xml", "--", claude],
      ["--format", "spawned", "--", claude],
    ]) {
      const wrong = await outcome(start(args));
      expect([wrong.code, wrong.stdout.toString()]).toEqual([2, ""]);
      expect(wrong.stderr.toString()).toMatch(/--format/);
    }
  });

  it("prints the events of a product that names its session in the last line", async () => {
    const { program, start, home } = stage();
    const { home: recorded, threads } = recordedHome("kimi", "fail");
    const session = threads[0]?.root ?? "";
    const lines = [
      { role: "meta", type: "system.version" },
      { type: "session.resume_hint", session_id: session },
    ];
    const kimi = program(
      "kimi",
      `require("node:fs").cpSync(${JSON.stringify(join(recorded, ".kimi-code"))}, ${JSON.stringify(join(home, ".kimi-code"))}, { recursive: true });
       console.error(process.argv.slice(2).join(" "));
       for (const line of ${JSON.stringify(lines)}) console.log(JSON.stringify(line));`,
    );
    const { stdout, stderr, code } = await outcome(start(["--events", "--", kimi, "-p", "Begin."]));
    expect(stderr.toString()).toBe(
      "retinue: Kimi Code names its session in the last line of its output, so events are printed when it ends\n" +
        "-p Begin. --output-format stream-json\n",
    );
    const printed = stdout
      .toString()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as AgentEvent);
    const listed = await retinue(home, ["events", `kimi://${session}`, "--subtree"], {
      RETINUE_HOME: join(home, "data"),
    });
    const ids = (events: readonly AgentEvent[]) => events.map(({ id }) => id).sort();
    expect(ids(printed)).toEqual(
      ids(
        listed.stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as AgentEvent),
      ),
    );
    expect({ code, spawned: printed.filter(({ kind }) => kind === "spawn").length }).toEqual({ code: 0, spawned: 2 });
  });

  it("rejects an interactive agent with a message", async () => {
    const { program, start } = stage();
    const { code, stderr } = await outcome(start(["--events", "--", program("claude", "")]));
    expect({ code, words: stderr.toString() }).toEqual({ code: 2, words: expect.stringContaining("is interactive") });
  });
});
