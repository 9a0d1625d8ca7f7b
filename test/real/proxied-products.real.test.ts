/**
 * Products that use chat completions and other APIs, for real, through the proxy to a scripted model:
 * the tree shows what was served, with the product's own records (each call once) and, for some, without them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { runProxy } from "../../src/app/proxy/run.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { type ChatModel, type ChatTurn, startChatModel } from "./chat-model.ts";
import { CHAT_PRODUCTS } from "./chat-products.ts";
import { startModel } from "./model.ts";
import { installOpenCode, openOpenCode } from "./opencode.ts";
import { installPi, openPi } from "./products.ts";
import { type AgentRecord, threads, tree } from "./retinue.ts";
import { sum, usageOfCall } from "./usage.ts";

const INSTALL_MS = 600_000;
const SCENARIO_MS = 400_000;
const commands = new Map<string, string[]>();
beforeAll(async () => {
  commands.set("opencode", await installOpenCode("1.18.33"));
  commands.set("pi", await installPi());
}, INSTALL_MS);

async function proxyTo(upstream: string) {
  const data = mkdtempSync(join(tmpdir(), "retinue-real-proxy-"));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  const env = { RETINUE_HOME: data, HOME: data };
  const run = {
    env,
    settings: await loadSettings(env),
    port: 0,
    host: "127.0.0.1",
    via: null,
    silenceMs: 60_000,
    redaction: null,
    notify: () => {},
  };
  const running = await runProxy({ ...run, upstream: new URL(upstream) });
  return { url: running.url, data, stop: () => running.stop() };
}

const scriptOf = ({ prompt }: AgentRecord) => /@@(\w+)/.exec(prompt ?? "")?.[1] ?? "unknown";

function shown(record: AgentRecord, under: string | null = null): [string, unknown][] {
  const { calls, inputTokens, outputTokens, cacheReadTokens } = record.usage.own;
  const own = { under, status: record.status, usage: { calls, inputTokens, outputTokens, cacheReadTokens } };
  return [[scriptOf(record), own], ...record.children.flatMap((child) => shown(child, scriptOf(record)))];
}

const expectedOf = (served: ReadonlyMap<string, unknown>) =>
  Object.fromEntries(
    [...served].map(([script, usage]) => [
      script,
      { under: script === "main" ? null : "main", status: "completed", usage },
    ]),
  );

/** Compared with what was served twice: with the product's records, and without. */
async function judge(home: string, records: string, data: string, served: ReadonlyMap<string, unknown>): Promise<void> {
  const expected = expectedOf(served);
  for (const moment of ["beside the product's records", "by itself"]) {
    const env = { RETINUE_HOME: data };
    const found = await threads(home, env);
    const trees = await Promise.all(found.map((id) => tree(id, home, env)));
    expect({ moment, shown: trees.map((one) => Object.fromEntries(shown(one))) }).toEqual({
      moment,
      shown: [expected],
    });
    // One extension keeps its agents' records among temporary files.
    for (const path of [records, "../tmp"]) rmSync(join(home, path), { recursive: true, force: true });
    rmSync(join(data, "index.sqlite"), { force: true });
  }
}

const originOf = (url: string) => new URL(url).origin;

it("OpenCode through the proxy, in chat completions", { timeout: SCENARIO_MS }, async () => {
  const task = (script: string) => ({
    name: "task",
    args: { description: `Task ${script}`, prompt: `Do it. @@${script}`, subagent_type: "general" },
  });
  const bash = { name: "bash", args: { command: "echo one", description: "Echo" } };
  const model = await startChatModel({
    main: [{ tools: [task("A"), task("B")] }, { text: "done" }],
    A: [{ tools: [bash] }, { text: "a done" }],
    B: [{ text: "b done" }],
  });
  onTestFinished(() => model.close());
  const proxy = await proxyTo(originOf(model.url));
  const product = await openOpenCode(commands.get("opencode") ?? [], `${proxy.url}/v1`, {});
  onTestFinished(() => product.dispose());
  const { code, stderr } = await product.start("Begin. @@main").ended;
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  await proxy.stop();
  await judge(product.home, ".local/share/opencode", proxy.data, model.served);
});

describe.each(CHAT_PRODUCTS)("$name through the proxy", (product) => {
  let command: string[] = [];
  beforeAll(async () => {
    command = await product.install();
  }, INSTALL_MS);

  it("is one thread, with its own records", { timeout: SCENARIO_MS }, async () => {
    const { spawn, work, end } = product;
    const last = (text: string) => (end === undefined ? { text } : { tools: [end(text)] });
    const model = await startChatModel({
      main: [{ tools: [spawn("A"), spawn("B")] }, { text: "done" }],
      A: [{ tools: [work] }, last("a done")],
      B: [last("b done")],
    });
    onTestFinished(() => model.close());
    const proxy = await proxyTo(originOf(model.url));
    const sandbox = await product.open(command, `${proxy.url}/v1`);
    onTestFinished(() => sandbox.dispose());
    const { code, stderr } = await sandbox.start("Begin. @@main").ended;
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    await proxy.stop();
    const env = { RETINUE_HOME: proxy.data };
    const trees = await Promise.all((await threads(sandbox.home, env)).map((id) => tree(id, sandbox.home, env)));
    expect(trees.map((one) => Object.fromEntries(shown(one)))).toEqual([expectedOf(model.served)]);
  });
});

describe.each(["example", "tintinweb"] as const)("Pi with the extension %s through the proxy", (extension) => {
  const spawn = (script: string) =>
    extension === "tintinweb"
      ? {
          name: "Agent",
          args: { subagent_type: "general-purpose", prompt: `Do it. @@${script}`, description: `Run ${script}` },
        }
      : { name: "subagent", args: { agent: "boss", task: `Do it. @@${script}` } };
  const bash = { name: "bash", args: { command: "echo work" } };
  const scripts: Record<string, ChatTurn[]> = {
    main: [{ tools: [spawn("A")] }, { text: "done" }],
    A: [{ tools: [bash] }, { text: "a done" }],
  };

  const through = async (
    model: Pick<ChatModel, "url">,
    api: "anthropic-messages" | "openai-completions",
    served: () => ReadonlyMap<string, unknown>,
  ) => {
    const proxy = await proxyTo(originOf(model.url));
    const path = api === "openai-completions" ? "/v1" : "";
    const product = await openPi(commands.get("pi") ?? [], `${proxy.url}${path}`, extension, api);
    onTestFinished(() => product.dispose());
    await product.run("Begin. @@main");
    await proxy.stop();
    await judge(product.home, ".pi/agent/sessions", proxy.data, served());
  };

  it("in chat completions", { timeout: SCENARIO_MS }, async () => {
    const model = await startChatModel(scripts);
    onTestFinished(() => model.close());
    await through(model, "openai-completions", () => model.served);
  });

  it("in Anthropic's API", { timeout: SCENARIO_MS }, async () => {
    const blocks = (turns: readonly ChatTurn[]) =>
      turns.map(({ text, tools = [] }) => [
        ...(text === undefined ? [] : [{ text }]),
        ...tools.map(({ name, args }) => ({ tool: name, input: args })),
      ]);
    const model = await startModel(
      Object.fromEntries(Object.entries(scripts).map(([name, turns]) => [name, blocks(turns)])),
    );
    onTestFinished(() => model.close());
    await through(model, "anthropic-messages", () => {
      const finished = model.exchanges.filter(
        ({ request, answer, finished }) => request.tools?.length && answer && finished,
      );
      const used = (script: string) =>
        sum(finished.flatMap(({ script: of, answer }) => (of === script && answer ? [usageOfCall(answer.usage)] : [])));
      const some = ({ calls, inputTokens, outputTokens, cacheReadTokens }: ReturnType<typeof used>) => ({
        calls,
        inputTokens,
        outputTokens,
        cacheReadTokens,
      });
      return new Map(Object.keys(scripts).map((script) => [script, some(used(script))]));
    });
  });
});
