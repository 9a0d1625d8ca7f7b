/** What one appended record costs while a client follows its thread: counted, and the same in a thread of any length. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { longThread } from "../../scripts/bench/append.ts";
import { Cards } from "../../src/app/cards/cards.ts";
import { Library } from "../../src/app/ingest/library.ts";
import type { AgentKey } from "../../src/core/facts/ids.ts";
import { Board } from "../../src/server/board.ts";
import { Hub } from "../../src/server/hub.ts";
import { Journal } from "../../src/server/journal.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { SpanSet, type SpansChange } from "../../web/src/data/span-set.ts";
import { homeEnv } from "../support/fixtures.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-append-work-"));
afterAll(() => rmSync(scratch, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

/** A thread of this many records whose list, tree, log and waterfall a client follows. */
async function followed(records: number) {
  const home = mkdtempSync(join(scratch, "home-"));
  const env = homeEnv(home);
  const load = longThread(home, records);
  const store = await openSqliteStore(join(home, "index.sqlite"), "test");
  const library = new Library({ env, store, price: () => null, liveness: () => "gone" });
  await library.refresh();
  await library.indexTexts();
  library.enableCaches(64 << 20);
  const key = `claude:${load.first}` as AgentKey;
  const path = join(home, ".claude/projects/-home-dev-soak-0", `${load.first}.jsonl`);
  const journal = new Journal();
  const hub = new Hub(library, journal, new Board(new Cards({ library, env, guess: false })));
  const waterfall = new SpanSet();
  waterfall.apply(hub.spansSince(key, undefined));
  await hub.join({ threads: true, trees: [key], events: [], logs: [key], cards: true, spans: [key] });
  const append = async () => {
    load.write(1, 1);
    await hub.changed(await library.refreshPaths([path]));
  };
  return { library, hub, journal, key, append, waterfall, store };
}

/** Counts SQL statements and the rows that they return. */
function countStatements() {
  const counts = { statements: 0, rows: 0 };
  for (const name of ["get", "all", "run"] as const) {
    const original = StatementSync.prototype[name] as (...args: unknown[]) => unknown;
    vi.spyOn(StatementSync.prototype, name).mockImplementation(function (this: StatementSync, ...args: unknown[]) {
      const result = original.apply(this, args);
      counts.statements += 1;
      counts.rows += Array.isArray(result) ? result.length : 1;
      return result as never;
    });
  }
  const exec = DatabaseSync.prototype.exec;
  vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function (this: DatabaseSync, text: string) {
    counts.statements += 1;
    exec.call(this, text);
  });
  return counts;
}

const APPENDS = 24;

/** The work of some appends, without the first ones, which fill caches. */
async function workOf(records: number) {
  const { library, hub, journal, append, store } = await followed(records);
  for (let i = 0; i < 3; i += 1) await append();
  const { position } = journal;
  const [files, bytes, lines, computed, sent] = [
    library.counts.files,
    library.counts.bytes,
    library.counts.lines,
    hub.spans.work.computed,
    hub.spans.work.sent,
  ];
  const { statements, rows } = await (async () => {
    const counts = countStatements();
    for (let i = 0; i < APPENDS; i += 1) await append();
    return counts;
  })();
  vi.restoreAllMocks();
  const changes = journal.since(position).map(({ type }) => type);
  const found = {
    statements: statements / APPENDS,
    rows: rows / APPENDS,
    files: (library.counts.files - files) / APPENDS,
    bytes: (library.counts.bytes - bytes) / APPENDS,
    lines: (library.counts.lines - lines) / APPENDS,
    spansComputed: (hub.spans.work.computed - computed) / APPENDS,
    spansSent: (hub.spans.work.sent - sent) / APPENDS,
    events: changes.filter((type) => type === "event").length / APPENDS,
    spans: changes.filter((type) => type === "spans").length / APPENDS,
  };
  store.close();
  return found;
}

describe("an appended record", { timeout: 60_000 }, () => {
  it("takes the same statements, reads and messages in a thread of 8,000 records as in one of 500", async () => {
    const [small, large] = [await workOf(500), await workOf(8_000)];
    expect(small.files).toBe(1);
    expect(small.lines).toBe(1);
    expect(small.events).toBe(1);
    expect(small.spans).toBeLessThanOrEqual(1);
    expect(small.statements).toBeGreaterThan(10);
    expect(small.statements).toBeLessThan(50);
    expect(large.statements).toBeLessThanOrEqual(small.statements + 1);
    expect(large.rows).toBeLessThanOrEqual(small.rows + 1);
    expect(large.bytes).toBeLessThan(1.1 * small.bytes);
    // Responses are closed several at a time, so it depends on where in the thread the appends are.
    expect(large.spansComputed).toBeLessThanOrEqual(small.spansComputed + 1);
    const roughly = { statements: 0, rows: 0, bytes: 0, spansComputed: 0 };
    expect({ ...large, ...roughly }).toEqual({ ...small, ...roughly });
  });

  it("changes the waterfall of a client by the stream alone", async () => {
    const { hub, journal, key, append, waterfall, store } = await followed(40);
    for (let i = 0; i < 30; i += 1) {
      const { position } = journal;
      await append();
      for (const { type, data } of journal.since(position))
        if (type === "spans") expect(waterfall.applyChange(JSON.parse(data) as SpansChange)).toBe(true);
      const whole = new SpanSet();
      whole.apply(hub.spansSince(key, undefined));
      expect([...spansIn(waterfall)]).toEqual([...spansIn(whole)]);
      expect(waterfall.next).toBe(whole.next);
    }
    store.close();
  });

  it("of a client that missed a message makes it request the changes", async () => {
    const { hub, journal, key, append, waterfall, store } = await followed(40);
    for (let i = 0; i < 6; i += 1) await append();
    const { position } = journal;
    for (let i = 0; i < 3; i += 1) await append();
    const late = journal.since(position).filter(({ type }) => type === "spans");
    expect(late.map(({ data }) => waterfall.applyChange(JSON.parse(data) as SpansChange))).toEqual(
      late.map(() => false),
    );
    waterfall.apply(hub.spansSince(key, waterfall.next));
    const whole = new SpanSet();
    whole.apply(hub.spansSince(key, undefined));
    expect([...spansIn(waterfall)]).toEqual([...spansIn(whole)]);
    // Messages about what it knows by now change nothing.
    expect(late.map(({ data }) => waterfall.applyChange(JSON.parse(data) as SpansChange))).toEqual(
      late.map(() => true),
    );
    hub.spans.clear();
    await append();
    const [unknown] = journal.since(journal.position - 3).filter(({ type }) => type === "spans");
    expect(waterfall.applyChange(JSON.parse(unknown?.data ?? "null") as SpansChange)).toBe(false);
    store.close();
  });
});

const spansIn = (set: SpanSet) => set.of("claude://50a50a50-0000-4000-8000-000000000000").spans;

it("the status of running threads is checked without writing anything while it is the same", async () => {
  const home = mkdtempSync(join(scratch, "home-"));
  const folder = join(home, ".claude/projects/-p");
  mkdirSync(folder, { recursive: true });
  const sessionId = "11111111-2222-4333-8444-555555555555";
  const message = { role: "user", content: "begin" };
  const own = { uuid: "u1", parentUuid: null, sessionId, timestamp: new Date().toISOString(), version: "2.1.0" };
  writeFileSync(join(folder, `${sessionId}.jsonl`), `${JSON.stringify({ type: "user", ...own, message })}\n`);
  const store = await openSqliteStore(join(home, "index.sqlite"), "test");
  let later = 0;
  const now = () => Date.now() + later;
  const library = new Library({ env: homeEnv(home), store, price: () => null, now });
  await library.refresh();
  const written = vi.spyOn(StatementSync.prototype, "run");
  for (later of [1_000, 2_000, 3_000]) expect(await library.recheck()).toBe(true);
  expect(written).not.toHaveBeenCalled();
  // The statistics show how long it runs; not exactly, as long as it does.
  later = 60_000;
  expect(await library.recheck()).toBe(true);
  expect(written).toHaveBeenCalled();
  later = 23 * 3_600_000;
  expect(await library.recheck()).toBe(false);
  expect(library.store.roots({ under: library.under, limit: 1 })[0]?.settled).toBe(true);
  store.close();
});
