/** The live API: the output of many agents is linked a few times a second, not once per line. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { Library } from "../../src/app/ingest/library.ts";
import { live } from "../../src/app/live/live.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { until } from "../support/server.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-live-"));
afterAll(() => rmSync(scratch, { recursive: true }));

const AGENTS = 300;
const ROUNDS = 10;
/** Lines of the thread that grows quickly. */
const LINES = 200;
const RELEASE_MS = 20;
const THREAD = "11111111-2222-4333-8444-555555555555";
const folder = join(scratch, ".claude/projects/-p");
const agents = join(folder, THREAD, "subagents");

let count = 0;
function line(agent: string | null, text: string): string {
  count += 1;
  const uuid = `00000000-0000-4000-8000-${String(count).padStart(12, "0")}`;
  const own = {
    uuid,
    parentUuid: null,
    sessionId: THREAD,
    timestamp: new Date().toISOString(),
    version: "2.1.325",
    cwd: "/p",
  };
  const message = {
    id: `msg_${count}`,
    role: "assistant",
    model: "m",
    stop_reason: "tool_use",
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const content = [{ type: "tool_use", id: `toolu_${count}`, name: "Bash", input: { command: text } }];
  return `${JSON.stringify({ ...own, type: "assistant", isSidechain: agent !== null, ...(agent === null ? {} : { agentId: agent }), message: { ...message, content } })}\n`;
}

/** Counts how often a forest is linked. */
function counting(store: Store): { readonly store: Store; readonly projected: number[] } {
  const projected: number[] = [];
  const project: Store["project"] = (...projections) => {
    for (const _ of projections) projected.push(performance.now());
    return store.project(...projections);
  };
  return {
    store: new Proxy(store, { get: (of, name) => (name === "project" ? project : bound(of, name)) }),
    projected,
  };
}

function bound(of: Store, name: string | symbol): unknown {
  const value: unknown = Reflect.get(of, name);
  return typeof value === "function" ? value.bind(of) : value;
}

/** Follows a home until `write` has finished and `wanted` model calls are known. */
async function followed(home: string, write: () => Promise<void>, wanted: number) {
  const { store, projected } = counting(await openSqliteStore(join(home, "index.sqlite"), "test"));
  const library = new Library({
    env: { HOME: home, RETINUE_HOME: home },
    store,
    price: () => null,
    liveness: () => "alive",
  });
  // The process is checked once a second; each check may link once more.
  let checks = 0;
  const recheck = library.recheck.bind(library);
  library.recheck = () => {
    checks += 1;
    return recheck();
  };
  const stop = new AbortController();
  const running = (async () => {
    for await (const _ of live(library, { signal: stop.signal }));
  })();
  await until(() => projected.length > 0);
  projected.length = 0;
  await write();
  const calls = () => store.roots({ under: library.under, limit: 1 })[0]?.record.usage.subtree.calls;
  await until(() => calls() === wanted, calls);
  stop.abort();
  await running;
  library.close();
  return { projected, checks };
}

describe("running agents", () => {
  it("are linked a few times, not once per line, and no record is missed", async () => {
    mkdirSync(agents, { recursive: true });
    writeFileSync(join(folder, `${THREAD}.jsonl`), line(null, "begin"));
    const ids = Array.from({ length: AGENTS }, (_, i) => `a${String(i).padStart(16, "0")}`);
    for (const id of ids) writeFileSync(join(agents, `agent-${id}.jsonl`), line(id, "begin"));
    const write = async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const id of ids) appendFileSync(join(agents, `agent-${id}.jsonl`), line(id, `round ${round}`));
        // Faster than the agents are linked.
        await wait(50);
      }
    };
    const { projected } = await followed(scratch, write, 1 + AGENTS * (1 + ROUNDS));
    expect(projected.length).toBeLessThan((AGENTS * ROUNDS) / 10);
  });

  it("are linked at most ten times a second, even if there is little to link", async () => {
    const home = join(scratch, "quick");
    const file = join(home, ".claude/projects/-p", `${THREAD}.jsonl`);
    mkdirSync(join(home, ".claude/projects/-p"), { recursive: true });
    writeFileSync(file, line(null, "begin"));
    const write = async () => {
      for (let i = 0; i < LINES; i += 1) {
        appendFileSync(file, line(null, `line ${i}`));
        await wait(5);
      }
    };
    const { projected, checks } = await followed(home, write, 1 + LINES);
    const pauses = projected.slice(1).map((at, i) => at - (projected[i] ?? 0));
    expect(pauses.length).toBeGreaterThan(1);
    // On a busy machine pauses are longer, never shorter.
    expect(pauses.filter((ms) => ms < 99).length).toBeLessThanOrEqual(checks);
  });
});

describe("without activity", () => {
  it("cached facts are dropped once, and a later record is still found", async () => {
    const home = join(scratch, "quiet");
    const file = join(home, ".claude/projects/-p", `${THREAD}.jsonl`);
    mkdirSync(join(home, ".claude/projects/-p"), { recursive: true });
    writeFileSync(file, line(null, "begin"));
    const steps: string[] = [];
    const store = await openSqliteStore(join(home, "index.sqlite"), "test");
    const setFactCacheSize = store.setFactCacheSize.bind(store);
    store.setFactCacheSize = (bytes) => {
      if (bytes === 0) steps.push("dropped");
      setFactCacheSize(bytes);
    };
    const library = new Library({
      env: { HOME: home, RETINUE_HOME: home },
      store,
      price: () => null,
      liveness: () => "gone",
    });
    const stop = new AbortController();
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    const running = (async () => {
      for await (const { threads } of live(library, { signal: stop.signal, releaseMs: RELEASE_MS }))
        if (threads.size > 0) steps.push("changed");
    })();
    const isReleaseTimer = ([, ms]: unknown[]) => ms === RELEASE_MS;
    await until(() => steps.length > 0);
    // The loop has gone back to sleep, without a timer for a second drop.
    await turn();
    expect([steps, timers.mock.calls.filter(isReleaseTimer).length]).toEqual([["dropped"], 1]);
    appendFileSync(file, line(null, "more"));
    await until(() => steps.length === 3);
    expect(steps).toEqual(["dropped", "changed", "dropped"]);
    expect([...library.threads({})].map(({ usage }) => usage.subtree.calls)).toEqual([2]);
    stop.abort();
    await running;
    store.close();
  });
});
