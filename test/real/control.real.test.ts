/**
 * `retinue run --control` with the real Claude Code: other processes answer the permission requests of its agents, and
 * stop, continue and message them.
 */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { answerPermission, controllable, steer } from "../../src/app/control/control.ts";
import { eventually } from "../support/server.ts";
import { installClaude, openSandbox, ownRunIn } from "./claude.ts";
import { type Model, startModel } from "./model.ts";
import { everyone, tree } from "./retinue.ts";
import { agent, NEWEST } from "./scenarios.ts";
import type { Block, Scripts } from "./script.ts";

const INSTALL_MS = 600_000;
const RUN_MS = 240_000;
const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");

const bash = (command: string): Block => ({ tool: "Bash", input: { command, description: "Runs it" } });
const lastAsked = (model: Model, script: string) =>
  JSON.stringify(model.exchanges.findLast((exchange) => exchange.script === script)?.request.messages);

describe(`Claude Code ${NEWEST} under retinue run --control`, () => {
  let program: string[] = [];
  beforeAll(async () => {
    program = await installClaude(NEWEST);
  }, INSTALL_MS);

  async function begin(scripts: Scripts, flags: string[] = []) {
    const model = await startModel(scripts);
    onTestFinished(() => model.close());
    const sandbox = await openSandbox(program, model.url);
    onTestFinished(() => sandbox.dispose());
    const { cwd, env } = ownRunIn(sandbox);
    const command = [MAIN, "run", "--control", "--", ...program, "-p", "Begin. @@main", ...flags];
    const child = spawn(process.execPath, command, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    let printed = "";
    child.stdout.on("data", (text) => {
      printed += text;
    });
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    const exists = (name: string) => existsSync(join(cwd, name));
    const shown = async () => {
      const { threads } = await controllable(env);
      return everyone(await tree(threads[0]?.uri ?? "", sandbox.home, { RETINUE_HOME: env.RETINUE_HOME ?? "" }));
    };
    return { model, env, cwd, ended, exists, shown, printed: () => printed };
  }

  it("permissions of agents at any depth are answered from outside", { timeout: RUN_MS }, async () => {
    const { model, env, ended, exists, shown, printed } = await begin({
      main: [(asked) => agent(asked, "A"), { text: "main is done" }],
      A: [(asked) => agent(asked, "B"), { text: "A is done" }],
      B: [bash("touch first && touch second"), bash("touch third"), { text: "B is done" }],
    });
    const first = await eventually(async () => (await controllable(env)).permissions[0]);
    expect(first).toMatchObject({ tool: "Bash", replies: ["once", "reject"] });
    // What would run, in full.
    expect(first.input).toEqual({ command: "touch first && touch second", description: "Runs it" });
    const agents = await shown();
    expect(agents.map(({ uri }) => uri)).toContain(first.uri);
    expect(agents.find(({ uri }) => uri === first.uri)).toMatchObject({
      depth: 2,
      status: "running",
      activity: "waits for a permission (Bash)",
    });
    await expect(answerPermission(env, `${first.id}x`, { reply: "once" })).rejects.toThrow(
      "no open permission request",
    );
    await expect(answerPermission(env, first.id, { reply: "always" })).rejects.toThrow("no open permission request");
    await answerPermission(env, first.id, { reply: "once" });
    await expect(answerPermission(env, first.id, { reply: "once" })).rejects.toThrow("no open permission request");
    const second = await eventually(async () => (await controllable(env)).permissions[0]);
    expect(second.input.command).toBe("touch third");
    await answerPermission(env, second.id, { reply: "reject", text: "Not today." });
    expect(await ended).toBe(0);
    expect(printed()).toBe("main is done\n");
    expect([exists("first"), exists("second"), exists("third")]).toEqual([true, true, false]);
    expect(lastAsked(model, "B")).toContain("Not today.");
    // The note of the run is gone with it.
    expect(readdirSync(join(env.RETINUE_HOME ?? "", "control"))).toEqual([]);
  });

  it("agents are stopped, moved to the background, sent messages and continued", { timeout: RUN_MS }, async () => {
    const { model, env, ended } = await begin(
      {
        main: [
          (asked) => agent(asked, "SLOW"),
          { text: "noted" },
          { text: "noted again" },
          { text: "noted once more" },
        ],
        SLOW: [bash("until test -e /nonexistent; do sleep 0.2; done"), { text: "slow is done" }],
        more: [{ text: "I heard you" }],
      },
      ["--dangerously-skip-permissions"],
    );
    await model.reached("SLOW", 0);
    const thread = await eventually(async () => (await controllable(env)).threads[0]);
    expect(thread.actions).toEqual(["stop", "background", "interrupt", "send", "continue"]);
    const slow = await eventually(async () => {
      const id = model.exchanges.find(({ script }) => script === "SLOW")?.headers["x-claude-code-agent-id"];
      return id === undefined ? null : `${thread.uri}/${id}`;
    });
    await expect(steer(env, { action: "stop", uri: "claude://unknown/a" })).rejects.toThrow("does not control");
    await expect(steer(env, { action: "stop", uri: thread.uri })).rejects.toThrow("needs the URI of an agent");
    await steer(env, { action: "background", uri: slow });
    await model.reached("main", 1);
    await steer(env, { action: "send", uri: thread.uri, text: "Are you there? @@more" });
    await model.reached("more", 0);
    await steer(env, { action: "stop", uri: slow });
    expect(await ended).toBe(0);
  });

  it("an agent that has ended is continued with its history, by the main agent", { timeout: RUN_MS }, async () => {
    const scripts: Scripts = {
      main: [(asked) => agent(asked, "A"), (asked) => agent(asked, "SLOW", { background: true }), { text: "waiting" }],
      // Keeps the run alive.
      SLOW: [bash("until test -e go; do sleep 0.2; done"), { text: "slow is done" }],
      A: [bash("echo A-ran"), { text: "A is done" }],
      relayed: [
        { tool: "ToolSearch", input: { query: "select:SendMessage", max_results: 5 } },
        ({ request }) => {
          const to = /to: \\"(\w+)\\"/.exec(JSON.stringify(request.messages))?.[1];
          return { tool: "SendMessage", input: { to, summary: "one more job", message: "One more. @@A2" } };
        },
        { text: "passed on" },
        { text: "noted" },
        { text: "noted again" },
      ],
      A2: [{ text: "A did more" }],
    };
    const { model, env, ended, cwd } = await begin(scripts, ["--dangerously-skip-permissions"]);
    await model.reached("main", 2);
    const thread = await eventually(async () => (await controllable(env)).threads[0]);
    await eventually(async () =>
      model.exchanges.find((one) => one.script === "main" && one.step === 2)?.finished ? true : null,
    );
    const id = model.exchanges.find(({ script }) => script === "A")?.headers["x-claude-code-agent-id"];
    await steer(env, { action: "continue", uri: `${thread.uri}/${id}`, text: "One more job. @@relayed" });
    await model.reached("A2", 0);
    writeFileSync(join(cwd, "go"), "");
    expect(lastAsked(model, "A2")).toMatch(/Do it\. @@A.*A-ran.*A is done.*One more\. @@A2/);
    expect(await ended).toBe(0);
  });
});
