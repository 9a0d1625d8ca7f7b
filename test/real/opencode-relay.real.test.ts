/**
 * The real OpenCode as a server, followed live: every agent at once, which one waits for a permission, and a card that
 * waits for a background agent.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import type { Permission } from "../../src/app/runs/permissions.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { Card } from "../../src/core/views/card.ts";
import { LiveReader, startServer, until } from "../support/server.ts";
import { type ChatScripts, startChatModel } from "./chat-model.ts";
import { installOpenCode, openOpenCode } from "./opencode.ts";

const VERSION = "1.18.33";
const INSTALL_MS = 600_000;
const SCENARIO_MS = 240_000;
/** From the spawn in the product to the notification of a client, on a busy machine. */
const SEEN_WITHIN_MS = 5_000;
const PASSWORD = "a password with: colons & blanks";

let program: string[] = [];
beforeAll(async () => {
  program = await installOpenCode(VERSION);
}, INSTALL_MS);

const task = (marker: string, more: object = {}) => ({
  name: "task",
  args: { description: `Task ${marker}`, prompt: `Do it. @@${marker}`, subagent_type: "general", ...more },
});
const bash = (command: string) => ({ name: "bash", args: { command, description: "Echo" } });

/** A home with these settings. */
async function optionsWith(settings: string) {
  if (settings === "") return {};
  const folder = mkdtempSync(join(tmpdir(), "retinue-limits-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, "config.yaml");
  writeFileSync(config, settings);
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    RETINUE_HOME: join(folder, "data"),
    RETINUE_CONFIG: config,
  };
  return { env, settings: await loadSettings(env) };
}

/** A server of the product, and a retinue server that follows it without access to the product's files. */
async function stage(scripts: ChatScripts, extra: object = {}, settings = "") {
  const model = await startChatModel(scripts);
  onTestFinished(() => model.close());
  const product = await openOpenCode(program, model.url, { subagent_depth: 3, ...extra });
  onTestFinished(() => product.dispose());
  const { url, ask } = await product.serve(PASSWORD, { OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS: "true" });
  const retinue = await startServer(null, await optionsWith(settings));
  onTestFinished(() => retinue.close());
  const send = <T>(path: string, body: unknown) =>
    retinue.json<T>(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json" },
    });
  await send("/api/relays", { provider: "opencode", url, password: PASSWORD });
  await until(
    async () => (await retinue.json<{ items: { state: string }[] }>("/api/relays")).items[0]?.state === "following",
  );
  const { id: session } = await ask<{ id: string }>("POST", "/session", {});
  const uri = `opencode://${session}`;
  const { id } = await send<Card>("/api/cards", { title: "Do it", threads: [uri] });
  const prompt = (marker: string) =>
    ask("POST", `/session/${session}/prompt_async`, { parts: [{ type: "text", text: `Begin. @@${marker}` }] });
  const card = () => retinue.json<Card>(`/api/cards/${id}`);
  const tree = () => retinue.json<AgentTree>(`/api/agents/${encodeURIComponent(uri)}`);
  const ends = async () => {
    const { items } = await retinue.json<{ items: { event_type: string; content: string }[] }>(
      `/api/cards/${id}/logs?limit=1000`,
    );
    return items.filter(({ event_type }) => event_type === "status").map(({ content }) => content);
  };
  return { model, ask, retinue, session, uri, prompt, card, tree, ends };
}

const everyone = (tree: AgentTree): AgentTree[] => [tree, ...tree.children.flatMap(everyone)];

it("every agent is reported soon after its start", { timeout: SCENARIO_MS }, async () => {
  const { model, retinue, uri, prompt, card, tree } = await stage({
    main: [{ tools: [task("A"), task("B")] }, { text: "done" }],
    A: [{ tools: [task("C")] }, { text: "a done" }],
    B: [{ tools: [bash("echo one")] }, { text: "b done" }],
    C: [{ tools: [bash("sleep 2")] }, { text: "c done" }],
  });
  const seen = new Map<string, number>();
  const reader = new LiveReader(new URL("/api/live?threads=true", retinue.url));
  onTestFinished(() => reader.cut());
  await prompt("main");
  await until(async () => (await retinue.get(`/api/agents/${encodeURIComponent(uri)}`)).status === 200);
  const late: number[] = [];
  await until(async () => {
    const now = await tree();
    for (const { uri: of, startedAt } of everyone(now)) {
      if (seen.has(of) || startedAt === null) continue;
      seen.set(of, Date.now());
      late.push(Date.now() - Date.parse(startedAt));
    }
    return (await card()).stage === "done";
  });
  expect(seen.size).toBe(4);
  expect(late.filter((ms) => ms > SEEN_WITHIN_MS)).toEqual([]);
  const used = everyone(await tree()).map(({ prompt: words, usage }) => {
    const { calls, inputTokens, outputTokens, cacheReadTokens } = usage.own;
    return [/@@(\w+)/.exec(words ?? "")?.[1] ?? "", { calls, inputTokens, outputTokens, cacheReadTokens }];
  });
  expect(Object.fromEntries(used)).toEqual(Object.fromEntries(model.served));
});

it("a permission is shown on the child that waits for it", { timeout: SCENARIO_MS }, async () => {
  const { ask, prompt, card, retinue, model } = await stage(
    {
      main: [{ tools: [task("A")] }, { text: "done" }],
      A: [
        { tools: [bash("echo asked")] },
        { tools: [bash("touch rejected")] },
        { tools: [bash("echo always")] },
        { tools: [bash("echo again")] },
        { text: "a done" },
      ],
    },
    { permission: { bash: "ask" } },
  );
  await prompt("main");
  // From its first moment on, the request is the actual one: a tool that has just started does not count as
  // waiting.
  await until(async () => (await card()).waiting.length > 0);
  const { waiting, stage: at } = await card();
  expect(waiting[0]?.says).toContain("echo asked");
  expect(at).toBe("working");
  expect(waiting).toHaveLength(1);
  expect(waiting[0]).toMatchObject({ agent: "Task A", for: "permission" });
  const [request] = await ask<{ id: string; sessionID: string }[]>("GET", "/permission");
  expect(waiting[0]?.uri.endsWith(`/${request?.sessionID}`)).toBe(true);

  // Answered through retinue: once, rejected with a text, always.
  const open = async () => (await retinue.json<{ items: Permission[] }>("/api/permissions")).items;
  const answer = async (body: object) => {
    const [only] = await open();
    const response = await retinue.get(`/api/permissions/${encodeURIComponent(only?.id ?? "")}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${retinue.token}` },
    });
    expect(response.status).toBe(200);
    await until(async () => (await open()).every(({ id }) => id !== only?.id));
  };
  const shown = async () => (await open()).map(({ uri, tool, input }) => [uri, tool, input.command]);
  expect(await shown()).toEqual([[waiting[0]?.uri, "bash", "echo asked"]]);
  await answer({ reply: "once" });
  await until(async () => (await shown())[0]?.[2] === "touch rejected");
  await answer({ reply: "reject", text: "Not this one." });
  await until(async () => (await shown())[0]?.[2] === "echo always" || (await card()).stage === "done");
  if ((await open()).length > 0) await answer({ reply: "always" });
  await until(async () => (await card()).waiting.length === 0 && (await card()).stage === "done");
  expect(model.requests().some((body) => body.includes("Not this one."))).toBe(true);
});

it("a spawn that needs a permission is rejected beyond a limit, and the thread goes on", {
  timeout: SCENARIO_MS,
}, async () => {
  const names = ["L0", "L1", "L2", "L3"];
  const { ask, prompt, card, tree, model, retinue } = await stage(
    {
      main: [...names.map((name) => ({ tools: [task(name)] })), { text: "I go on." }],
      ...Object.fromEntries(names.map((name) => [name, [{ text: `${name} is done.` }]])),
    },
    { permission: { task: "ask" } },
    "limits:\n  agents: { max: 3, action: deny }\n",
  );
  await prompt("main");
  // A person allows the first three; the fourth request is not shown to anybody for long.
  const allowed = new Set<string>();
  while (allowed.size < 3) {
    const open: { id: string }[] = [];
    await until(async () => {
      open.push(...(await ask<{ id: string }[]>("GET", "/permission")).filter(({ id }) => !allowed.has(id)));
      return open.length > 0;
    });
    for (const { id } of open.slice(0, 1)) {
      allowed.add(id);
      await ask("POST", `/permission/${id}/reply`, { reply: "once" });
    }
  }
  await until(async () => (await card()).stage === "done");
  const { children, refused } = await tree();
  expect(children).toHaveLength(3);
  expect(refused.map(({ reason }) => reason)).toEqual([expect.stringMatching(/^retinue: this agent was not started/)]);
  expect(model.requests().some((body) => body.includes("this thread already has 3 agents"))).toBe(true);
  const { denied } = await retinue.json<{ denied: object[] }>("/api/guard");
  expect(denied).toMatchObject([{ limit: "agents", via: "relay", description: "Task L3", type: "general" }]);
});

it("a card stays open while a background agent runs", { timeout: SCENARIO_MS }, async () => {
  const { session, ask, prompt, card, tree } = await stage({
    main: [{ tools: [task("A", { background: true })] }, { text: "launched" }, { text: "notified" }],
    A: [{ tools: [bash("sleep 3")] }, { text: "a done" }],
  });
  await prompt("main");
  await until(async () => session in (await ask<object>("GET", "/session/status")));
  // The thread itself is idle while its agent works.
  await until(async () => {
    const busy = await ask<Record<string, unknown>>("GET", "/session/status");
    return !(session in busy) && Object.keys(busy).length === 1;
  });
  await until(async () => (await tree()).status === "completed");
  expect((await card()).stage).toBe("working");
  await until(async () => (await card()).stage === "done");
  expect((await tree()).children.map(({ status, background }) => [status, background])).toEqual([["completed", true]]);
});

it("no agent waits for a permission without a request", { timeout: SCENARIO_MS }, async () => {
  const { prompt, card, tree } = await stage({
    main: [{ tools: [task("A"), task("B")] }, { text: "done" }],
    A: [{ tools: [bash("sleep 1")] }, { tools: [bash("echo two")] }, { text: "a done" }],
    B: [{ tools: [bash("echo one"), bash("sleep 1")] }, { text: "b done" }],
  });
  await prompt("main");
  const waits = new Set<string>();
  await until(async () => {
    const { stage: at, waiting } = await card();
    for (const { says } of waiting) waits.add(says);
    if (at !== "queued")
      for (const { activity } of everyone(await tree())) if (activity?.includes("permission")) waits.add(activity);
    return at === "done";
  });
  expect([...waits]).toEqual([]);
});

it("the log of a card shows once how each agent ended", { timeout: SCENARIO_MS }, async () => {
  const { model, ask, prompt, card, tree, ends } = await stage({
    main: [{ tools: [task("good"), task("bad"), task("cut")] }, { text: "done" }],
    good: [{ text: "found" }],
    bad: [{ status: 400 }],
    cut: [{ hang: true }],
  });
  await prompt("main");
  await model.reached("cut", 0);
  const stopped = async () => everyone(await tree()).find(({ prompt: words }) => words?.includes("@@cut") === true);
  await until(async () => (await stopped())?.status === "running" && (await ends()).length === 2);
  await ask("POST", `/session/${(await stopped())?.agentId}/abort`, {});
  await until(async () => (await card()).stage === "done" && (await ends()).length >= 3);
  expect((await ends()).sort()).toEqual([
    "↳ general | Completed",
    expect.stringMatching(/^↳ general \| Errored: it failed: APIError: .*scripted 400/),
    "↳ general | Shutdown: it was interrupted by the user",
  ]);
  expect(everyone(await tree()).map(({ status }) => status)).toEqual(["completed", "completed", "errored", "shutdown"]);
});

it("a session that fails before its response is errored, and runs again after the next prompt", {
  timeout: SCENARIO_MS,
}, async () => {
  const { ask, retinue, session, uri, tree } = await stage({ main: [{ text: "done" }] });
  const model = { providerID: "scripted", modelID: "there-is-no-such-model" };
  // Only the event stream reports this failure: no response was started.
  await ask("POST", `/session/${session}/prompt_async`, { model, parts: [{ type: "text", text: "Begin. @@main" }] });
  await until(async () => (await tree().catch(() => null))?.status === "errored");
  expect((await tree()).statusReason).toMatch(/^it failed: .*there-is-no-such-model/);
  const { items } = await retinue.json<{ items: { kind: string; text: string | null }[] }>(
    `/api/agents/${encodeURIComponent(uri)}/events`,
  );
  expect(items.filter(({ kind }) => kind === "error")).toHaveLength(1);
  const right = { providerID: "scripted", modelID: "model-1" };
  await ask("POST", `/session/${session}/prompt_async`, {
    model: right,
    parts: [{ type: "text", text: "Again. @@main" }],
  });
  await until(async () => (await tree()).status === "completed");
});
