/**
 * `retinue attach` with the real products: the model's next request has the agent's complete history and the new
 * message, existing files are unchanged, and the tree shows the origin of the new session without counting anything
 * twice.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { allTrees, attach, changedSince, contents } from "./attached.ts";
import { startChatModel } from "./chat-model.ts";
import { CHAT_PRODUCTS } from "./chat-products.ts";
import { installClaude, openSandbox } from "./claude.ts";
import { installCodex, openSandbox as openCodex } from "./codex/codex.ts";
import { startModel as startResponses } from "./codex/model.ts";
import { agent as codexAgent, exec, SETUPS } from "./codex/scenarios.ts";
import { type Model, startModel } from "./model.ts";
import { installOpenCode, openOpenCode } from "./opencode.ts";
import { REAL_PRODUCTS } from "./products.ts";
import { type AgentRecord, counted, everyone } from "./retinue.ts";
import { agent, MIDDLE, NEWEST, OLD } from "./scenarios.ts";
import type { Block, Scripts } from "./script.ts";
import { sum, usageOfCall } from "./usage.ts";

const INSTALL_MS = 600_000;
const SCENARIO_MS = 300_000;
const CONTINUE = "Continue. @@CONT";
const CONT = [{ text: "Continuing." }];

const bash = (word: string): Block => ({
  tool: "Bash",
  input: { command: `echo ${word}-ran`, description: "Runs it" },
});
const markerOf = ({ prompt }: AgentRecord) => /@@(\w+)/.exec(prompt ?? "")?.[1] ?? null;
const named = (trees: Iterable<AgentRecord>, marker: string) => {
  const found = [...trees].flatMap(everyone).find((one) => markerOf(one) === marker && one.agentId !== null);
  if (found === undefined) throw new Error(`no agent ${marker}`);
  return found;
};
/** Everything that must not change when one of its agents is continued. */
const shown = (record: AgentRecord) =>
  everyone(record).map(({ uri, status, usage, prompt }) => ({ uri, status, usage: usage.own, prompt }));
const origins = (trees: Iterable<AgentRecord>) =>
  [...trees].flatMap((tree) => ("forkedFrom" in tree && tree.forkedFrom !== null ? [tree.forkedFrom] : []));
const served = ({ exchanges }: Model) =>
  sum(exchanges.flatMap(({ answer, finished }) => (answer !== null && finished ? [usageOfCall(answer.usage)] : [])));
const messages = (model: Model) => JSON.stringify(model.exchanges.at(-1)?.request.messages);

const commands = new Map<string, string[]>();

describe("Claude Code", () => {
  beforeAll(async () => {
    for (const version of [NEWEST, MIDDLE, OLD]) commands.set(version, await installClaude(version));
  }, INSTALL_MS);

  async function stage(version: string, scripts: Scripts) {
    const model = await startModel({ ...scripts, CONT });
    onTestFinished(() => model.close());
    const sandbox = await openSandbox(commands.get(version) ?? [], model.url);
    onTestFinished(() => sandbox.dispose());
    const agents = join(sandbox.launch.cwd, ".claude/agents");
    mkdirSync(agents, { recursive: true });
    writeFileSync(
      join(agents, "reviewer.md"),
      "---\nname: reviewer\ndescription: Reviews\nmodel: haiku\ntools: Bash, Read\n---\nYou are THE REVIEWER.\n",
    );
    const records = join(sandbox.home, ".claude/projects");
    return { model, sandbox, records };
  }

  it("an agent at depth 3, one with its own type and model, and a fork", { timeout: SCENARIO_MS }, async () => {
    const { model, sandbox, records } = await stage(NEWEST, {
      main: [
        (asked) => agent(asked, "A"),
        (asked) => agent(asked, "R", { type: "reviewer" }),
        (asked) => agent(asked, "F", { type: "fork" }),
        { text: "Waiting." },
        { text: "All done." },
      ],
      A: [(asked) => agent(asked, "B"), { text: "A is done." }],
      B: [(asked) => agent(asked, "C"), { text: "B is done." }],
      C: [bash("C"), { text: "C is done." }],
      R: [bash("R"), { text: "R is done." }],
      F: [bash("F"), { text: "F is done." }],
    });
    await sandbox.run("Begin. @@main");
    const before = contents(records);
    const [root] = (await allTrees(sandbox.home)).values();
    const trees = [root as AgentRecord];
    const [c, r, f] = ["C", "R", "F"].map((marker) => named(trees, marker)) as [AgentRecord, AgentRecord, AgentRecord];
    expect(c).toMatchObject({ depth: 3 });

    const answer = await attach(sandbox, "claude", c.uri, "--with", CONTINUE);
    expect(answer.stdout).toBe("Continuing.\n");
    expect(messages(model)).toMatch(/Do it\. @@C.*C-ran.*C is done\..*Continue\. @@CONT/);
    expect(messages(model)).not.toContain("@@main");

    await attach(sandbox, "claude", r.uri, "--with", CONTINUE);
    expect(messages(model)).toMatch(/Do it\. @@R.*R-ran.*R is done\..*Continue\. @@CONT/);
    const asked = model.exchanges.at(-1)?.request;
    expect(asked?.model).toContain("haiku");
    expect(JSON.stringify(asked)).toContain("You are THE REVIEWER.");
    expect(asked?.tools?.map(({ name }) => name)).not.toContain("Write");

    await attach(sandbox, "claude", f.uri, "--with", CONTINUE);
    expect(messages(model)).toMatch(/Begin\. @@main.*@@F.*F-ran.*F is done\..*Continue\. @@CONT/);

    const attached = await allTrees(sandbox.home);
    expect(changedSince(before, records)).toEqual([]);
    expect(shown(attached.get(root?.sessionId ?? "") as AgentRecord)).toEqual(shown(root as AgentRecord));
    expect([...attached.values()].map(({ children }) => children.length).sort()).toEqual([0, 0, 0, 3]);
    expect(origins(attached.values()).sort()).toEqual([c.uri, r.uri, f.uri].sort());
    expect(counted([...attached.values()])).toEqual(served(model));
  });

  it("with the history up to an event, and the command that would run", { timeout: SCENARIO_MS }, async () => {
    const { model, sandbox, records } = await stage(NEWEST, {
      main: [(asked) => agent(asked, "A"), { text: "All done." }],
      A: [bash("first"), bash("second"), { text: "A is done." }],
    });
    await sandbox.run("Begin. @@main");
    const a = named((await allTrees(sandbox.home)).values(), "A");
    const [before, asked] = [contents(sandbox.home), model.exchanges.length];
    const printed = await attach(sandbox, "claude", a.uri, "--with", CONTINUE, "--print-command");
    expect(printed.stdout).toMatch(/^cd \S+ && claude '.*' -p --resume \S+ --fork-session --agent general-purpose/);
    expect(changedSince(before, sandbox.home).filter((name) => !name.startsWith("retinue-data/index"))).toEqual([]);
    expect(model.exchanges).toHaveLength(asked);

    // Events 1 and 2 are the prompt and the first call; the third is its result.
    await attach(sandbox, "claude", a.uri, "--with", CONTINUE, "--at", "3");
    expect(messages(model)).toMatch(/Do it\. @@A.*first-ran.*Continue\. @@CONT/);
    expect(messages(model)).not.toContain("second-ran");
    const attached = await allTrees(sandbox.home);
    expect(origins(attached.values())).toEqual([a.uri]);
    expect(counted([...attached.values()])).toEqual(served(model));
    expect(changedSince(contents(records), records)).toEqual([]);
  });

  it("an agent that was killed while it worked", { timeout: SCENARIO_MS }, async () => {
    const { model, sandbox, records } = await stage(NEWEST, {
      main: [(asked) => agent(asked, "A")],
      A: [bash("A"), { hang: true }],
    });
    const run = sandbox.start("Begin. @@main");
    await model.reached("A", 1);
    run.signalGroup("SIGKILL");
    await run.ended;
    const before = contents(records);
    const a = named((await allTrees(sandbox.home)).values(), "A");
    await attach(sandbox, "claude", a.uri, "--with", CONTINUE);
    expect(messages(model)).toMatch(/Do it\. @@A.*A-ran.*Continue\. @@CONT/);
    const attached = await allTrees(sandbox.home);
    expect(changedSince(before, records)).toEqual([]);
    expect(origins(attached.values())).toEqual([a.uri]);
    expect([...attached.values()].flatMap(everyone)).toHaveLength(3);
    expect(counted([...attached.values()])).toEqual(served(model));
  });

  it.each([MIDDLE, OLD])("with version %s", { timeout: SCENARIO_MS }, async (version) => {
    const { model, sandbox, records } = await stage(version, {
      main: [(asked) => agent(asked, "A"), { text: "All done." }],
      A: [bash("A"), { text: "A is done." }],
    });
    await sandbox.run("Begin. @@main");
    const before = contents(records);
    const a = named((await allTrees(sandbox.home)).values(), "A");
    await attach(sandbox, "claude", a.uri, "--with", CONTINUE);
    const asked = model.exchanges.findLast(({ script }) => script === "CONT");
    expect(JSON.stringify(asked?.request.messages)).toMatch(/Do it\. @@A.*A-ran.*A is done\..*Continue\. @@CONT/);
    const attached = await allTrees(sandbox.home);
    expect(changedSince(before, records)).toEqual([]);
    expect(origins(attached.values())).toEqual([a.uri]);
    // Requests of the product itself, which offer no tools or run no script, are not all in its transcripts.
    const scripted = model.exchanges.filter(
      ({ script, request, finished }) => finished && script !== null && (request.tools?.length ?? 0) > 0,
    );
    const own = [...attached.values()].flatMap(everyone).map(({ usage }) => usage.own.calls ?? 0);
    expect(own.reduce((all, calls) => all + calls, 0)).toBe(scripted.length);
    expect([...attached.values()].flatMap(everyone).filter(({ agentId }) => agentId !== null)).toHaveLength(1);
  });

  it.each(["v2.0.76", "v2.1.42", "v2.1.197"])("from the records of %s", { timeout: SCENARIO_MS }, async (recording) => {
    const { model, sandbox, records } = await stage(NEWEST, {});
    const from = join(import.meta.dirname, "../../fixtures/claude", recording, "home/.claude");
    cpSync(from, join(sandbox.home, ".claude"), { recursive: true });
    const before = contents(records);
    const agents = [...(await allTrees(sandbox.home)).values()].flatMap((tree) => everyone(tree).slice(1));
    expect(agents.length).toBeGreaterThan(1);
    for (const { uri, prompt } of agents) {
      await attach(sandbox, "claude", uri, "--with", CONTINUE);
      const [first = ""] = (prompt ?? "").split("\n");
      expect(messages(model)).toContain(JSON.stringify(first).slice(1, -1));
      expect(messages(model)).toContain(CONTINUE);
    }
    expect(changedSince(before, records)).toEqual([]);
    const attached = await allTrees(sandbox.home);
    expect(origins(attached.values()).sort()).toEqual(agents.map(({ uri }) => uri).sort());
  });
});

describe("Codex", () => {
  const [setup] = SETUPS;

  it("a nested agent, a fork, and one that was killed", { timeout: SCENARIO_MS }, async () => {
    if (setup === undefined) throw new Error("no setup");
    const command = await installCodex(setup.version);
    const model = await startResponses({
      main: [
        (asked) => codexAgent(asked, "a"),
        { tool: "wait_agent", input: { timeout_ms: 20_000 } },
        { text: "Done." },
      ],
      a: [
        (asked) => codexAgent(asked, "b"),
        { tool: "wait_agent", input: { timeout_ms: 20_000 } },
        { text: "a is done." },
      ],
      b: [{ text: "b said this." }],
      killed: [(asked) => codexAgent(asked, "k"), { tool: "wait_agent", input: { timeout_ms: 20_000 } }],
      k: [{ hang: true }],
      forked: [
        (asked) => codexAgent(asked, "f", true),
        { tool: "wait_agent", input: { timeout_ms: 20_000 } },
        { text: "Done." },
      ],
      f: [{ text: "f said this." }],
      CONT,
    });
    onTestFinished(() => model.close());
    const sandbox = await openCodex(command, model.url, setup);
    onTestFinished(() => sandbox.dispose());
    await sandbox.run(exec("Begin. @@main"));
    await sandbox.run(exec("Begin. @@forked"));
    const run = sandbox.start(exec("Begin. @@killed"));
    await model.reached("k", 0);
    run.signalGroup("SIGKILL");
    await run.ended;
    const records = join(sandbox.home, ".codex/sessions");
    const before = contents(records);
    const trees = await allTrees(sandbox.home);
    const agents = [...trees.values()].flatMap((tree) => everyone(tree).slice(1));
    const depths = agents.map((one) => (one as AgentRecord & { depth: number }).depth);
    expect(depths.sort()).toEqual([1, 1, 1, 2]);
    for (const { uri } of agents) {
      await attach(sandbox, "codex", uri, "--with", CONTINUE);
      expect(JSON.stringify(model.exchanges.at(-1)?.request.input)).toMatch(/Do it\. @@[abfk].*Continue\. @@CONT/);
    }
    // A fork has its parent's history, too.
    expect(model.exchanges.map(({ request }) => JSON.stringify(request.input))).toContainEqual(
      expect.stringMatching(/Begin\. @@forked.*f said this\..*Continue\. @@CONT/),
    );
    expect(JSON.stringify(model.exchanges.map(({ request }) => request.input))).toMatch(
      /b said this\..*Continue\. @@CONT/,
    );
    expect(changedSince(before, records)).toEqual([]);
    const attached = await allTrees(sandbox.home);
    expect(origins(attached.values()).sort()).toEqual(agents.map(({ uri }) => uri).sort());
    for (const [thread, tree] of trees) expect(shown(attached.get(thread) as AgentRecord)).toEqual(shown(tree));
    const { calls, inputTokens, outputTokens } = counted([...attached.values()]);
    const usages = model.exchanges.flatMap(({ answer, finished }) =>
      answer !== null && finished ? [answer.usage] : [],
    );
    expect({ calls, inputTokens, outputTokens }).toEqual({
      calls: usages.length,
      inputTokens: usages.reduce((all, u) => all + u.input_tokens - u.input_tokens_details.cached_tokens, 0),
      outputTokens: usages.reduce((all, u) => all + u.output_tokens, 0),
    });
  });
});

describe("OpenCode", () => {
  it("an agent that was killed while it worked, and a fork", { timeout: SCENARIO_MS }, async () => {
    const command = await installOpenCode("1.18.33");
    const args = { description: "Task A", prompt: "Do it. @@A", subagent_type: "general" };
    const bash = { name: "bash", args: { command: "echo A-ran", description: "Echo" } };
    const model = await startChatModel({
      main: [{ tools: [{ name: "task", args }] }, { text: "done" }],
      A: [{ tools: [bash] }, { hang: true }],
      CONT,
    });
    onTestFinished(() => model.close());
    const product = await openOpenCode(command, model.url, {});
    onTestFinished(() => product.dispose());
    const run = product.start("Begin. @@main");
    await model.reached("A", 1);
    run.signalGroup("SIGKILL");
    await run.ended;
    const trees = await allTrees(product.home);
    const a = named(trees.values(), "A");
    const asked = async (uri: string) => {
      await attach(product, "opencode", uri, "--with", CONTINUE);
      return model.requests().findLast((body) => body.includes(CONTINUE));
    };
    expect(await asked(a.uri)).toMatch(/Do it\. @@A.*A-ran.*Continue\. @@CONT/);
    const [fork] = [...(await allTrees(product.home)).values()].filter((tree) => origins([tree]).length > 0);
    // The new session is a fork, and can be continued like any other.
    expect(await asked(fork?.uri ?? "")).toMatch(
      /Do it\. @@A.*A-ran.*Continue\. @@CONT.*Continuing\..*Continue\. @@CONT/,
    );
    const attached = await allTrees(product.home);
    expect(origins(attached.values()).sort()).toEqual([a.uri, fork?.uri].sort());
    for (const [thread, tree] of trees) expect(shown(attached.get(thread) as AgentRecord)).toEqual(shown(tree));
  });

  it("a nested agent", { timeout: SCENARIO_MS }, async () => {
    const command = await installOpenCode("1.18.33");
    const task = (marker: string) => ({
      name: "task",
      args: { description: `Task ${marker}`, prompt: `Do it. @@${marker}`, subagent_type: "general" },
    });
    const model = await startChatModel({
      main: [{ tools: [task("A")] }, { text: "done" }],
      A: [{ tools: [task("B")] }, { text: "a done" }],
      B: [{ tools: [{ name: "bash", args: { command: "echo B-ran", description: "Echo" } }] }, { text: "b done" }],
      CONT,
    });
    onTestFinished(() => model.close());
    const product = await openOpenCode(command, model.url, { subagent_depth: 3 });
    onTestFinished(() => product.dispose());
    expect((await product.start("Begin. @@main").ended).code).toBe(0);
    const trees = await allTrees(product.home);
    const b = named(trees.values(), "B");
    await attach(product, "opencode", b.uri, "--with", CONTINUE);
    const asked = model.requests().find((body) => body.includes(CONTINUE));
    expect(asked).toMatch(/Do it\. @@B.*B-ran.*b done.*Continue\. @@CONT/);
    const attached = await allTrees(product.home);
    expect(origins(attached.values())).toEqual([b.uri]);
    for (const [thread, tree] of trees) expect(shown(attached.get(thread) as AgentRecord)).toEqual(shown(tree));
    const { calls, inputTokens, outputTokens } = counted([...attached.values()]);
    const all = [...model.served.values()];
    const total = (of: "calls" | "inputTokens" | "outputTokens") =>
      all.map((usage) => usage[of] ?? 0).reduce((so, one) => so + one, 0);
    expect({ calls, inputTokens, outputTokens }).toEqual({
      calls: total("calls"),
      inputTokens: total("inputTokens"),
      outputTokens: total("outputTokens"),
    });
  });
});

describe.each(REAL_PRODUCTS)("$name", (product) => {
  const MORE: Record<string, string[]> = {
    gemini: ["--", "--skip-trust", "--approval-mode", "yolo"],
    copilot: ["--", "--allow-all-tools"],
  };

  it("an agent, with its history", { timeout: SCENARIO_MS }, async () => {
    const command = await product.install();
    const model = await product.model({
      main: [{ blocks: product.spawn("A") }, { text: "All done." }],
      A: [product.work, product.report("A said this.")],
      CONT,
    });
    onTestFinished(() => model.close());
    const sandbox = await product.open(command, model.url);
    onTestFinished(() => sandbox.dispose());
    await sandbox.run("Begin. @@main");
    const folder = readdirSync(sandbox.home).find((name) => name === `.${product.provider}`) ?? "";
    const records = join(sandbox.home, folder);
    const isTranscript = (name: string) => name.endsWith(".jsonl");
    const before = new Map([...contents(records)].filter(([name]) => isTranscript(name)));
    const trees = await allTrees(sandbox.home);
    const a = named(trees.values(), "A");
    const more = MORE[product.provider] ?? [];
    const { stdout } = await attach(sandbox, product.provider, a.uri, "--with", CONTINUE, ...more);
    expect(stdout).toContain("Continuing.");
    const asked = model.requests().findLast((body) => body.includes(CONTINUE));
    expect(asked).toMatch(/Do it\. @@A/);
    expect(asked).toContain("A said this.");
    expect(changedSince(before, records)).toEqual([]);
    const attached = await allTrees(sandbox.home);
    expect(origins(attached.values())).toEqual([a.uri]);
    for (const [thread, tree] of trees) expect(shown(attached.get(thread) as AgentRecord)).toEqual(shown(tree));
    expect([...attached.values()].flatMap(everyone)).toHaveLength(3);
    const { calls, inputTokens, outputTokens } = counted([...attached.values()]);
    const all = sum(model.served().map(({ usage }) => usage));
    expect({ calls, inputTokens, outputTokens }).toEqual({
      calls: all.calls,
      inputTokens: all.inputTokens,
      outputTokens: all.outputTokens,
    });
  });
});

/** How each begins: with the agent's history, or with it as the text of a first message. */
const CHAT: readonly {
  name: string;
  provider: string;
  begins: "history" | "text";
  records: string;
  args?: string[];
}[] = [
  { name: "Kilo", provider: "kilo", begins: "history", records: ".local/share/kilo/none", args: ["--auto"] },
  { name: "Qwen", provider: "qwen", begins: "text", records: ".qwen/projects" },
  { name: "Kimi", provider: "kimi", begins: "text", records: ".kimi-code/sessions" },
  { name: "Factory Droid", provider: "droid", begins: "history", records: ".factory/sessions" },
];

describe.each(CHAT)("$name", ({ name, provider, begins, records: folder, args = [] }) => {
  it("an agent, with its history", { timeout: SCENARIO_MS }, async () => {
    const product = CHAT_PRODUCTS.find((one) => one.name.startsWith(name));
    if (product === undefined) throw new Error(`no product ${name}`);
    const model = await startChatModel({
      main: [{ tools: [product.spawn("A")] }, { text: "All done." }],
      A: [{ tools: [product.work] }, { text: "A said this." }],
      CONT,
    });
    onTestFinished(() => model.close());
    const sandbox = await product.open(await product.install(), model.url);
    onTestFinished(() => sandbox.dispose());
    await sandbox.run("Begin. @@main");
    const records = join(sandbox.home, folder);
    const before = existsSync(records) ? contents(records) : new Map<string, string>();
    const trees = await allTrees(sandbox.home);
    const a = named(trees.values(), "A");
    const printed = await attach(sandbox, provider, a.uri, "--with", CONTINUE, "--print-command", "--json");
    expect(JSON.parse(printed.stdout)).toMatchObject({ begins });
    const more = args.length === 0 ? [] : ["--", ...args];
    const { stderr } = await attach(sandbox, provider, a.uri, "--with", CONTINUE, ...more);
    if (begins === "text") expect(stderr).toContain("A new session begins with the agent's history");
    const asked = model.requests().findLast((body) => body.includes(CONTINUE));
    expect(asked).toMatch(/Do it\. @@A/);
    expect(asked).toContain("A said this.");
    expect(existsSync(records) ? changedSince(before, records) : []).toEqual([]);
    const attached = await allTrees(sandbox.home);
    expect(origins(attached.values())).toEqual([a.uri]);
    for (const [thread, tree] of trees) expect(shown(attached.get(thread) as AgentRecord)).toEqual(shown(tree));
    expect([...attached.values()].flatMap(everyone)).toHaveLength(3);
    const { calls, inputTokens, outputTokens } = counted([...attached.values()]);
    const all = [...model.served.values()];
    const total = (of: "calls" | "inputTokens" | "outputTokens") => all.reduce((so, usage) => so + (usage[of] ?? 0), 0);
    expect({ calls, inputTokens, outputTokens }).toEqual({
      calls: total("calls"),
      inputTokens: total("inputTokens"),
      outputTokens: total("outputTokens"),
    });
  });
});
