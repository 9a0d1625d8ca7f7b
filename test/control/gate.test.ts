/** Products that ask a hook or a plugin about their tool calls: the question, the answer, and what happens without one. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openGate } from "../../src/app/runs/gate.ts";
import type { InterceptionOptions } from "../../src/app/runs/interception.ts";
import type { ToolCall, ToolDecision } from "../../src/core/ports/control.ts";
import { PROVIDERS } from "../../src/providers/loaded.ts";
import { needsPosix } from "../support/needs.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-gate-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const env = { PATH: process.env.PATH ?? "", HOME: scratch, RETINUE_HOME: join(scratch, "data") };

async function gateOf(
  name: string,
  command: string[],
  decide: (call: ToolCall) => ToolDecision | Promise<ToolDecision>,
  more = {},
) {
  const provider = PROVIDERS.find((one) => one.name === name);
  if (provider?.gate === undefined) throw new Error(`no gate of ${name}`);
  const options: InterceptionOptions = { interceptors: [{ decide }] };
  const opened = await openGate({ command, provider, gate: provider.gate }, { ...env, ...more }, options);
  if (opened === null) throw new Error("it cannot ask");
  return opened;
}

/** Runs the hook as the product does, with a question on stdin. */
function ask(command: string, question: object): Promise<{ code: number | null; text: string }> {
  const child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (part) => {
    text += part;
  });
  child.stdin.end(JSON.stringify(question));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, text })));
}

describe("the hook of Codex", () => {
  beforeEach(needsPosix("a shell"));
  const question = (more: object = {}) => ({
    session_id: "root-1",
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
    tool_input: { command: "ls" },
    tool_use_id: "call_1",
    ...more,
  });
  /** The value is a TOML string, which is JSON here. */
  const hookIn = (command: readonly string[]) => {
    const setting = command.find((word) => word.startsWith("hooks.PreToolUse")) ?? "";
    return JSON.parse(setting.slice(setting.indexOf("command=") + 8, setting.lastIndexOf(",timeout="))) as string;
  };

  it("passes the question on and prints the decision; the caller is named", async () => {
    const calls: ToolCall[] = [];
    const gate = await gateOf("codex", ["codex", "exec", "--json", "exec"], (call) => {
      calls.push(call);
      return call.agentId === null ? "allow" : { deny: "NO" };
    });
    expect(gate.command.slice(0, 3)).toEqual(["codex", "exec", "-c"]);
    expect(gate.command.slice(-2)).toEqual(["--json", "exec"]);
    const hook = hookIn(gate.command);
    expect(await ask(hook, question())).toEqual({ code: 0, text: "" });
    const denied = await ask(hook, question({ agent_id: "child-1", tool_name: "collaborationspawn_agent" }));
    expect(JSON.parse(denied.text)).toEqual({
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: "NO",
      },
    });
    expect(calls.map(({ uri, isSpawn }) => [uri, isSpawn])).toEqual([
      ["codex://root-1", false],
      ["codex://root-1/child-1", true],
    ]);
    gate.close();
    // The process that decides is gone: the call runs.
    expect(await ask(hook, question({ agent_id: "child-1" }))).toEqual({ code: 0, text: "" });
    expect(existsSync(join(scratch, "data/control")) ? readdirSync(join(scratch, "data/control")) : []).toEqual([]);
  });

  it("is answered by hand while a decision is awaited", async () => {
    const asked = Promise.withResolvers<void>();
    const gate = await gateOf("codex", ["codex", "exec"], () => {
      asked.resolve();
      return new Promise(() => {});
    });
    const answer = ask(hookIn(gate.command), question());
    await asked.promise;
    expect(gate.deny("call_2", "x")).toBe(false);
    expect(gate.deny("call_1", "BY HAND")).toBe(true);
    expect((await answer).text).toContain("BY HAND");
    gate.close();
  });
});

describe("the plugin of OpenCode", () => {
  type Hooks = { "tool.execute.before": (input: object, output: { args: object }) => Promise<void> };

  it("denies by an error, changes the input, and names agents by the first session", async () => {
    const calls: string[] = [];
    const gate = await gateOf(
      "opencode",
      ["opencode", "run", "x"],
      ({ uri, input }) => {
        calls.push(uri);
        if (input.command === "no") return { deny: "NOT THIS" };
        return input.command === "other" ? { input: { command: "changed" } } : "allow";
      },
      { OPENCODE_CONFIG_CONTENT: '{"share":"disabled","plugin":["mine"]}' },
    );
    const config = JSON.parse(gate.env.OPENCODE_CONFIG_CONTENT ?? "") as { share: string; plugin: string[] };
    expect(config).toMatchObject({ share: "disabled", plugin: ["mine", expect.stringMatching(/^file:/)] });
    const path = (config.plugin[1] ?? "").replace("file://", "");
    const { Retinue } = (await import(/* @vite-ignore */ pathToFileURL(path).href)) as {
      Retinue: () => Promise<Hooks>;
    };
    const before = (await Retinue())["tool.execute.before"];
    const call = async (sessionID: string, command: string) => {
      const output = { args: { command, keep: 1 } };
      await before({ tool: "bash", sessionID, callID: "c1" }, output);
      return output.args;
    };
    expect(await call("ses_root", "yes")).toEqual({ command: "yes", keep: 1 });
    await expect(call("ses_child", "no")).rejects.toThrow("NOT THIS");
    expect(await call("ses_child", "other")).toEqual({ command: "changed", keep: 1 });
    expect(calls).toEqual(["opencode://ses_root", "opencode://ses_root/ses_child", "opencode://ses_root/ses_child"]);
    gate.close();
    expect(await call("ses_child", "no")).toEqual({ command: "no", keep: 1 });
  });

  it("is not possible if plugins are off", async () => {
    await expect(gateOf("opencode", ["opencode", "run", "x"], () => "allow", { OPENCODE_PURE: "1" })).rejects.toThrow(
      "it cannot ask",
    );
  });
});
