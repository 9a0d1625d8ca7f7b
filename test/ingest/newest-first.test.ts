/**
 * The first sync reads what the first page needs before the rest, and that page equals the one after reading
 * everything.
 */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HomeStats, writeHome } from "../../scripts/bench/home.ts";
import { groupsOf } from "../../src/app/ingest/groups.ts";
import { Library, type LibraryOptions } from "../../src/app/ingest/library.ts";
import { live } from "../../src/app/live/live.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { noReads } from "../../src/transports/files.ts";
import { caseNames, filesBelow, recordedHome } from "../support/fixtures.ts";
import { LiveReader, startServer, until } from "../support/server.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-newest-"));
const home = join(scratch, "home");
const FREE = { price: () => null, now: () => Date.parse("2027-01-01"), liveness: () => "gone" as const };
let written: HomeStats;
const stampsBelow = (folder: string) =>
  filesBelow(folder).map((name) => {
    const { size, mtimeMs } = statSync(join(folder, name));
    return { path: join(folder, name), size, modifiedMs: mtimeMs };
  });
let files: ReturnType<typeof stampsBelow> = [];
beforeAll(() => {
  written = writeHome(join(home, ".claude"), { bytes: 6 << 20, seed: 18, sessions: 150 });
  files = stampsBelow(home);
});
afterAll(() => rmSync(scratch, { recursive: true }));

const stores: Record<string, () => Promise<Store>> = {
  memory: async () => new MemoryStore(),
  sqlite: () => openSqliteStore(join(mkdtempSync(join(scratch, "data-")), "index.sqlite"), "test"),
};
const openIn = (where: string, store: Store, more: Partial<LibraryOptions> = {}) =>
  new Library({ env: { HOME: where, RETINUE_HOME: join(scratch, "none") }, store, ...FREE, ...more });
const open = (store: Store) => openIn(home, store);
const sums = (library: Library) =>
  library.store.spent(library.under, null).reduce((sum, { usage }) => sum + usage.outputTokens, 0);

describe.each(Object.entries(stores))("a home of 150 threads, %s store", (name, make) => {
  it("a page reads hardly more than its own files, and equals the page after reading everything", async () => {
    const [store, other] = [await make(), await make()];
    const [library, whole] = [open(store), open(other)];
    await whole.refresh();
    await library.refresh({ limit: 20 });
    const page = [...library.threads({ limit: 20 })];
    expect(page).toHaveLength(20);
    expect(page).toEqual([...whole.threads({ limit: 20 })]);
    const groups = groupsOf(files.map((file) => ({ ...file, isFleeting: false, isRecorded: false, together: null })));
    const newest = groups.slice(0, 30);
    const allowed = newest.reduce((sum, group) => sum + group.bytes + 200 * group.files.length, 0);
    expect(library.counts.bytes).toBeLessThanOrEqual(allowed);
    expect(library.counts.files).toBeLessThanOrEqual(newest.reduce((sum, group) => sum + group.files.length, 0));
    expect(library.counts.files).toBeLessThan(files.length / 3);
    const { reading } = library;
    expect(reading).toMatchObject({
      done: library.counts.files,
      all: files.length,
      allBytes: files.reduce((sum, { size }) => sum + size, 0),
    });
    expect(reading?.reachesMs).toBeLessThanOrEqual(Date.parse(page.at(-1)?.lastActivityAt ?? ""));
    for (const s of [store, other]) s.close();
  });

  it("the next sync reads the rest once, and then the sums are complete", async () => {
    const store = await make();
    const first = open(store);
    await first.refresh({ limit: 50 });
    expect(sums(first)).toBeLessThan(written.outputTokens);
    const second = open(store);
    await second.refresh();
    expect(second.reading).toBeNull();
    expect(first.counts.lines + second.counts.lines).toBe(
      files.filter(({ path }) => path.endsWith(".jsonl")).reduce((sum, { path }) => sum + lines(path), 0),
    );
    expect(first.counts.files + second.counts.files).toBe(files.length);
    expect(sums(second)).toBe(written.outputTokens);
    const third = open(store);
    await third.refresh({ limit: 50 });
    expect(third.counts).toEqual(noReads());
    expect(third.reading).toBeNull();
    store.close();
  });

  it("the rest can be read in pieces, newest first, with a correct page at all times", async () => {
    const store = await make();
    const library = open(store);
    await library.refresh({ limit: 20 });
    const page = [...library.threads({ limit: 20 })];
    let before = library.reading?.reachesMs ?? 0;
    let steps = 0;
    for (; library.reading !== null; steps += 1) {
      await library.catchUp();
      expect(library.reading?.reachesMs ?? 0).toBeLessThanOrEqual(before);
      before = library.reading?.reachesMs ?? 0;
      if (steps % 4 === 0 || name === "sqlite") expect([...library.threads({ limit: 20 })]).toEqual(page);
    }
    expect(steps).toBeGreaterThan(5);
    expect(sums(library)).toBe(written.outputTokens);
    const again = open(store);
    await again.refresh();
    expect(again.counts).toEqual(noReads());
    store.close();
  });
});

describe("while a client is connected", () => {
  it("the newest threads are shown at once, the rest is read when idle, and new records are reported first", {
    timeout: 60_000,
  }, async () => {
    const where = join(scratch, "watched");
    cpSync(home, where, { recursive: true, preserveTimestamps: true });
    const store = await stores.sqlite?.();
    if (store === undefined) throw new Error("no store");
    const library = openIn(where, store);
    const stop = new AbortController();
    let [rounds, reports, page] = [0, 0, null as unknown];
    const appended = join(where, written.newest.path.slice(home.length));
    for await (const { threads } of live(library, { signal: stop.signal })) {
      if (rounds === 0) {
        page = [...library.threads({ limit: 50 })].map((record) => record.uri);
        expect(library.reading).not.toBeNull();
        appendFileSync(
          appended,
          `${readFileSync(appended, "utf8")
            .trimEnd()
            .split("\n")
            .at(-1)
            ?.replace(/"uuid":"[^"]*"/, '"uuid":"one-more-record-of-this-thread"')}\n`,
        );
      } else if ([...threads].some((thread) => thread.includes(written.newest.id)) && library.reading !== null)
        reports += 1;
      rounds += 1;
      if (library.reading === null) stop.abort();
    }
    expect(reports).toBeGreaterThan(0);
    expect([...library.threads({ limit: 50 })].map((record) => record.uri)).toEqual(page);
    expect(sums(library)).toBe(written.outputTokens);
    store.close();
  });

  it("the server responds, and marks incomplete results until everything is read", { timeout: 240_000 }, async () => {
    // Many files, so that reading takes many rounds, with requests served between them.
    const large = join(scratch, "large");
    const written = writeHome(join(large, ".claude"), { bytes: 24 << 20, seed: 18, sessions: 1_000 });
    const files = stampsBelow(large);
    const server = await startServer(large);
    const reader = new LiveReader(new URL("/api/live?threads=true", server.url));
    type Far = {
      readonly done: number;
      readonly all: number;
      readonly bytes: number;
      readonly allBytes: number;
      readonly reaches: string;
    } | null;
    const oldest =
      groupsOf(files.map((file) => ({ ...file, isFleeting: false, isRecorded: false, together: null }))).at(-1)
        ?.files[0]?.path ?? "";
    // At once, so that all of them are answered while the server reads.
    const [health, partial, { items }, unread] = await Promise.all([
      server.json<{ reading: Far }>("/api/health"),
      server.json<{ incomplete: Far; total: { usage: { outputTokens: number } } }>("/api/stats"),
      server.json<{ items: { uri: string }[] }>("/api/threads?limit=50"),
      server.json<unknown>(`/api/agents/${encodeURIComponent(`claude://${basename(oldest, ".jsonl")}`)}`),
    ]);
    expect(health.reading?.done).toBeLessThan(health.reading?.all ?? 0);
    expect(partial.incomplete?.all).toBe(health.reading?.all);
    expect(partial.total.usage.outputTokens).toBeLessThan(written.outputTokens);
    expect(items).toHaveLength(50);
    expect(JSON.stringify(unread)).toContain("not everything was read yet");
    await until(async () => (await server.json<{ reading: Far }>("/api/health")).reading === null);
    await until(() => reader.of("reset").length > 0);
    const whole = await server.json<{ incomplete: Far; total: { usage: { outputTokens: number } } }>("/api/stats");
    expect(whole).toMatchObject({ incomplete: null, total: { usage: { outputTokens: written.outputTokens } } });
    expect(
      (await server.json<{ items: { uri: string }[] }>("/api/threads?limit=50")).items.map((one) => one.uri),
    ).toEqual(items.map((one) => one.uri));
    await reader.cut();
    await server.close();
  });
});

const lines = (path: string) => readFileSync(path, "utf8").split("\n").length - 1;

describe("every recording", () => {
  const all = join(scratch, "all");
  let whole: Library;
  beforeAll(async () => {
    for (const provider of ["claude", "codex", "opencode", "copilot", "gemini", "pi"])
      for (const name of caseNames(provider)) cpSync(recordedHome(provider, name).home, all, { recursive: true });
    for (const name of filesBelow(all)) {
      const path = join(all, name);
      const seconds = lastTime(readFileSync(path)) / 1_000;
      if (seconds > 0) utimesSync(path, seconds, seconds);
    }
    whole = openIn(all, new MemoryStore());
    await whole.refresh();
  });

  it.each([1, 10, 60])(
    "is correct on a page of %i threads, with everything that belongs to it",
    { timeout: 60_000 },
    async (limit) => {
      const store = await stores.sqlite?.();
      if (store === undefined) throw new Error("no store");
      const library = openIn(all, store, { littleBytes: 1 });
      await library.refresh({ limit });
      expect(library.reading).not.toBeNull();
      expect([...library.threads({ limit })]).toEqual([...whole.threads({ limit })]);
      store.close();
    },
  );

  /** The time of the newest record, which is when the product last wrote. */
  function lastTime(bytes: Buffer): number {
    const times = bytes.toString("latin1").match(/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g) ?? [];
    return times.reduce((last, time) => Math.max(last, Date.parse(time) || 0), 0);
  }
});

describe("a page may need older files", () => {
  const time = (minute: number) => new Date(Date.parse("2026-10-01T00:00:00Z") + minute * 60_000);
  const session = (n: number) => `11111111-2222-4333-8444-${String(n).padStart(12, "0")}`;
  const record = (n: number, uuid: string, minute: number, more: object = {}) =>
    `${JSON.stringify({ type: "user", uuid: `${uuid}-a-name-that-is-long-enough`, sessionId: session(n), timestamp: time(minute).toISOString(), isSidechain: false, message: { role: "user", content: uuid }, ...more })}\n`;
  const answer = (n: number, uuid: string, minute: number) =>
    record(n, uuid, minute, {
      type: "assistant",
      requestId: `req_${uuid}_long_enough_for_one`,
      message: {
        id: `msg_${uuid}_long_enough_for_one`,
        role: "assistant",
        model: "claude-opus-5-5",
        stop_reason: "end_turn",
        content: [{ type: "text", text: uuid }],
        usage: { input_tokens: 1, output_tokens: 7 },
      },
    });

  function write(where: string, path: string, text: string, minute: number) {
    mkdirSync(dirname(join(where, path)), { recursive: true });
    appendFileSync(join(where, path), text);
    utimesSync(join(where, path), time(minute), time(minute));
  }

  it("a copy of an old thread does not count the copied records, although it does not name the old one", async () => {
    const where = join(scratch, "copied");
    const file = (n: number) => `.claude/projects/-home-dev/${session(n)}.jsonl`;
    for (let n = 10; n < 60; n += 1)
      write(where, file(n), record(n, `u${n}`, n) + record(n, `own${n}`, n) + answer(n, `a${n}`, n + 1), n + 1);
    const history = record(10, "u10", 10) + answer(10, "a10", 11);
    write(
      where,
      file(99),
      history.replaceAll(session(10), session(99)) + record(99, "new", 100) + answer(99, "new-answer", 100),
      100,
    );
    const [store, other] = [await stores.sqlite?.(), await stores.sqlite?.()];
    if (store === undefined || other === undefined) throw new Error("no store");
    const [library, whole] = [openIn(where, store, { littleBytes: 1 }), openIn(where, other)];
    await library.refresh({ limit: 1 });
    await whole.refresh();
    expect([...library.threads({ limit: 1 })]).toEqual([...whole.threads({ limit: 1 })]);
    expect([...library.threads({ limit: 1 })]).toMatchObject([
      { sessionId: session(99), usage: { own: { outputTokens: 7 } } },
    ]);
    other.close();
    store.close();
  });

  it("files of threads that are not on the page are not read", async () => {
    const where = join(scratch, "apart");
    for (let n = 10; n < 60; n += 1)
      write(where, `.claude/projects/-home-${n}/${session(n)}.jsonl`, record(n, `u${n}`, n), n);
    writeFileSync(join(where, ".claude/settings.json"), "{}");
    const store = await stores.sqlite?.();
    if (store === undefined) throw new Error("no store");
    const library = openIn(where, store, { littleBytes: 1 });
    await library.refresh({ limit: 5 });
    expect(library.counts.files).toBeLessThanOrEqual(7);
    expect([...library.threads({ limit: 5 })].map((one) => one.sessionId)).toEqual([59, 58, 57, 56, 55].map(session));
    store.close();
  });
});
