/** Delivery of sent items by services that fail in every way they can. test/faults kills the senders. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { readOutbox } from "../../src/app/export/outbox.ts";
import { flush } from "../../src/app/hooks/flush.ts";
import { openKept } from "../../src/app/kept/kept-file.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { serve } from "../../src/server/serve.ts";
import { COMPILED, MAIN, retinue, retinueProcess } from "../support/cli.ts";
import { FIXTURES } from "../support/fixtures.ts";
import { type LangSmithServer, startLangSmith } from "../support/langsmith-server.ts";
import { until } from "../support/server.ts";
import { storiesOf } from "../support/stories.ts";

let server: LangSmithServer;
let scratch: string;
let env: Record<string, string>;

beforeEach(async () => {
  server = await startLangSmith();
  scratch = mkdtempSync(join(tmpdir(), "retinue-outbox-"));
  cpSync(join(FIXTURES, "claude/c3-nested-parallel/home"), join(scratch, "home"), { recursive: true });
  env = {
    PATH: process.env.PATH ?? "",
    HOME: join(scratch, "home"),
    RETINUE_HOME: join(scratch, "data"),
    CC_LANGSMITH_API_KEY: "test-key",
    LANGSMITH_ENDPOINT: server.url,
  };
});
afterEach(async () => {
  await server.close();
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
});

const SEND = ["export", "langsmith", "latest"];
const send = () => retinue(env.HOME as string, SEND, env);
const outbox = async (retry = false) =>
  readOutbox({ env, settings: await loadSettings(env), limit: 100, retry, drop: false, debug: false });
const callsOf = async () => (await storiesOf(env.HOME as string))[0]?.record.usage.subtree.calls ?? 0;
const llmRuns = () => [...server.runs.values()].filter((run) => run.run_type === "llm").length;
/** Lets the clock run a hundred times as fast until the end of the test; timers take as long as usual. */
function startFastClock() {
  const [clockStart, start] = [Date.now(), performance.now()];
  const elapsedMs = () => 100 * (performance.now() - start);
  vi.useFakeTimers({ toFake: ["Date"] });
  const tick = setInterval(() => vi.setSystemTime(clockStart + elapsedMs()), 1);
  onTestFinished(() => {
    clearInterval(tick);
    vi.useRealTimers();
  });
  return { elapsedMs };
}
/** Everything has arrived complete, and once. */
async function expectAll() {
  expect(llmRuns()).toBe(await callsOf());
  for (const run of server.runs.values()) {
    expect(run.end_time).toBeDefined();
    if (run.parent_run_id !== undefined) expect(server.runs.has(run.parent_run_id)).toBe(true);
  }
}

describe("an export", () => {
  it("sends everything, waits for the confirmation, and sends nothing twice", async () => {
    const first = await send();
    expect([first.code, first.stderr]).toEqual([0, ""]);
    expect(first.stdout).toMatch(/items? of 2 turns in 1 thread/);
    await expectAll();
    const ids = new Set(server.runs.keys());
    const requests = server.requests.length;
    const again = await send();
    expect([again.code, server.requests.length]).toEqual([0, requests]);
    expect(again.stdout).toContain(" 0 of them new");
    // An exporter without its memory generates the same ids again, and the server knows them.
    rmSync(env.RETINUE_HOME as string, { recursive: true });
    expect((await send()).code).toBe(0);
    expect(new Set(server.runs.keys())).toEqual(ids);
    expect((await outbox())[0]).toMatchObject({ waiting: 0, refused: 0 });
  });

  it.each([
    ["503", { is: "answer", status: 503 }],
    ["429 with retry-after", { is: "answer", status: 429, headers: { "retry-after": "1" } }],
    ["a broken connection", { is: "cut", when: "before" }],
    ["a connection that breaks after the body", { is: "cut", when: "after" }],
    ["409 for all of it", { is: "answer", status: 409, body: "some of it is there" }],
    ["413 for all of it", { is: "answer", status: 413 }],
    ["400 for all of it", { is: "answer", status: 400, body: "something in it is bad" }],
  ] as const)("gets over %s", async (_, fault) => {
    server.faults.push(fault);
    const { code, stderr } = await send();
    expect([code, stderr]).toEqual([0, ""]);
    await expectAll();
    expect((await outbox())[0]).toMatchObject({ waiting: 0, refused: 0, reason: null });
  });

  it("waits for the time of Retry-After after 429", async () => {
    server.faults.push({ is: "answer", status: 429, headers: { "retry-after": "3600" } });
    const { code, stderr } = await send();
    expect([code, stderr.includes("stay in the outbox")]).toEqual([1, true]);
    const [state] = await outbox();
    expect(state?.nextAt).toBeGreaterThan(Date.now() + 3_000_000);
    expect(server.requests.length).toBe(1);
  });

  it("keeps everything while the key is rejected, reports why, and sends it once the key is valid", async () => {
    env.CC_LANGSMITH_API_KEY = "wrong";
    server.faults.push(
      ...Array.from(
        { length: 50 },
        () => ({ is: "answer", status: 401, body: "Unauthorized", headers: { "retry-after": "600" } }) as const,
      ),
    );
    const { code, stderr } = await send();
    expect([code, stderr]).toEqual([1, expect.stringContaining("401 Unauthorized")]);
    expect((await retinue(env.HOME as string, ["outbox"], env)).stdout).toContain("401 Unauthorized");
    server.faults.length = 0;
    env.CC_LANGSMITH_API_KEY = "test-key";
    const [state] = await outbox(true);
    expect(state).toMatchObject({ waiting: 0, refused: 0 });
    await expectAll();
  });

  it("does not block other runs because of one invalid run, and names it and the reason", async () => {
    server.poison.add("Bash");
    const { code, stderr } = await send();
    expect([code, stderr.includes("refused")]).toEqual([1, true]);
    const bad = [...((await outbox())[0]?.items ?? [])];
    expect(bad.length).toBeGreaterThan(0);
    for (const { what, refused } of bad) expect([what, refused]).toEqual(["post tool Bash", "422 cannot take Bash"]);
    expect(llmRuns()).toBe(await callsOf());
    server.poison.clear();
    expect((await outbox(true))[0]).toMatchObject({ waiting: 0, refused: 0 });
    await expectAll();
  });

  it("splits batches that are too large until they fit", async () => {
    server.maxBytes = 8_000;
    expect((await send()).code).toBe(0);
    await expectAll();
    expect(server.requests.some(({ body }) => body.length > 8_000)).toBe(true);
  });

  it("keeps items while the service is unreachable", async () => {
    await server.close();
    const clock = startFastClock();
    const { code, stderr } = await send();
    expect([code, stderr]).toEqual([1, expect.stringContaining("ECONNREFUSED")]);
    expect(clock.elapsedMs()).toBeGreaterThan(20_000);
    const [state] = await outbox();
    expect(state).toMatchObject({ refused: 0, reason: expect.stringContaining("ECONNREFUSED") });
    expect(state?.waiting).toBeGreaterThan(20);
    server = await startLangSmith();
    // The same variables lead to the new server.
    env.LANGSMITH_ENDPOINT = server.url;
    expect((await send()).code).toBe(0);
    await expectAll();
  }, 120_000);
});

describe("processes", () => {
  it("running at the same time send everything once", async () => {
    const all = await Promise.all([1, 2, 3].map(() => retinueProcess(env.HOME as string, SEND, env)));
    expect(all.map(({ code, stderr }) => [code, stderr])).toEqual(all.map(() => [0, ""]));
    await expectAll();
    expect(server.repeated).toEqual([]);
  });
});

describe("flushing", () => {
  const traced = () => ({ ...env, TRACE_TO_LANGSMITH: "true" });
  /** As if tracing had been enabled before all of it happened. */
  const since = async (at: number) => {
    const kept = await openKept(env);
    kept.outbox.open(`langsmith ${server.url} (by product)`, at);
    kept.close();
  };

  it("sends what happened since tracing was enabled, and no history", async () => {
    expect((await flush(traced())).map(({ waiting, isOurs }) => [waiting, isOurs])).toEqual([[0, true]]);
    expect(server.runs.size).toBe(0);
    rmSync(env.RETINUE_HOME as string, { recursive: true });
    await since(0);
    expect((await flush(traced())).map(({ waiting }) => waiting)).toEqual([0]);
    await expectAll();
  });

  it("is done once: one of several processes does it", async () => {
    await since(0);
    const hook = () => retinueProcess(env.HOME as string, ["hook", "--flush"], traced());
    for (const { code } of await Promise.all([hook(), hook(), hook()])) expect(code).toBe(0);
    await until(async () => (await outbox())[0]?.waiting === 0);
    await expectAll();
    expect(server.repeated).toEqual([]);
  });

  it.each([
    ["there is no server", false],
    ["the server was started without the variables", true],
  ])("continues in the background after the hook has returned, if %s", async (_, hasServer) => {
    await since(0);
    const served = hasServer
      ? await serve({ env, settings: await loadSettings(env), notify: () => {}, port: 0, host: null })
      : null;
    onTestFinished(() => served?.stop());
    const [thread] = await storiesOf(env.HOME as string);
    const payload = JSON.stringify({
      hook_event_name: "Stop",
      session_id: thread?.record.sessionId,
      transcript_path: thread?.record.records[0]?.path,
    });
    const child = spawn(process.execPath, [MAIN, "hook"], {
      env: { ...COMPILED, ...traced() },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (printed += String(chunk)));
    child.stdin.end(payload);
    const [code] = (await once(child, "exit")) as [number];
    expect([code, printed]).toEqual([0, ""]);
    const calls = await callsOf();
    await until(() => llmRuns() === calls);
    await until(async () => (await outbox())[0]?.waiting === 0);
    await expectAll();
    // The background process has ended.
    await until(async () => (await outbox())[0]?.holder === null);
  });

  it("does nothing, and creates nothing, if tracing is off", async () => {
    expect(await flush(env)).toEqual([]);
    expect((await retinueProcess(env.HOME as string, ["hook", "--flush"], env)).stderr).toContain("TRACE_TO_LANGSMITH");
  });
});
