/**
 * The real Claude Code and the real Codex under `retinue run`, with retinue's hooks in their settings, and with
 * Claude Code's telemetry sent to a retinue server.
 * Every live source alone, and all of them together, must report what the model knows to have happened.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type AgentRun, NotSupported, run } from "../../src/app/api.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { differences, type ThreadTruth } from "../support/judge.ts";
import { startServer, until } from "../support/server.ts";
import { installClaude, openSandbox, ownRunIn } from "./claude.ts";
import { installCodex, openSandbox as openCodex } from "./codex/codex.ts";
import { startModel as startCodexModel } from "./codex/model.ts";
import { scenarios as codexScenarios, exec, NEWEST as NEWEST_CODEX, SETUPS } from "./codex/scenarios.ts";
import { truthOf as codexTruth } from "./codex/truth.ts";
import { startModel } from "./model.ts";
import { type AgentRecord, counted, everyone, tree } from "./retinue.ts";
import { agent, NEWEST } from "./scenarios.ts";
import type { Scripts, Step } from "./script.ts";
import { truthOf } from "./truth.ts";

const INSTALL_MS = 600_000;
const RUN_MS = 120_000;
const ROOT = join(import.meta.dirname, "../..");
const MAIN = join(ROOT, "src/cli/main.ts");
const WRAPPED = [process.execPath, MAIN, "run", "--"];

const bash = (command: string): Step => ({ tool: "Bash", input: { command, description: "Runs it" } });
const NESTED: Scripts = {
  main: [
    (asked) => [agent(asked, "A"), agent(asked, "B", { background: true })],
    { text: "Both are on their way." },
    { text: "Noted." },
    { text: "Noted again." },
  ],
  A: [(asked) => agent(asked, "LEAF"), { text: "A is done." }],
  B: [bash("sleep 1; echo B"), { text: "B is done." }],
  LEAF: [bash("echo leaf"), { text: "The leaf is done." }],
};

/** What is known of a home without its transcripts, from these live sources. */
async function treeBy(kinds: readonly string[], provider: string, data: string, thread: string): Promise<AgentRecord> {
  const scratch = mkdtempSync(join(tmpdir(), "retinue-by-"));
  onTestFinished(() => rmSync(scratch, { recursive: true, force: true }));
  mkdirSync(join(scratch, "home"));
  for (const kind of kinds)
    cpSync(join(data, "recordings", provider, kind), join(scratch, "data/recordings", provider, kind), {
      recursive: true,
    });
  return tree(thread, join(scratch, "home"), { RETINUE_HOME: join(scratch, "data") });
}

const parents = (root: AgentRecord) =>
  everyone(root)
    .flatMap((parent) => parent.children.map((child) => `${child.agentId} below ${parent.agentId}`))
    .sort();
const trueParents = ({ agents }: ThreadTruth) =>
  agents.flatMap((one) => (one.agentId === null ? [] : [`${one.agentId} below ${one.parentAgentId}`])).sort();

describe(`Claude Code ${NEWEST}`, () => {
  let program: string[] = [];
  beforeAll(async () => {
    program = await installClaude(NEWEST);
    // Hooks run the installed program.
    await promisify(execFile)(process.execPath, [
      join(ROOT, "node_modules/typescript/bin/tsc"),
      "-p",
      join(ROOT, "tsconfig.build.json"),
    ]);
  }, INSTALL_MS);

  it("works on, and its tree stays complete, if retinue run is killed meanwhile", { timeout: RUN_MS }, async () => {
    const model = await startModel({
      main: [(asked) => agent(asked, "A"), { text: "All is done." }],
      A: [
        { afterMs: 1_500, blocks: [{ tool: "Bash", input: { command: "touch made.txt", description: "x" } }] },
        { text: "A is done." },
      ],
    });
    onTestFinished(() => model.close());
    const sandbox = await openSandbox(program, model.url);
    onTestFinished(() => sandbox.dispose());
    const { home, launch } = sandbox;
    const data = join(home, "retinue-data");
    const flags = [
      "-p",
      "Begin. @@main",
      "--output-format",
      "stream-json",
      "--verbose",
      "--dangerously-skip-permissions",
    ];
    const child = spawn(process.execPath, [join(ROOT, "bin/retinue.js"), "run", "--", ...launch.command, ...flags], {
      cwd: launch.cwd,
      env: { ...launch.env, RETINUE_HOME: data },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let output = "";
    child.stdout.on("data", (part: Buffer) => {
      output += part;
    });
    await model.reached("A", 0);
    child.kill("SIGKILL");
    // The reader of its output gets all of it.
    await once(child.stdout, "end");
    const lines = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; result?: string });
    expect(lines.at(-1)).toMatchObject({ type: "result", result: "All is done." });
    expect(existsSync(join(launch.cwd, "made.txt"))).toBe(true);
    const [truth] = truthOf(model.exchanges).threads;
    const thread = truth?.root ?? "";
    if (truth === undefined) throw new Error("the model was not asked");
    expect(differences(truth, await tree(thread, home, { RETINUE_HOME: data }))).toEqual([]);
    // The stream states no final usage.
    const streamed = await treeBy(["run"], "claude", data, thread);
    expect(parents(streamed)).toEqual(trueParents(truth));
    expect(everyone(streamed).map(({ status }) => status)).toEqual(["completed", "completed"]);
    const recorded = readdirSync(join(data, "recordings/claude/run")).map((name) =>
      readFileSync(join(data, "recordings/claude/run", name), "utf8"),
    );
    const raw = recorded
      .join("")
      .split("\n")
      .filter((line) => line.includes('"raw":'));
    expect(raw.length).toBe(lines.length);
    const doctor = await promisify(execFile)(process.execPath, [join(ROOT, "bin/retinue.js"), "doctor"], {
      env: { ...launch.env, RETINUE_HOME: data },
    });
    expect(doctor.stdout).toMatch(/Problems\n {2}none/);
  });

  it("yields the same from its transcripts, its stream, its hooks and its telemetry", { timeout: RUN_MS }, async () => {
    const model = await startModel(NESTED);
    onTestFinished(() => model.close());
    const server = await startServer(null);
    onTestFinished(() => server.close());
    const data = server.env.RETINUE_HOME ?? "";
    const telemetry = {
      CLAUDE_CODE_ENABLE_TELEMETRY: "1",
      CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: "1",
      OTEL_TRACES_EXPORTER: "otlp",
      OTEL_LOGS_EXPORTER: "otlp",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
      OTEL_EXPORTER_OTLP_ENDPOINT: server.url.replace(/\/$/, ""),
      OTEL_LOGS_EXPORT_INTERVAL: "200",
      OTEL_TRACES_EXPORT_INTERVAL: "200",
    };
    const sandbox = await openSandbox([...WRAPPED, ...program], model.url, { RETINUE_HOME: data, ...telemetry });
    onTestFinished(() => sandbox.dispose());
    const hooksEnv = { PATH: process.env.PATH ?? "", HOME: sandbox.home, RETINUE_HOME: data };
    await promisify(execFile)(process.execPath, [MAIN, "hooks", "install", "claude", "--yes"], { env: hooksEnv });
    await sandbox.run("Begin. @@main");

    const [truth] = truthOf(model.exchanges).threads;
    if (truth === undefined) throw new Error("no thread");
    expect(truth.agents.length).toBe(4);
    // The server received only hooks: its own home is another one, and it follows the transcripts that the hooks name.
    await until(
      async () => (await server.get(`/api/agents/${encodeURIComponent(`claude://${truth.root}`)}`)).status === 200,
    );
    const recorded = join(data, "recordings/claude");
    expect(readdirSync(recorded).sort()).toEqual(["hooks", "otlp", "roots", "run"]);
    expect(readFileSync(join(recorded, "roots"), "utf8")).toBe(
      `${JSON.stringify(join(realpathSync(sandbox.home), ".claude"))}\n`,
    );

    expect(differences(truth, await tree(truth.root, sandbox.home, { RETINUE_HOME: data }))).toEqual([]);
    expect(differences(truth, await tree(truth.root, sandbox.home))).toEqual([]);
    for (const kinds of [["run"], ["hooks"], ["otlp"], ["run", "hooks", "otlp"]]) {
      const seen = await treeBy(kinds, "claude", data, truth.root);
      expect({ kinds, parents: parents(seen) }).toEqual({ kinds, parents: trueParents(truth) });
      expect(everyone(seen).map(({ status }) => status)).toEqual(everyone(seen).map(() => "completed"));
    }
    // Telemetry has every call with all its tokens, so nothing is lost without the transcripts.
    const served = counted([await tree(truth.root, sandbox.home)]);
    expect(counted([await treeBy(["otlp"], "claude", data, truth.root)])).toEqual(served);
    expect(counted([await treeBy(["run", "hooks", "otlp"], "claude", data, truth.root)])).toEqual(served);
    // The stream has every call of the agents whose messages it prints, once.
    expect(counted([await treeBy(["run"], "claude", data, truth.root)]).calls).toBeLessThanOrEqual(served.calls);
  });

  describe("can be controlled by the library:", () => {
    const SLOW: Scripts = {
      main: [(asked) => agent(asked, "SLOW"), { text: "main is done" }, { text: "noted" }, { text: "noted again" }],
      SLOW: [bash("sleep 15; echo slow"), { text: "slow is done" }],
      more: [{ text: "I heard you" }],
      short: [{ text: "done at once" }],
    };

    async function steered(prompt: string, act: (event: AgentEvent, handle: AgentRun) => Promise<boolean>) {
      const model = await startModel(SLOW);
      onTestFinished(() => model.close());
      const sandbox = await openSandbox(program, model.url);
      onTestFinished(() => sandbox.dispose());
      const started = ownRunIn(sandbox);
      const handle = await run([...program, "-p", prompt, "--dangerously-skip-permissions"], started);
      const events: AgentEvent[] = [];
      let acted = false;
      for await (const event of handle) {
        events.push(event);
        if (!acted) acted = await act(event, handle);
      }
      expect(acted).toBe(true);
      const last = new Map(
        events.flatMap(({ uri, status }) => (status === null ? [] : [[uri, status.status] as const])),
      );
      return { events, last: [...last], end: await handle.ended, scripts: model.exchanges.map(({ script }) => script) };
    }

    it("stop", { timeout: RUN_MS }, async () => {
      const { last, events } = await steered("Begin. @@main", async ({ spawn }, handle) => {
        if (spawn === null) return false;
        await handle.stop(spawn.agentId ?? "");
        return true;
      });
      expect(last.map(([, status]) => status).sort()).toEqual(["completed", "shutdown"]);
      // Reported once, while it ran: not when it ended.
      expect(events.filter(({ kind }) => kind === "spawn")).toHaveLength(1);
    });

    it("background", { timeout: RUN_MS }, async () => {
      const { events } = await steered("Begin. @@main", async ({ tool, uri, kind }, handle) => {
        if (kind !== "toolCall" || tool?.name !== "Bash") return false;
        const id = uri.split("/").at(-1) ?? "";
        await handle.background(id);
        await handle.stop(id);
        return true;
      });
      expect(
        events.some(({ kind, text }) => kind === "toolResult" && text?.startsWith("Async agent launched") === true),
      ).toBe(true);
    });

    it("interrupt", { timeout: RUN_MS }, async () => {
      const { last } = await steered("Begin. @@main", async ({ spawn }, handle) => {
        if (spawn === null) return false;
        await handle.interrupt();
        return true;
      });
      expect(last.map(([, status]) => status)).toEqual(["shutdown", "shutdown"]);
    });

    it("send works and lets it continue; injecting a tool result is not supported", { timeout: RUN_MS }, async () => {
      const { scripts, end } = await steered("Begin. @@short", async ({ status }, handle) => {
        if (status?.status !== "completed") return false;
        await expect(handle.injectToolResult("toolu_1", "x")).rejects.toThrow(NotSupported);
        await handle.send("Go on. @@more");
        return true;
      });
      expect(scripts).toEqual(["short", "more"]);
      expect(end).toEqual({ code: 0, signal: null });
    });
  });
});

describe(`Codex ${NEWEST_CODEX}`, () => {
  it.each(SETUPS.filter(({ version }) => version === NEWEST_CODEX))(
    "yields the same from its rollouts, its stream and its hooks: $name",
    { timeout: INSTALL_MS },
    async (setup) => {
      const scenario = codexScenarios.find(
        ({ only, act, scripts }) =>
          (only?.(setup) ?? true) && act === undefined && !JSON.stringify(scripts).includes("hang"),
      );
      if (scenario === undefined) throw new Error("no scenario");
      const model = await startCodexModel(scenario.scripts);
      onTestFinished(() => model.close());
      const sandbox = await openCodex([...WRAPPED, ...(await installCodex(setup.version))], model.url, setup);
      onTestFinished(() => sandbox.dispose());
      const env = { PATH: process.env.PATH ?? "", HOME: sandbox.home };
      await promisify(execFile)(process.execPath, [MAIN, "hooks", "install", "codex", "--yes"], { env });
      await sandbox.run([...exec("Begin. @@main"), "--dangerously-bypass-hook-trust"]);

      const [truth] = codexTruth(model.exchanges, scenario.endings ?? {});
      if (truth === undefined) throw new Error("no thread");
      const data = join(sandbox.home, ".local/share/retinue");
      expect(differences(truth, await tree(truth.root, sandbox.home))).toEqual([]);
      expect(differences(truth, await tree(truth.root, sandbox.home, { RETINUE_HOME: data }))).toEqual([]);
      expect(parents(await treeBy(["hooks"], "codex", data, truth.root))).toEqual(trueParents(truth));
      const text = readdirSync(join(data, "recordings/codex/run"))
        .map((name) => readFileSync(join(data, "recordings/codex/run", name), "utf8"))
        .join("");
      const seen = everyone(await treeBy(["run"], "codex", data, truth.root));
      for (const { agentId } of truth.agents)
        if (agentId !== null && text.includes(agentId)) expect(seen.map((one) => one.agentId)).toContain(agentId);
    },
  );
});
