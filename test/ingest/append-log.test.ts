/** Appending to the log of a thread: a new line costs the same in a long thread as in a short one. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, it, vi } from "vitest";
import { Cards } from "../../src/app/cards/cards.ts";
import { readMachine } from "../../src/app/machine.ts";
import { EventReader } from "../../src/app/query/events.ts";
import { Board } from "../../src/server/board.ts";
import { Hub } from "../../src/server/hub.ts";
import { Journal } from "../../src/server/journal.ts";
import { homeEnv } from "../support/fixtures.ts";

const homes: string[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true });
});

const THREAD = "11111111-2222-4333-8444-555555555555";
const line = (i: number) => {
  const at = new Date(Date.UTC(2026, 0) + 1_000 * i).toISOString();
  const uuid = `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`;
  const common = {
    uuid,
    parentUuid: null,
    isSidechain: false,
    sessionId: THREAD,
    timestamp: at,
    cwd: "/work",
    version: "2.1.200",
  };
  const usage = { input_tokens: 3, output_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const text = `words ${String(i).padStart(6, "0")}`;
  return i % 2 === 0
    ? `${JSON.stringify({ type: "user", ...common, message: { role: "user", content: text } })}\n`
    : `${JSON.stringify({ type: "assistant", ...common, message: { id: `msg_${String(i).padStart(6, "0")}`, role: "assistant", model: "claude-opus-4-5", stop_reason: "end_turn", content: [{ type: "text", text }], usage } })}\n`;
};

/** A thread with this number of lines. */
async function threadOf(lines: number) {
  const home = mkdtempSync(join(tmpdir(), "retinue-append-"));
  homes.push(home);
  const folder = join(home, ".claude", "projects", "-work");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${THREAD}.jsonl`);
  writeFileSync(path, Array.from({ length: lines }, (_, i) => line(i)).join(""));
  const { library } = await readMachine({ env: homeEnv(home) });
  const [thread] = [...library.threadRows({})];
  const key = thread?.place.key;
  if (key === undefined) throw new Error("there is one thread");
  const journal = new Journal();
  const hub = new Hub(library, journal, new Board(new Cards({ library, env: homeEnv(home), guess: false })));
  return { path, library, key, journal, hub };
}

/** The cost of two more lines in a thread of this length, with a client that follows its log. */
async function costOf(lines: number) {
  const { path, library, key, journal, hub } = await threadOf(lines);
  const view = await hub.log(key, true);
  expect(view.length).toBeGreaterThanOrEqual(lines);
  const reader = new EventReader(library);
  await reader.next(library.forestOf([key]), [key]);
  const [read, { position }] = [{ ...reader.counts }, journal];
  appendFileSync(path, line(lines) + line(lines + 1));
  await hub.changed(await library.refreshPaths([path]));
  const events = await reader.next(library.forestOf([key]), [key]);
  const changes = journal.since(position);
  return {
    bytes: reader.counts.bytes - read.bytes,
    lines: reader.counts.lines - read.lines,
    events: events.map(({ kind }) => kind),
    changes: changes.map(({ type }) => type),
    chars: changes.reduce((sum, { data }) => sum + data.length, 0),
  };
}

it("an append reads and sends as much in a thread of 5,000 records as in one of 200", async () => {
  const [small, large] = [await costOf(200), await costOf(5_000)];
  expect(small.events).toEqual(["user", "assistant"]);
  expect({ ...large, chars: 0 }).toEqual({ ...small, chars: 0 });
  expect(Math.abs(large.chars - small.chars)).toBeLessThan(20);
  expect([small.lines, small.bytes]).toEqual([2, Buffer.byteLength(line(200) + line(201))]);
});

it("a log returns every event of a long thread, page by page and by id", async () => {
  const { library, key, hub } = await threadOf(700);
  const events = await new EventReader(library).next(library.forestOf([key]), [key]);
  const { log, length } = await hub.log(key, true);
  const pages = [];
  for (let from = 0; from < length; from += 90) pages.push(...(await log.page(from, 90)));
  expect(pages).toEqual(events);
  expect(await hub.event(key, events[5]?.id ?? "")).toEqual(events[5]);
  expect((await hub.logSpansIn([key])).get(key)).toEqual({
    events: 700,
    first: Date.parse(events[0]?.at ?? ""),
    last: Date.parse(events[699]?.at ?? ""),
  });
});

it("a log is dropped with the journal when no client has followed it for a while", async () => {
  const { path, library, key, journal, hub } = await threadOf(10);
  const { leave } = await hub.join({ threads: true, trees: [key], events: [], logs: [key], cards: false, spans: [] });
  appendFileSync(path, line(10) + line(11));
  await hub.changed(await library.refreshPaths([path]));
  const release = async () => {
    hub.release();
    await turn();
  };
  await release();
  expect(journal.since(0).length).toBeGreaterThan(2);
  leave();
  await release();
  expect(journal.since(0).length).toBeGreaterThan(2);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 180_000 });
  try {
    await release();
  } finally {
    vi.useRealTimers();
  }
  expect(journal.since(0)).toEqual([]);
  expect(journal.floor).toBe(journal.position);
});
