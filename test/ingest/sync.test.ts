/** The index follows the disk: it reads what is new, once, and the result equals reading everything at once. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { seeded } from "../../scripts/bench/random.ts";
import { Library } from "../../src/app/ingest/library.ts";
import { readMachine } from "../../src/app/machine.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { noReads } from "../../src/transports/files.ts";
import { MUTATIONS } from "../support/bad-input/mutations.ts";
import { caseNames, filesBelow, recordedHome } from "../support/fixtures.ts";
import { needsPosix } from "../support/needs.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-sync-"));
afterAll(() => rmSync(scratch, { recursive: true }));
const NOW = Date.parse("2027-01-01");
const FREE = { price: () => null, now: () => NOW, liveness: () => "gone" as const };

let home = "";
let data = "";
let made = 0;
beforeEach(() => {
  made += 1;
  home = join(scratch, `home-${made}`);
  data = join(scratch, `data-${made}`);
});

const env = () => ({ HOME: home, RETINUE_HOME: data });
const openStore = (): Promise<Store> => openSqliteStore(join(data, "index.sqlite"), "test");

async function refreshed(store: Store): Promise<Library> {
  const library = new Library({ env: env(), store, ...FREE });
  await library.refresh();
  return library;
}

/** All trees as plain data. */
function treesOf(library: Library): unknown {
  const keys = library.store.roots({ under: library.under, limit: 1_000 }).map((r) => r.key);
  const forest = library.forestOf(keys);
  return forest.roots.map((key) => treeOf(forest, key, FREE.price));
}

async function treesAtOnce(): Promise<unknown> {
  const { forest } = await readMachine({ env: env(), now: FREE.now, liveness: FREE.liveness });
  return forest.roots.map((key) => treeOf(forest, key, FREE.price));
}

function copyCase(name: string): string[] {
  cpSync(recordedHome("claude", name).home, home, { recursive: true });
  return filesBelow(home).map((file) => join(home, file));
}

const transcript = () =>
  filesBelow(home)
    .map((f) => join(home, f))
    .find((f) => /[0-9a-f-]{36}\.jsonl$/.test(f)) as string;
const LINE = (text: string, n = 1) =>
  `${JSON.stringify({ type: "user", uuid: `00000000-0000-4000-8000-00000000000${n}`, isSidechain: false, timestamp: "2026-11-15T23:00:00.000Z", message: { role: "user", content: text } })}\n`;

describe("work is proportional to what is new", () => {
  it("a second sync opens no file and reads no byte", async () => {
    copyCase("c3-nested-parallel");
    const store = await openStore();
    await refreshed(store);
    const second = await refreshed(store);
    expect(second.counts).toEqual(noReads());
    store.close();
  });

  it("an appended line costs its own bytes, and a check of the bytes before it", async () => {
    copyCase("c3-nested-parallel");
    const store = await openStore();
    await refreshed(store);
    const line = LINE("one more");
    appendFileSync(transcript(), line);
    const { counts } = await refreshed(store);
    expect({ files: counts.files, lines: counts.lines }).toEqual({ files: 1, lines: 1 });
    expect(counts.bytes).toBeLessThanOrEqual(line.length + 2 * 96);
    store.close();
  });

  it("a thread that did not change is not linked again", async () => {
    copyCase("h2-forks");
    copyCase("a-single");
    const store = await openStore();
    await refreshed(store);
    appendFileSync(
      filesBelow(home)
        .map((f) => join(home, f))
        .find((f) => f.includes("a-single") && /[0-9a-f-]{36}\.jsonl$/.test(f)) as string,
      LINE("x"),
    );
    const library = new Library({ env: env(), store, ...FREE });
    const projected: string[][] = [];
    const project = store.project.bind(store);
    store.project = (p) => {
      projected.push([...p.versions.keys()]);
      return project(p);
    };
    await library.refresh();
    expect(projected.map((threads) => threads.length)).toEqual([1]);
    store.close();
  });
});

describe("changes of files", () => {
  const stores: Record<string, () => Promise<Store>> = { memory: async () => new MemoryStore(), sqlite: openStore };
  for (const [name, open] of Object.entries(stores)) {
    const changed = async (change: (file: string, library: Library) => void | Promise<void>) => {
      copyCase("b-parallel3");
      const store = await open();
      await change(transcript(), await refreshed(store));
      const library = await refreshed(store);
      const result = { now: treesOf(library), atOnce: await treesAtOnce(), library };
      return { ...result, close: () => store.close() };
    };

    it.each([
      ["is truncated", (file: string) => truncateSync(file, Math.floor(statSync(file).size / 2))],
      [
        "is replaced by another file",
        (file: string) => {
          writeFileSync(`${file}.new`, readFileSync(file, "utf8").split("\n").slice(3).join("\n"));
          renameSync(`${file}.new`, file);
        },
      ],
      [
        "is rewritten in place and grows",
        (file: string) =>
          writeFileSync(file, LINE("another story") + LINE("and more of it", 2) + readFileSync(file, "utf8")),
      ],
      ["is touched without a change", (file: string) => utimesSync(file, new Date(), new Date())],
      ["is emptied", (file: string) => writeFileSync(file, "")],
    ])(`${name}: a transcript that %s`, async (_what, change) => {
      const { now, atOnce, close } = await changed(change);
      expect(now).toEqual(atOnce);
      close();
    });

    it(`${name}: a half-written line is read once, when it is complete`, async () => {
      const line = LINE("in two halves");
      const { now, atOnce, library, close } = await changed(async (file, first) => {
        appendFileSync(file, line.slice(0, 40));
        await first.refresh();
        expect(first.unfinished().map((p) => p.detail)).toEqual(["40 bytes"]);
        appendFileSync(file, line.slice(40));
      });
      expect(now).toEqual(atOnce);
      expect(library.unfinished()).toEqual([]);
      close();
    });

    it(`${name}: a last line without a newline counts at once, and later lines keep their numbers`, async () => {
      const { now, atOnce, close } = await changed(async (file, first) => {
        appendFileSync(file, LINE("no newline yet").trimEnd());
        await first.refresh();
        expect(first.unfinished()).toEqual([]);
        appendFileSync(file, `\n${LINE("the next", 2)}{broken\n`);
      });
      expect(now).toEqual(atOnce);
      close();
    });

    it(`${name}: a deleted transcript stays known as deleted, and is read again if it reappears`, async () => {
      copyCase("b-parallel3");
      const file = transcript();
      const store = await open();
      await refreshed(store);
      const before = treesOf(await refreshed(store)) as { warnings: string[]; usage: unknown }[];
      renameSync(file, `${scratch}/away-${made}`);
      const gone = treesOf(await refreshed(store)) as { warnings: string[]; usage: unknown }[];
      expect(gone[0]?.usage).toEqual(before[0]?.usage);
      expect(gone[0]?.warnings).toEqual(["its transcript was deleted; this is its content before"]);
      renameSync(`${scratch}/away-${made}`, file);
      expect(treesOf(await refreshed(store))).toEqual(before);
      store.close();
    });

    it(`${name}: a deleted process file is no longer evidence`, async () => {
      copyCase("f-killed");
      rmSync(join(home, ".claude", "projects"), { recursive: true });
      cpSync(join(recordedHome("claude", "f-killed").home, "../home-at-kill/.claude"), join(home, ".claude"), {
        recursive: true,
      });
      const store = await open();
      const statusOf = async (liveness: "alive" | "gone") => {
        const library = new Library({ env: env(), store, ...FREE, liveness: () => liveness });
        await library.refresh();
        return [...library.threads({})].map((r) => r.status);
      };
      expect(await statusOf("alive")).toEqual(["running"]);
      rmSync(join(home, ".claude", "sessions"), { recursive: true });
      expect(await statusOf("alive")).toEqual(["shutdown"]);
      store.close();
    });
  }
});

describe("reading in pieces equals reading at once", () => {
  const cases = caseNames("claude").filter((_, i) => i % 4 === 0);
  async function grow() {
    const whole = new Map(filesBelow(home).map((file) => [file, readFileSync(join(home, file))]));
    rmSync(home, { recursive: true });
    const store = await openStore();
    // Every file in three uneven pieces, files taking turns, so that children arrive before parents and lines are cut
    // anywhere.
    for (const share of [0.37, 0.71, 1]) {
      for (const [file, bytes] of [...whole].reverse()) {
        const path = join(home, file);
        mkdirSync(dirname(path), { recursive: true });
        const known = existsSync(path) ? statSync(path).size : 0;
        if (file.endsWith(".jsonl")) appendFileSync(path, bytes.subarray(known, Math.ceil(bytes.length * share)));
        else if (share > 0.5) writeFileSync(path, bytes);
      }
      await refreshed(store);
    }
    expect(treesOf(await refreshed(store))).toEqual(await treesAtOnce());
    store.close();
  }

  it.each(cases)("%s, growing in pieces", async (name) => {
    copyCase(name);
    await grow();
  });

  it.each(MUTATIONS)("growing in pieces with $name", async ({ files, change }) => {
    const random = seeded(7);
    for (const path of copyCase("c-nested").filter((file) => files.test(file)))
      writeFileSync(path, change(readFileSync(path), random));
    await grow();
  });
});

describe("a file that takes several transactions", () => {
  it("is read to its end by the next process if the first one ends between two transactions", async () => {
    copyCase("a-single");
    const path = transcript();
    const text = "x".repeat(40_000);
    for (let i = 0; i < 500; i += 1)
      appendFileSync(path, LINE(text).replace("-000000000001", `-${String(i).padStart(12, "0")}`));
    const first = await openStore();
    let writes = 0;
    const commit = first.commit.bind(first);
    first.commit = (batches) => {
      writes += 1;
      if (writes > 1) throw new Error("the process ends here");
      return commit(batches);
    };
    await expect(refreshed(first)).rejects.toThrow("the process ends here");
    first.close();
    const second = await openStore();
    expect(treesOf(await refreshed(second))).toEqual(await treesAtOnce());
    second.close();
  });
});

describe("an entry that is not a regular file", () => {
  it("is reported and never blocks, whether it exists from the start or replaces a file", async (context) => {
    needsPosix("pipes among files")(context);
    const files = copyCase("a-single");
    const transcript = files.find((file) => file.endsWith(".jsonl") && !file.includes("subagents")) ?? "";
    const folder = dirname(transcript);
    const store = await openStore();
    const trees = treesOf(await refreshed(store));
    const name = (letter: string) => join(folder, `${letter.repeat(8)}-0000-4000-8000-000000000000.jsonl`);
    execFileSync("mkfifo", [name("a")]);
    symlinkSync("nowhere", name("b"));
    symlinkSync(transcript, name("c"));
    mkdirSync(name("d"));
    writeFileSync(name("e"), "");
    const library = await refreshed(store);
    await library.refreshPaths([name("a"), name("b"), name("c"), name("d")]);
    expect(treesOf(library)).toEqual(trees);
    expect([...library.problems, ...library.unfinished()].map((p) => [p.code, p.where, p.detail]).sort()).toEqual([
      ["file-empty", name("e"), "0 bytes"],
      ["file-unreadable", name("a"), "it is a pipe, not a file"],
      ["file-unreadable", name("d"), "it is a folder, not a file"],
      ["link-not-followed", name("b"), "a link"],
      ["link-not-followed", name("c"), "a link"],
    ]);
    rmSync(transcript);
    execFileSync("mkfifo", [transcript]);
    await library.refreshPaths([transcript]);
    await library.refresh();
    expect(library.source(transcript)).toBeUndefined();
    store.close();
  });

  it("that links to another configuration's folder is walked once, under the first name", async () => {
    const files = copyCase("a-single");
    const [first, second] = [join(home, ".claude"), join(home, "other")];
    mkdirSync(second);
    symlinkSync(join(first, "projects"), join(second, "projects"));
    const store = await openStore();
    const library = new Library({ env: env(), store, ...FREE, roots: new Map([["claude", [first, second]]]) });
    await library.refresh();
    const again = files.filter((file) => file.includes("/projects/")).map((file) => file.replace(first, second));
    await library.refreshPaths(again);
    const roots = library.roots.filter((root) => root.path === first || root.path === second);
    expect(roots.map((root) => [root.path, root.folders.includes("projects")])).toEqual([
      [first, true],
      [second, false],
    ]);
    expect(again.map((path) => library.source(path))).toEqual(again.map(() => undefined));
    store.close();
  });
});

describe("a file that contains only junk", () => {
  it("is reported in one short line with the full count", async () => {
    const [transcript = ""] = copyCase("a-single").filter((file) => file.endsWith(".jsonl"));
    writeFileSync(transcript, "{junk\n".repeat(20_000));
    for (const store of [await openStore(), new MemoryStore()]) {
      await refreshed(store);
      const problem = store.problems(1_000).find((p) => p.code === "line-not-json");
      expect([problem?.count, problem?.examples.length]).toEqual([20_000, 101]);
      store.close();
    }
  });
});

describe("the index itself", () => {
  it("keeps different root folders apart", async () => {
    copyCase("a-single");
    const store = await openStore();
    const first = treesOf(await refreshed(store));
    const one = home;
    home = join(scratch, `other-${made}`);
    copyCase("d-background");
    const second = treesOf(await refreshed(store));
    expect(second).toEqual(await treesAtOnce());
    home = one;
    const again = await refreshed(store);
    expect(treesOf(again)).toEqual(first);
    expect(again.counts.files).toBe(0);
    store.close();
  });

  it("does not change the watched folders", async () => {
    const files = copyCase("n-workflow");
    const stamps = () => files.map((f) => [f, statSync(f).mtimeMs, statSync(f).size]);
    const before = stamps();
    const store = await openStore();
    await refreshed(store);
    store.close();
    expect(stamps()).toEqual(before);
    expect(readdirSync(join(home, ".claude"))).toEqual(
      readdirSync(join(recordedHome("claude", "n-workflow").home, ".claude")),
    );
  });
});
