/**
 * Real products through the proxy to a scripted model: the tree shows what was served, both with the product's own
 * records, merged into the same agents, and without them.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { runProxy } from "../../src/app/proxy/run.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { differences, type ThreadTruth } from "../support/judge.ts";
import { installClaude, offline, openSandbox as openClaude } from "./claude.ts";
import { installCodex, openSandbox as openCodex } from "./codex/codex.ts";
import { startModel as startResponses } from "./codex/model.ts";
import { scenarios as codexScenarios, exec, NEWEST as NEWEST_CODEX, SETUPS } from "./codex/scenarios.ts";
import { truthOf as codexTruth } from "./codex/truth.ts";
import { lastSession } from "./conversations.ts";
import { startModel } from "./model.ts";
import { everyone, threads, tree } from "./retinue.ts";
import { openHome } from "./sandbox.ts";
import { MIDDLE, NEWEST, scenarios } from "./scenarios.ts";
import { truthOf } from "./truth.ts";

const INSTALL_MS = 600_000;
const SCENARIO_MS = 120_000;
/** A version whose default is auto mode: the server checks risky calls. */
const AUTO = "2.1.327";
const MISSING = { agentId: null, status: "not listed" };
const commands = new Map<string, string[]>();
beforeAll(async () => {
  for (const version of [NEWEST, MIDDLE, AUTO]) commands.set(version, await installClaude(version));
  commands.set(`codex ${NEWEST_CODEX}`, await installCodex(NEWEST_CODEX));
}, INSTALL_MS);

async function proxyTo(upstream: string) {
  const data = mkdtempSync(join(tmpdir(), "retinue-real-proxy-"));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  const env = { RETINUE_HOME: data, HOME: data };
  const settings = await loadSettings(env);
  const run = {
    env,
    settings,
    port: 0,
    host: "127.0.0.1",
    upstream: new URL(upstream),
    via: null,
    silenceMs: 60_000,
    redaction: null,
    notify: () => {},
  };
  const running = await runProxy(run);
  return { url: running.url, data, stop: () => running.stop() };
}

/** Compared with the truth twice: with the product's records, and without. */
async function judge(home: string, records: string, data: string, truth: readonly ThreadTruth[]): Promise<void> {
  for (const moment of ["beside the product's records", "by itself"]) {
    const env = { RETINUE_HOME: data };
    const found = await Promise.all(
      truth.map(async (thread) => differences(thread, await tree(thread.root, home, env).catch(() => MISSING))),
    );
    expect({ moment, differences: found.flat() }).toEqual({ moment, differences: [] });
    expect((await threads(home, env)).sort()).toEqual(truth.map(({ root }) => root).sort());
    rmSync(join(home, records), { recursive: true, force: true });
    rmSync(join(data, "index.sqlite"), { force: true });
  }
}

/** Processes, and ends that are not in the traffic, are only in the product's records. */
const isPlain = ({ act, endings }: { readonly act?: unknown; readonly endings?: unknown }) =>
  act === undefined && endings === undefined;

describe.each([NEWEST, MIDDLE])("Claude Code %s through the proxy", (version) => {
  it.each(scenarios.filter((scenario) => scenario.versions.includes(version) && isPlain(scenario)))(
    "$name",
    { timeout: SCENARIO_MS },
    async ({ scripts, env }) => {
      const model = await startModel(scripts);
      onTestFinished(() => model.close());
      const proxy = await proxyTo(model.url);
      const sandbox = await openClaude(commands.get(version) ?? [], proxy.url, env);
      onTestFinished(() => sandbox.dispose());
      await sandbox.run("Begin. @@main");
      await proxy.stop();
      expect(
        everyone(await tree(lastSession(model.exchanges), sandbox.home, { RETINUE_HOME: proxy.data })).length,
      ).toBeGreaterThan(1);
      await judge(sandbox.home, ".claude/projects", proxy.data, truthOf(model.exchanges).threads);
    },
  );
});

it("Claude Code in auto mode: the model is asked for the same checks as without the proxy", {
  timeout: SCENARIO_MS,
}, async () => {
  const seen = [];
  for (const isProxied of [false, true]) {
    const model = await startModel({
      main: [{ tool: "Bash", input: { command: "touch new.txt", description: "Creates it" } }, { text: "Done." }],
    });
    onTestFinished(() => model.close());
    const proxy = isProxied ? await proxyTo(model.url) : null;
    const url = proxy?.url ?? model.url;
    const sandbox = await openHome(
      async ({ temp }) => ({ command: commands.get(AUTO) ?? [], env: offline(temp, url) }),
      (prompt, flags) => ["-p", prompt, "--permission-mode", "auto", ...flags],
    );
    onTestFinished(() => sandbox.dispose());
    await sandbox.run("Begin. @@main");
    await proxy?.stop();
    const folder = dirname(sandbox.home);
    const varying = new RegExp(`${folder}|[0-9a-f]{8}-[0-9a-f-]{27}|"device_id[^,]*,|toolu_\\w+`, "g");
    const asked = model.exchanges.map(({ headers, request, status }) => ({
      headers: Object.entries(headers).filter(([name]) => !["host", "connection", "content-length"].includes(name)),
      safeguards: (request as { safeguards?: unknown }).safeguards,
      fields: Object.keys(request),
      status,
    }));
    expect(asked.every(({ safeguards }) => Array.isArray(safeguards))).toBe(true);
    expect(existsSync(join(sandbox.launch.cwd, "new.txt"))).toBe(true);
    seen.push(JSON.stringify(asked, null, 1).replace(varying, "…"));
  }
  expect(seen[1]).toBe(seen[0]);
});

describe.each(SETUPS.filter(({ version }) => version === NEWEST_CODEX))("Codex $name through the proxy", (setup) => {
  it.each(codexScenarios.filter((scenario) => (scenario.only?.(setup) ?? true) && isPlain(scenario)))(
    "$name",
    { timeout: SCENARIO_MS },
    async ({ scripts }) => {
      const model = await startResponses(scripts);
      onTestFinished(() => model.close());
      const proxy = await proxyTo(model.url);
      const sandbox = await openCodex(commands.get(`codex ${setup.version}`) ?? [], proxy.url, setup);
      onTestFinished(() => sandbox.dispose());
      await sandbox.run(exec("Begin. @@main"));
      await proxy.stop();
      await judge(sandbox.home, ".codex", proxy.data, codexTruth(model.exchanges, {}));
    },
  );
});
