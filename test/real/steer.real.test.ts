/**
 * `run` of the library with the real Claude Code: decisions about tool calls reach the model, at any depth, and a
 * handler that does not decide has no effect.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  type AgentEvent,
  type AgentRun,
  NotSupported,
  type RunOptions,
  run,
  type ToolCall,
  type ToolDecision,
} from "../../src/app/api.ts";
import { until } from "../support/server.ts";
import { startChatModel } from "./chat-model.ts";
import { installClaude, openSandbox, ownRunIn } from "./claude.ts";
import { installCodex, openSandbox as openCodex } from "./codex/codex.ts";
import { startModel as startResponses } from "./codex/model.ts";
import { agent as codexAgent, exec, SETUPS } from "./codex/scenarios.ts";
import { type Model, startModel } from "./model.ts";
import { installOpenCode, openOpenCode } from "./opencode.ts";
import { agent, MIDDLE, NEWEST, OLD } from "./scenarios.ts";
import type { Block, Scripts } from "./script.ts";

const SRC = join(import.meta.dirname, "../../src");
const INSTALL_MS = 600_000;
const RUN_MS = 240_000;

const bash = (command: string): Block => ({ tool: "Bash", input: { command, description: "Runs it" } });
/** A command in the main agent, and one in an agent two levels below. */
const DEEP: Scripts = {
  main: [bash("touch zero"), (asked) => agent(asked, "A"), { text: "main is done" }],
  A: [(asked) => agent(asked, "B"), { text: "A is done" }],
  B: [bash("touch two"), { text: "B is done" }],
};
/** The messages of the last request of a script. */
const lastAsked = (model: Model, script: string) =>
  JSON.stringify(model.exchanges.findLast((exchange) => exchange.script === script)?.request.messages);
const commandOf = (call: ToolCall) => `${call.input.command ?? ""}`;
const denyCommands = (call: ToolCall) => (call.isSpawn ? "allow" : { deny: `${commandOf(call)} IS NOT ALLOWED` });

describe("onToolCall with Claude Code", () => {
  const programs = new Map<string, string[]>();
  beforeAll(async () => {
    for (const version of [NEWEST, MIDDLE, OLD]) programs.set(version, await installClaude(version));
  }, INSTALL_MS);

  /** The program under the name that users have it under. */
  function programOf(version: string): string[] {
    const program = programs.get(version) ?? [];
    if (program.length === 1) return program;
    const folder = mkdtempSync(join(tmpdir(), "retinue-named-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    symlinkSync(program[1] ?? "", join(folder, "claude"));
    return [program[0] ?? "", join(folder, "claude")];
  }

  async function decided(
    scripts: Scripts,
    onToolCall: (call: ToolCall, handle: AgentRun) => unknown,
    { version = NEWEST, ...more }: Partial<RunOptions> & { version?: string } = {},
  ) {
    const program = programOf(version);
    const model = await startModel(scripts);
    onTestFinished(() => model.close());
    const sandbox = await openSandbox(program, model.url);
    onTestFinished(() => sandbox.dispose());
    const calls: ToolCall[] = [];
    const faults: string[] = [];
    const started = Promise.withResolvers<AgentRun>();
    const handle = await run([...program, "-p", "Begin. @@main", "--dangerously-skip-permissions"], {
      ...ownRunIn(sandbox),
      notify: (text) => faults.push(text),
      onToolCall: async (call) => {
        calls.push(call);
        return onToolCall(call, await started.promise) as "allow";
      },
      ...more,
    } satisfies RunOptions);
    started.resolve(handle);
    const events: AgentEvent[] = [];
    for await (const event of handle) events.push(event);
    expect(await handle.ended).toEqual({ code: 0, signal: null });
    const exists = (name: string) => existsSync(join(sandbox.launch.cwd, name));
    return { model, calls, faults, events, exists };
  }

  it.each([NEWEST, MIDDLE])(
    "denies with a text that the model receives, also two levels below: %s",
    {
      timeout: RUN_MS,
    },
    async (version) => {
      const { model, calls, exists, events } = await decided(DEEP, denyCommands, { version });
      expect(calls.map(({ tool }) => tool)).toEqual(["Bash", "Agent", "Agent", "Bash"]);
      expect(calls.map(({ isSpawn }) => isSpawn)).toEqual([false, true, true, false]);
      expect(lastAsked(model, "main")).toContain("touch zero IS NOT ALLOWED");
      expect(lastAsked(model, "B")).toContain("touch two IS NOT ALLOWED");
      expect([exists("zero"), exists("two")]).toEqual([false, false]);
      // The caller is the agent that the tree shows.
      const spawned = events.flatMap(({ spawn }) => (spawn === null ? [] : [spawn.uri]));
      expect(calls.map(({ uri }) => uri)).toEqual([calls[0]?.uri, calls[0]?.uri, spawned[0], spawned[1]]);
      expect(events.filter(({ tool }) => tool?.isError === true)).toHaveLength(2);
    },
  );

  it("denies in an agent of the oldest version", { timeout: RUN_MS }, async () => {
    const scripts: Scripts = {
      main: [(asked) => agent(asked, "A"), { text: "done" }],
      A: [bash("touch one"), { text: "A is done" }],
    };
    const { model, exists } = await decided(scripts, denyCommands, { version: OLD });
    expect(lastAsked(model, "A")).toContain("touch one IS NOT ALLOWED");
    expect(exists("one")).toBe(false);
  });

  it("changes the input, and answers in place of the tool", { timeout: RUN_MS }, async () => {
    const { model, exists } = await decided(DEEP, async (call, handle) => {
      if (call.isSpawn) return "allow";
      if (call.agentId !== null) return { input: { ...call.input, command: "touch changed" } };
      await handle.injectToolResult(call.callId, "WRITTEN BY HAND");
      await expect(handle.injectToolResult("toolu_unknown", "x")).rejects.toThrow("does not wait for a decision");
      // Too late: the call was answered.
      return { deny: "IGNORED" };
    });
    expect([exists("zero"), exists("two"), exists("changed")]).toEqual([false, false, true]);
    expect(lastAsked(model, "main")).toMatch(/WRITTEN BY HAND","is_error":true/);
    expect(lastAsked(model, "main")).not.toContain("IGNORED");
  });

  it.each([
    ["throws", () => Promise.reject(new Error("handler is broken")), "failed: handler is broken"],
    ["does not answer", () => new Promise(() => {}), "took longer than 500 ms"],
    ["answers with something else", () => ({ permit: true }), "is not one of allow, deny and input"],
  ])("a handler that %s has no effect on the run", { timeout: RUN_MS }, async (_, handler, fault) => {
    const { model, exists, faults } = await decided(DEEP, handler, { answerMs: 500 });
    expect([exists("zero"), exists("two")]).toEqual([true, true]);
    expect(lastAsked(model, "main")).not.toContain('"is_error":true');
    expect(faults).toHaveLength(4);
    for (const text of faults) expect(text).toContain(fault);
  });

  it("decides about agents in the background after the main agent has answered", { timeout: RUN_MS }, async () => {
    const scripts: Scripts = {
      main: [
        (asked) => agent(asked, "A", { background: true }),
        { text: "main is done" },
        bash("touch woken"),
        { text: "noted" },
      ],
      // The main agent has answered long before.
      A: [{ blocks: [bash("touch late")], afterMs: 3_000 }, { text: "A is done" }],
    };
    const { model, exists, calls } = await decided(scripts, denyCommands);
    expect(calls.map(commandOf).filter((text) => text !== "")).toEqual(["touch late", "touch woken"]);
    expect([exists("late"), exists("woken")]).toEqual([false, false]);
    expect(lastAsked(model, "A")).toContain("touch late IS NOT ALLOWED");
  });

  /** A process that starts the run and denies every command after `decideMs`. */
  const HOST = `
    import { launchOf } from "${SRC}/app/runs/run.ts";
    import { controlled, startControlled } from "${SRC}/app/runs/controlled.ts";
    const [decideMs, ...command] = process.argv.slice(2);
    const found = controlled(launchOf(command));
    const decide = async ({ isSpawn }) => {
      if (isSpawn) return "allow";
      console.error("asked");
      await new Promise((resolve) => setTimeout(resolve, Number(decideMs)));
      return { deny: "NOT ALLOWED" };
    };
    const stdin = process.stdin.isTTY ? null : process.stdin;
    const options = { env: process.env, output: process.stdout, interception: { interceptors: [{ decide }] } };
    const running = await startControlled(found, stdin, options);
    const { code } = await running.ended;
    process.exitCode = code;
  `;

  async function hosted(scripts: Scripts, decideMs: number, flags: string[] = [], stdin = "") {
    const model = await startModel(scripts);
    onTestFinished(() => model.close());
    const sandbox = await openSandbox(programOf(NEWEST), model.url);
    onTestFinished(() => sandbox.dispose());
    const { cwd, env, command } = { ...ownRunIn(sandbox), command: sandbox.launch.command };
    const host = join(sandbox.home, "host.ts");
    writeFileSync(host, HOST);
    const args = [...command, "-p", "Begin. @@main", "--dangerously-skip-permissions", ...flags];
    const child = spawn(process.execPath, [host, `${decideMs}`, ...args], { cwd, env, stdio: "pipe" });
    child.stdin.end(stdin);
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
    const exists = (name: string) => existsSync(join(cwd, name));
    return { model, child, stdout, stderr, exists };
  }
  const textOf = async (stream: Readable) => Buffer.concat(await stream.toArray()).toString("utf8");

  it.each([
    ["text", [], (text: string) => expect(text).toBe("main is done\n")],
    [
      "json",
      ["--output-format", "json"],
      (text: string) => expect(JSON.parse(text)).toMatchObject({ type: "result", result: "main is done" }),
    ],
    [
      "stream-json",
      ["--output-format", "stream-json", "--verbose"],
      (text: string) => {
        const types = text
          .trim()
          .split("\n")
          .map((line) => (JSON.parse(line) as { type: string }).type);
        expect(types).toEqual(expect.arrayContaining(["system", "assistant", "user", "result"]));
        expect(types.filter((type) => type.startsWith("control"))).toEqual([]);
      },
    ],
  ])("prints what the command would print: %s", { timeout: RUN_MS }, async (_, flags, check) => {
    const { model, stdout, child, exists } = await hosted(DEEP, 0, flags, "TEXT ON STDIN");
    check(await stdout);
    await until(() => child.exitCode !== null);
    expect(child.exitCode).toBe(0);
    expect(lastAsked(model, "main")).toMatch(/Begin\. @@main\\nTEXT ON STDIN/);
    expect(lastAsked(model, "B")).toContain("NOT ALLOWED");
    expect(exists("two")).toBe(false);
  });

  it("continues without decisions if the process that decides is killed", { timeout: RUN_MS }, async () => {
    const { model, child, exists } = await hosted(DEEP, 600_000);
    const isAsked = new Promise((resolve) => child.stderr.once("data", resolve));
    await isAsked;
    child.kill("SIGKILL");
    await until(
      () =>
        lastAsked(model, "main")?.includes("B is done") === true ||
        lastAsked(model, "main")?.includes("A is done") === true,
    );
    expect([exists("zero"), exists("two")]).toEqual([true, true]);
    expect(JSON.stringify(model.exchanges.map(({ request }) => request.messages))).not.toContain('"is_error":true');
  });
});

describe("onToolCall with other products", () => {
  /** Commands are denied in the main agent, and changed in an agent two levels below. */
  async function decided(
    command: readonly string[],
    sandbox: { launch: { env: Record<string, string>; cwd: string }; home: string },
  ) {
    const calls: ToolCall[] = [];
    const started = Promise.withResolvers<AgentRun>();
    const { cwd, env } = sandbox.launch;
    const handle = await run(command, {
      cwd,
      env: { ...env, RETINUE_HOME: join(sandbox.home, "retinue-data") },
      onToolCall: async (call): Promise<ToolDecision> => {
        calls.push(call);
        const text = JSON.stringify(call.input);
        if (text.includes("touch zero"))
          await (await started.promise).injectToolResult(call.callId, "ZERO IS NOT ALLOWED");
        if (text.includes("touch three")) return { input: { ...call.input, command: "touch changed" } };
        return text.includes("touch two") ? { deny: "TWO IS NOT ALLOWED" } : "allow";
      },
    });
    started.resolve(handle);
    const events: AgentEvent[] = [];
    for await (const event of handle) events.push(event);
    expect(await handle.ended).toEqual({ code: 0, signal: null });
    const exists = (name: string) => existsSync(join(cwd, name));
    expect([exists("zero"), exists("two")]).toEqual([false, false]);
    // The callers are the agents that the tree shows.
    const spawned = events.flatMap(({ spawn }) => (spawn === null ? [] : [spawn.uri]));
    expect(calls.find(({ input }) => JSON.stringify(input).includes("touch two"))?.uri).toBe(spawned.at(-1));
    expect(calls.filter(({ isSpawn }) => isSpawn)).toHaveLength(2);
    return { calls, exists };
  }

  it("OpenCode 1.18.33", { timeout: INSTALL_MS }, async () => {
    const command = await installOpenCode("1.18.33");
    const task = (marker: string) => ({
      name: "task",
      args: { description: `Task ${marker}`, prompt: `Do it. @@${marker}`, subagent_type: "general" },
    });
    const shell = (text: string) => ({ name: "bash", args: { command: text, description: "Runs it" } });
    const model = await startChatModel({
      main: [{ tools: [shell("touch zero")] }, { tools: [task("A")] }, { text: "done" }],
      A: [{ tools: [task("B")] }, { text: "a done" }],
      B: [{ tools: [shell("touch two")] }, { tools: [shell("touch three")] }, { text: "b done" }],
    });
    onTestFinished(() => model.close());
    const product = await openOpenCode(command, model.url, { subagent_depth: 3 });
    onTestFinished(() => product.dispose());
    const { OPENCODE_PURE: _, ...env } = product.launch.env;
    const sandbox = { home: product.home, launch: { ...product.launch, env } };
    const { exists } = await decided([...command, "run", "Begin. @@main"], sandbox);
    const asked = (script: string) => model.requests().findLast((body) => body.includes(script)) ?? "";
    expect(asked("touch zero")).toContain("ZERO IS NOT ALLOWED");
    expect(asked("touch two")).toContain("TWO IS NOT ALLOWED");
    expect([exists("three"), exists("changed")]).toEqual([false, true]);
    const pure = { ...sandbox, launch: product.launch };
    await expect(run([...command, "run", "x"], { ...pure.launch, onToolCall: () => "allow" })).rejects.toThrow(
      NotSupported,
    );
  });

  it("Codex 0.166.0", { timeout: INSTALL_MS }, async () => {
    const [setup] = SETUPS;
    if (setup === undefined) throw new Error("no setup");
    const command = await installCodex(setup.version);
    const wait = { tool: "wait_agent", input: { timeout_ms: 20_000 } };
    const shell = (text: string) => ({ tool: "exec_command", input: { cmd: text } });
    const model = await startResponses({
      main: [shell("touch zero"), (asked) => codexAgent(asked, "a"), wait, { text: "Done." }],
      a: [(asked) => codexAgent(asked, "b"), wait, { text: "a is done." }],
      b: [shell("touch two"), shell("touch three"), { text: "b is done." }],
    });
    onTestFinished(() => model.close());
    const sandbox = await openCodex(command, model.url, setup);
    onTestFinished(() => sandbox.dispose());
    const { exists } = await decided([...command, ...exec("Begin. @@main")], sandbox);
    const inputs = model.exchanges.map(({ request }) => JSON.stringify(request.input));
    expect(inputs.some((text) => text.includes("ZERO IS NOT ALLOWED"))).toBe(true);
    expect(inputs.some((text) => text.includes("TWO IS NOT ALLOWED"))).toBe(true);
    expect([exists("three"), exists("changed")]).toEqual([false, true]);
  });
});
