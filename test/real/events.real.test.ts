/** `retinue run --events` with the real products: printed events are final, under the agent's final name. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { startChatModel } from "./chat-model.ts";
import { installClaude, openSandbox } from "./claude.ts";
import { startModel } from "./model.ts";
import { installOpenCode, openOpenCode } from "./opencode.ts";
import { everyone, tree } from "./retinue.ts";
import { agent, NEWEST } from "./scenarios.ts";
import type { Scripts, Step } from "./script.ts";

const INSTALL_MS = 600_000;
const RUN_MS = 180_000;
const WRAPPED = [process.execPath, join(import.meta.dirname, "../../src/cli/main.ts"), "run", "--events", "--"];
const OPENCODE = "1.18.33";

const bash = (command: string): Step => ({ tool: "Bash", input: { command, description: "Runs it" } });
const SCRIPTS: Scripts = {
  main: [
    (asked) => [agent(asked, "A"), agent(asked, "B", { background: true }), agent(asked, "FAILS")],
    { text: "On their way." },
    { text: "Noted." },
    { text: "Noted again." },
  ],
  A: [(asked) => agent(asked, "LEAF"), { text: "A is done." }],
  B: [bash("sleep 1; echo B"), { text: "B is done." }],
  LEAF: [bash("echo leaf"), { text: "The leaf is done." }],
  FAILS: [bash("echo fails"), { error: { status: 400, type: "invalid_request_error", message: "scripted failure" } }],
};

const eventsIn = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as AgentEvent);
const urisIn = (events: readonly AgentEvent[]) =>
  [...new Set(events.flatMap(({ uri, spawn }) => [uri, ...(spawn === null ? [] : [spawn.uri])]))].sort();

/** Keeps the machine busy until the test is over. */
function load() {
  for (const _ of [1, 2, 3]) {
    const busy = spawn(process.execPath, ["-e", "for (;;);"]);
    onTestFinished(() => void busy.kill("SIGKILL"));
  }
}

describe(`Claude Code ${NEWEST}`, () => {
  let program: string[] = [];
  beforeAll(async () => {
    program = await installClaude(NEWEST);
  }, INSTALL_MS);

  it.each([false, true])(
    "reports every agent in its tree, and every spawn under its parent (busy machine: %s)",
    { timeout: RUN_MS },
    async (isBusy) => {
      if (isBusy) load();
      const model = await startModel(SCRIPTS);
      onTestFinished(() => model.close());
      const sandbox = await openSandbox([...WRAPPED, ...program], model.url);
      onTestFinished(() => sandbox.dispose());
      const run = sandbox.start("Begin. @@main");
      await run.ended;
      const events = eventsIn(run.output());
      const { uri } = events[0] ?? { uri: "" };
      const root = await tree(uri.replace("claude://", "").split("/")[0] ?? "", sandbox.home);
      expect(urisIn(events)).toEqual(
        everyone(root)
          .map((one) => one.uri)
          .sort(),
      );
      const spawns = events.flatMap(({ spawn }) => (spawn === null ? [] : [`${spawn.uri} below ${spawn.parent}`]));
      expect(spawns.sort()).toEqual(
        everyone(root)
          .flatMap((parent) => parent.children.map((child) => `${child.uri} below ${parent.uri}`))
          .sort(),
      );
    },
  );
});

describe(`OpenCode ${OPENCODE}`, () => {
  let program: string[] = [];
  beforeAll(async () => {
    program = await installOpenCode(OPENCODE);
  }, INSTALL_MS);

  it("is followed in a home where it never ran: its agent is reported while it works, and none as shut down", {
    timeout: RUN_MS,
  }, async () => {
    const task = { name: "task", args: { description: "Task A", prompt: "Do it. @@A", subagent_type: "general" } };
    const slow = { name: "bash", args: { command: "sleep 8", description: "Sleep" } };
    const model = await startChatModel({
      main: [{ tools: [task] }, { text: "done" }],
      A: [{ tools: [slow] }, { text: "a done" }],
    });
    onTestFinished(() => model.close());
    const sandbox = await openOpenCode([...WRAPPED, ...program], model.url, {});
    onTestFinished(() => sandbox.dispose());
    const run = sandbox.start("Begin. @@main");
    // Its own output mentions a child only when that has ended.
    await expect
      .poll(() => run.output().includes('"kind":"spawn"') && !run.output().includes('"status":"completed"'), {
        timeout: 60_000,
        interval: 50,
      })
      .toBe(true);
    await run.ended;
    const events = eventsIn(run.output());
    const statuses = events.flatMap(({ uri, status }) =>
      status === null ? [] : [`${uri.split("/").length > 3 ? "child" : "root"} ${status.status}`],
    );
    expect(statuses).not.toContain("root shutdown");
    expect(statuses).not.toContain("child shutdown");
    expect(statuses.filter((words) => words.endsWith("completed")).sort()).toEqual([
      "child completed",
      "root completed",
    ]);
  });
});
