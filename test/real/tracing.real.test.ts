/** The real Claude Code at work while everything it does is traced: what the model served is what arrives, once, and nothing stays open. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startLangSmith } from "../langsmith-server.ts";
import { installClaude, openSandbox } from "./claude.ts";
import { lastSession } from "./conversations.ts";
import { startModel } from "./model.ts";
import { NEWEST, scenarios } from "./scenarios.ts";
import { truthOf } from "./truth.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const ARRIVED = { timeout: 60_000, interval: 100 };

let command: string[] = [];
beforeAll(async () => {
  command = await installClaude(NEWEST);
}, 600_000);

describe(`Claude Code ${NEWEST}, traced`, () => {
  it.each(scenarios.filter(({ versions }) => versions.includes(NEWEST)))("$name", { timeout: 180_000 }, async ({ scripts, endings, env, act }) => {
    const [model, server] = [await startModel(scripts), await startLangSmith()];
    onTestFinished(() => model.close());
    onTestFinished(() => server.close());
    const sandbox = await openSandbox(command, model.url, env);
    onTestFinished(() => sandbox.dispose());
    const home = { PATH: process.env.PATH ?? "", HOME: sandbox.home, RETINUE_HOME: join(sandbox.home, "retinue-data") };
    const follower = spawn(process.execPath, [MAIN, "export", "langsmith", "--follow"], {
      env: { ...home, CC_LANGSMITH_API_KEY: "test-key", LANGSMITH_ENDPOINT: server.url },
      stdio: ["ignore", "ignore", "pipe"],
    });
    onTestFinished(() => void follower.kill("SIGKILL"));
    // It says how it is stopped when it has begun.
    await once(follower.stderr, "data");

    if (act) await act(sandbox, () => lastSession(model.exchanges));
    else await sandbox.run("Begin. @@main");

    const { recorded } = truthOf(model.exchanges, endings);
    const runs = () => [...server.runs.values()];
    await expect.poll(() => runs().filter(({ run_type }) => run_type === "llm").length, ARRIVED).toBe(recorded.calls);
    await expect.poll(() => runs().filter(({ end_time }) => end_time === undefined), ARRIVED).toEqual([]);
    const usage = runs().flatMap(({ extra }) => (extra?.metadata.usage_metadata as { output_tokens: number } | undefined)?.output_tokens ?? []);
    expect(usage.reduce((sum, tokens) => sum + tokens, 0)).toBe(recorded.outputTokens);
    for (const { parent_run_id } of runs()) if (parent_run_id !== undefined) expect(server.runs.has(parent_run_id)).toBe(true);
    expect(server.repeated).toEqual([]);
  });
});
