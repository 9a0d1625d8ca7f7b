/** The watching API: what is written by a crowd is worked out a few times a second, not once for every line. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { Library } from "../../src/app/ingest/library.ts";
import { live } from "../../src/app/live/live.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-live-"));
afterAll(() => rmSync(scratch, { recursive: true }));

const AGENTS = 300;
const ROUNDS = 30;
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

/** Counts how often anything is worked out. */
function counting(store: Store): { readonly store: Store; readonly projected: number[] } {
  const projected: number[] = [];
  const project: Store["project"] = (...projections) => {
    for (const _ of projections) projected.push(Date.now());
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

describe("a crowd of running agents", () => {
  it("is linked at most ten times a second, and nothing of it is missed", { timeout: 180_000 }, async () => {
    mkdirSync(agents, { recursive: true });
    writeFileSync(join(folder, `${THREAD}.jsonl`), line(null, "begin"));
    const ids = Array.from({ length: AGENTS }, (_, i) => `a${String(i).padStart(16, "0")}`);
    for (const id of ids) writeFileSync(join(agents, `agent-${id}.jsonl`), line(id, "begin"));
    const { store, projected } = counting(await openSqliteStore(join(scratch, "index.sqlite"), "test"));
    const library = new Library({
      env: { HOME: scratch, RETINUE_HOME: scratch },
      store,
      price: () => null,
      liveness: () => "alive",
    });
    const stop = new AbortController();
    const running = (async () => {
      for await (const _ of live(library, { signal: stop.signal }));
    })();
    while (library.roots.length === 0) await wait(20);
    projected.length = 0;
    const began = Date.now();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const id of ids) appendFileSync(join(agents, `agent-${id}.jsonl`), line(id, `round ${round}`));
      await wait(50);
    }
    const calls = () => store.roots({ under: library.under, limit: 1 })[0]?.record.usage.subtree.calls;
    const wanted = 1 + AGENTS * (1 + ROUNDS);
    for (let tries = 0; calls() !== wanted && tries < 2_000; tries += 1) await wait(25);
    const seconds = (Date.now() - began) / 1_000;
    stop.abort();
    await running;
    expect(calls()).toBe(wanted);
    // One more a second looks whether its process is still there.
    expect(projected.length).toBeLessThanOrEqual(Math.ceil(seconds) * 11 + 2);
    expect(projected.length).toBeGreaterThan(2);
    library.close();
  });
});

describe("without activity", () => {
  it("cached facts are dropped once, and a later record is still found", async () => {
    const home = join(scratch, "quiet");
    const file = join(home, ".claude/projects/-p", `${THREAD}.jsonl`);
    mkdirSync(join(home, ".claude/projects/-p"), { recursive: true });
    writeFileSync(file, line(null, "begin"));
    const of = await openSqliteStore(join(home, "index.sqlite"), "test");
    const kept: number[] = [];
    const keepFacts = (bytes: number) => {
      kept.push(bytes);
      of.keepFacts(bytes);
    };
    const store = new Proxy(of, { get: (one, name) => (name === "keepFacts" ? keepFacts : bound(one, name)) });
    const library = new Library({
      env: { HOME: home, RETINUE_HOME: home },
      store,
      price: () => null,
      liveness: () => "gone",
    });
    const stop = new AbortController();
    let rounds = 0;
    const running = (async () => {
      for await (const { threads } of live(library, { signal: stop.signal, releaseMs: 50 })) rounds += threads.size;
    })();
    while (!kept.includes(0)) await wait(20);
    await wait(300);
    expect(kept.filter((bytes) => bytes === 0)).toHaveLength(1);
    appendFileSync(file, line(null, "more"));
    while (rounds === 0) await wait(20);
    expect([...library.threads({})].map(({ usage }) => usage.subtree.calls)).toEqual([2]);
    while (kept.filter((bytes) => bytes === 0).length < 2) await wait(20);
    stop.abort();
    await running;
    store.close();
  });
});
