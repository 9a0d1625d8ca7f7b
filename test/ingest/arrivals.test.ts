/** Many or large transcripts that appear while retinue runs: a restored home, a mount, a copy of a folder. */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Library } from "../../src/app/ingest/library.ts";
import { live } from "../../src/app/live/live.ts";
import { Troubles } from "../../src/app/live/troubles.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { mainWriter } from "../support/claude-records.ts";

const MANY = 1_500;
/** More than is read at once. */
const LARGE = 400 << 20;

let scratch = "";
let library: Library;
beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-arrivals-"));
  mkdirSync(join(scratch, ".claude/projects"), { recursive: true });
  const env = { HOME: scratch, RETINUE_HOME: join(scratch, "data") };
  const store = await openSqliteStore(join(scratch, "data/index.sqlite"), "test");
  library = new Library({ env, store, price: () => null, littleBytes: 0 });
  await library.refresh();
});
afterEach(() => {
  library.close();
  rmSync(scratch, { recursive: true });
});

const session = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
let records = 0;
function record(n: number): string {
  records += 1;
  return `${JSON.stringify({ ...mainWriter().user(`Do ${n}.`), uuid: session(1e9 + records), sessionId: session(n) })}\n`;
}

/** Transcripts of new threads in a folder. */
function threads(folder: string, numbers: readonly number[]): string[] {
  mkdirSync(folder, { recursive: true });
  return numbers.map((n) => {
    const path = join(folder, `${session(n)}.jsonl`);
    writeFileSync(path, record(n));
    return path;
  });
}

const project = (name: string) => join(scratch, ".claude/projects", name);
const known = () => new Set(Array.from(library.threads({}), ({ sessionId }) => sessionId));
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

it("of many new files a limited number is read at once; files that grow and other folders do not wait for them", async () => {
  const [growing = ""] = threads(project("grows"), [MANY + 1]);
  await library.refreshChanged([growing]);
  const copied = threads(project("copied"), numbers(MANY));
  const [other = ""] = threads(project("other"), [MANY + 2]);
  // The copies are newer.
  utimesSync(other, 1_000, 1_000);
  appendFileSync(growing, record(MANY + 1));
  const before = library.counts.files;
  const { files } = await library.refreshChanged([...copied, other, growing]);
  expect(library.counts.files - before).toBeLessThan(250);
  expect([...files.keys()]).toEqual(expect.arrayContaining([growing, other]));
  expect(known()).toContain(session(MANY + 2));
  expect(library.reading).toMatchObject({ all: MANY + 1 - files.size + 1 });

  // What appears later does not wait for them either.
  const [late = ""] = threads(project("late"), [MANY + 3]);
  await library.refreshChanged([late]);
  expect(known()).toContain(session(MANY + 3));

  let most = 0;
  for (let portions = 0; library.reading !== null && portions < MANY; portions += 1) {
    const read = library.counts.files;
    await library.catchUp();
    most = Math.max(most, library.counts.files - read);
  }
  expect(most).toBeLessThanOrEqual(100);
  expect(known().size).toBe(MANY + 3);
  // Each was opened once, and the one that grew twice.
  expect(library.counts.files).toBe(MANY + 4);
});

it("folders are read in turn, so that an old file of one is not behind all newer ones of another", async () => {
  const copied = threads(project("copied"), numbers(MANY));
  await library.refreshChanged(copied);
  // It was written before, and its notification was lost.
  const [lost = ""] = threads(project("lost"), [MANY + 1]);
  utimesSync(lost, 1_000, 1_000);
  await library.findMore();
  for (let portions = 0; portions < 4; portions += 1) await library.catchUp();
  expect(known()).toContain(session(MANY + 1));
  expect(known().size).toBeLessThan(MANY / 2);
});

it("a large file is read in slices, and a line without an end is not read again", async () => {
  const [large = ""] = threads(project("large"), [1]);
  truncateSync(large, LARGE);
  const others = threads(
    project("other"),
    numbers(5).map((n) => n + 1),
  );
  await library.refreshChanged([large, ...others]);
  expect(known().size).toBe(5);
  expect(library.counts.bytes).toBeLessThan(LARGE / 4);
  while (library.reading !== null) {
    const before = library.counts.bytes;
    await library.catchUp();
    expect(library.counts.bytes - before).toBeLessThan(LARGE / 4);
  }
  expect(library.counts.bytes).toBeLessThan(LARGE * 1.01);
  // The line ends, and a record follows.
  const before = library.counts.bytes;
  appendFileSync(large, `\n${record(1)}`);
  await library.refreshChanged([large]);
  expect(library.counts.bytes - before).toBeLessThan(1 << 20);
  expect(library.problems).toEqual([]);
  expect([...library.threads({})].find(({ sessionId }) => sessionId === session(1))?.counts.messages).toBe(2);
});

it("while they are read, a trouble says so, and new threads appear", { timeout: 120_000 }, async () => {
  const troubles = new Troubles();
  const stop = new AbortController();
  const staged = join(scratch, "staged");
  for (let folder = 0; folder < 10; folder += 1)
    threads(
      join(staged, `p${folder}`),
      numbers(MANY / 10).map((n) => folder * MANY + n),
    );
  let [wasTrouble, wasEarly] = [false, false];
  const reported = live(library, {
    signal: stop.signal,
    troubles,
    onWatching: () => {
      for (let folder = 0; folder < 10; folder += 1) renameSync(join(staged, `p${folder}`), project(`p${folder}`));
      threads(project("live"), [MANY * MANY]);
    },
  });
  for await (const _ of reported) {
    wasTrouble ||= troubles.list.some(({ code }) => code === "catching-up");
    wasEarly ||= known().has(session(MANY * MANY)) && known().size < MANY;
    if (known().size === MANY + 1 && library.reading === null && troubles.list.length === 0) stop.abort();
  }
  expect([wasTrouble, wasEarly]).toEqual([true, true]);
});
