/** OpenCode's database while it grows, if it is damaged, and in the schemas of other versions. */
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as sqlite from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { importFile } from "../../src/app/import/import.ts";
import { Library } from "../../src/app/ingest/library.ts";
import { readMachine } from "../../src/app/machine.ts";
import { search } from "../../src/app/query/search.ts";
import { threadKey } from "../../src/core/facts/ids.ts";
import type { Store } from "../../src/core/ports/store.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { planFor } from "../../src/providers/kit/opencode/plan.ts";
import { provider as opencode } from "../../src/providers/opencode/provider.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { ProductDatabase } from "../../src/transports/database.ts";
import { noReads } from "../../src/transports/files.ts";
import { caseNames, FIXTURES, filesBelow, recordedHome } from "../support/fixtures.ts";
import { databaseIn, OpenCodeDatabase } from "../support/opencode-database.ts";

let scratch = "";
let path = "";
let store: Store;
beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-opencode-"));
  path = join(scratch, "home/.local/share/opencode/opencode.db");
  mkdirSync(dirname(path), { recursive: true });
  store = await openSqliteStore(join(scratch, "data", "index.sqlite"), "test");
});
afterEach(() => {
  store.close();
  rmSync(scratch, { recursive: true, maxRetries: 3 });
});

const env = () => ({ HOME: join(scratch, "home"), RETINUE_HOME: join(scratch, "data") });
const FIXED = {
  price: () => null,
  now: () => Date.parse("2027-01-01"),
  liveness: () => "gone" as const,
  providers: [opencode],
};

async function refreshed(): Promise<Library> {
  const library = new Library({ env: env(), store, ...FIXED });
  await library.refresh();
  return library;
}

function treesOf(library: Library): AgentTree[] {
  const forest = library.forestOf(library.store.roots({ under: library.under, limit: 1_000 }).map((r) => r.key));
  return forest.roots.map((key) => treeOf(forest, key, FIXED.price));
}

async function treesAtOnce(): Promise<AgentTree[]> {
  const { forest } = await readMachine({ env: env(), now: FIXED.now, liveness: FIXED.liveness, providers: [opencode] });
  return forest.roots.map((key) => treeOf(forest, key, FIXED.price));
}

/** Sets older file times, so that a second sync can trust them. */
function settle() {
  for (const file of [path, `${path}-wal`]) utimesSync(file, new Date(), new Date(Date.now() - 60_000));
}
const DATABASES = caseNames("opencode").flatMap((name) =>
  filesBelow(join(FIXTURES, "opencode", name))
    .filter((file) => file.endsWith(".db"))
    .map((file) => join(FIXTURES, "opencode", name, file)),
);

describe("queries of the database", () => {
  it("use indexes and row numbers in every version", () => {
    for (const file of DATABASES) {
      const db = new ProductDatabase(sqlite, file, noReads());
      const plan = planFor(db.schema());
      if ("unknown" in plan || plan.changes === undefined) throw new Error(file);
      const saved = {
        updated: 5,
        edge: "x",
        edgeSize: 1,
        extent: { messages: 1, parts: 1, message: 1, part: 1, messageId: "a", partId: "b" },
      };
      const mark = db.one(plan.changes.mark) as Record<string, string | number | null>;
      const asked = [
        plan.objects,
        plan.changes.mark,
        plan.changes.changed(mark, mark),
        plan.changes.lost(mark),
        plan.rows("s", saved),
        plan.rows("s", null),
        plan.row("s", "m"),
        plan.extent("s", saved),
      ];
      const steps = asked.flatMap((query) =>
        query === null
          ? []
          : db.all({ ...query, sql: `EXPLAIN QUERY PLAN ${query.sql}` }).map((row) => String(row.detail)),
      );
      // Sessions are few; other tables may have millions of rows, of which only those after a row number are scanned.
      expect(steps.filter((step) => /^SCAN (event|message|part|[mpq])\b/.test(step))).toEqual([]);
      expect(
        steps.filter((step) => /\(rowid>\?\)/.test(step) && !/^SEARCH (event|message|part|session) /.test(step)),
      ).toEqual([]);
      db.close();
    }
  });

  it("of two thousand sessions read only new rows, and nothing if nothing changed", async () => {
    const product = new OpenCodeDatabase(path);
    product.db.exec("BEGIN");
    for (let n = 0; n < 2_000; n += 1) product.session(`ses_${n}`);
    for (let n = 0; n < 300; n += 1) product.turn("ses_77", `n${n}`, `question ${n}`, `answer ${n}`);
    // A large event log, whose contents are not needed.
    product.db.exec("UPDATE event SET data = zeroblob(20000) WHERE rowid % 50 = 0");
    product.db.exec("COMMIT");
    settle();
    const first = await refreshed();
    expect(first.counts.bytes).toBeLessThan(2_000 * 400 + 300 * 1_500);
    expect((await refreshed()).counts).toEqual(noReads());
    product.turn("ses_77", "new", "one more question", "one more answer");
    settle();
    const second = await refreshed();
    expect([...second.threads({ limit: 1 })].map((r) => [r.sessionId, r.result])).toEqual([
      ["ses_77", "one more answer"],
    ]);
    expect(second.counts.bytes).toBeLessThan(2_000);
    // Most of these are the columns of its tables.
    expect(second.counts.rows).toBeLessThan(250);
    expect(second.counts.queries).toBeLessThan(10);
    product.close();
  }, 120_000);
});

describe.each(["single", "v1.14.41-tree", "v1.2.27-tree"])("a database like that of %s", (like) => {
  let product: OpenCodeDatabase;
  beforeEach(() => {
    product = new OpenCodeDatabase(path, like);
  });
  afterEach(() => product.close());

  it("that grows, changes in place and loses rows gives the same result as a fresh read", async () => {
    const same = async (what: string) => {
      settle();
      expect(treesOf(await refreshed()), what).toEqual(await treesAtOnce());
    };
    product.session("ses_root");
    await same("a session without a word");
    product.message("ses_root", "msg_1", { role: "user", agent: "build" });
    product.part("ses_root", "msg_1", "prt_1", { type: "text", text: "begin" });
    product.message("ses_root", "msg_2", { role: "assistant", modelID: "m" });
    await same("a message that is not finished");
    const task = (state: object) =>
      product.part("ses_root", "msg_2", "prt_2", {
        type: "tool",
        tool: "task",
        callID: "c1",
        state: { input: { prompt: "do", subagent_type: "explore" }, ...state },
      });
    task({
      status: "running",
      metadata: { sessionId: "ses_child", parentSessionId: "ses_root" },
      time: { start: product.now },
    });
    await same("a call");
    product.session("ses_child", "ses_root", "Do it (@explore subagent)");
    product.turn("ses_child", "c", "do", "done");
    await same("a child");
    task({
      status: "completed",
      output: "done",
      metadata: { sessionId: "ses_child", parentSessionId: "ses_root" },
      time: { start: product.now, end: product.now + 1 },
    });
    product.answer("ses_root", "msg_2", "prt_3", "all done");
    await same("the end");
    expect(
      treesOf(await refreshed()).map((t) => [t.status, t.result, t.children.map((c) => [c.uri, c.type, c.status])]),
    ).toEqual([["completed", "all done", [["opencode://ses_root/ses_child", "explore", "completed"]]]]);
    product.session("ses_root", null, "Another title");
    await same("a new title");
    product.db.exec("DELETE FROM part WHERE message_id = 'msg_ca'; DELETE FROM message WHERE id = 'msg_ca'");
    product.turn("ses_child", "d", "do it better", "better");
    await same("an answer taken back, and another one in its place");
    product.turn("ses_child", "e", "again", "again done");
    await same("one more turn");
  });

  it("whose last message changes in place without another trace is read again", async () => {
    product.session("ses_root");
    product.message("ses_root", "msg_1", { role: "assistant", modelID: "m" });
    settle();
    await refreshed();
    const at = product.tick();
    product.db
      .prepare("UPDATE message SET data = ?, time_updated = ?")
      .run(JSON.stringify({ role: "assistant", time: { created: at - 5, completed: at }, finish: "stop" }), at);
    if (like === "single") product.part("ses_root", "msg_1", "prt_1", { type: "step-start" });
    settle();
    expect(treesOf(await refreshed()).map((t) => t.status)).toEqual(["completed"]);
  });

  it("with parts that are not JSON, unknown or too large: they are reported, and the rest is shown", async () => {
    product.session("ses_root");
    product.turn("ses_root", "a", "question", "answer");
    product.part("ses_root", "msg_aa", "prt_bad", '{"type":"tool"');
    product.part("ses_root", "msg_aa", "prt_new", { type: "hologram" });
    product.part("ses_root", "msg_au", "prt_big", { type: "file", url: "x".repeat(5 << 20) });
    product.message("ses_root", "msg_odd", { role: "oracle" });
    product.db.prepare("INSERT INTO message VALUES ('msg_junk', 'ses_root', 1, 1, 'junk')").run();
    const library = await refreshed();
    expect(treesOf(library).map((t) => [t.result, t.prompt])).toEqual([["answer", "question"]]);
    expect(store.problems(9).map((p) => [p.code, p.count])).toEqual([
      ["record-malformed", 2],
      ["record-unknown", 2],
    ]);
    expect(library.counts.bytes).toBeLessThan(10_000);
    expect((await search(library, ["answer"], 5)).map((hit) => hit.ref)).toEqual([{ path, row: "msg_aa" }]);
  });

  it("with a deleted parent: its child is still below it, and no sub-agent becomes a thread", async () => {
    product.session("ses_child", "ses_gone", "Left alone (@general subagent)");
    product.turn("ses_child", "a", "do", "done");
    const library = await refreshed();
    expect(
      treesOf(library).map((t) => [t.uri, t.status, t.children.map((c) => [c.uri, c.type, c.description, c.status])]),
    ).toEqual([
      ["opencode://ses_gone", "notFound", [["opencode://ses_gone/ses_child", "general", "Left alone", "completed"]]],
    ]);
    expect(store.problems(9).map((p) => p.code)).toEqual(["thread-missing"]);
  });
});

describe("a database of another version", () => {
  it("with tables of OpenCode 1 and 2: the first are shown, the others reported", async () => {
    copyFileSync(databaseIn("single"), path);
    const db = new sqlite.DatabaseSync(path);
    db.exec("CREATE TABLE session_v2 (id TEXT PRIMARY KEY, data TEXT)");
    db.close();
    const library = await refreshed();
    expect(treesOf(library)).toHaveLength(2);
    expect(store.problems(9).map((p) => [p.code, p.count, p.examples[0]?.detail])).toEqual([
      ["database-unknown", 1, "the sessions of OpenCode 2 in it (session_v2) have a schema that is not supported yet"],
    ]);
  });

  it("with an unknown schema is reported with the names of its tables", async () => {
    const db = new sqlite.DatabaseSync(path);
    db.exec("CREATE TABLE session (id TEXT PRIMARY KEY, body BLOB); CREATE TABLE turn (id TEXT)");
    db.close();
    expect((await refreshed()).problems.map((p) => [p.code, p.detail])).toEqual([
      [
        "database-unknown",
        "it has no session.parent_id, no session.title, no session.version; its tables: session, turn",
      ],
    ]);
  });

  it("with unknown additional columns is read", async () => {
    copyFileSync(databaseIn("single"), path);
    const db = new sqlite.DatabaseSync(path);
    db.exec("ALTER TABLE session ADD COLUMN mood TEXT; ALTER TABLE part ADD COLUMN colour TEXT");
    db.close();
    expect(treesOf(await refreshed())).toHaveLength(2);
  });
});

describe("a child that waits", () => {
  const activities = async (name: string, moment: string, began: number) => {
    const home = join(FIXTURES, "opencode", name, moment);
    const liveness = () => ({ pid: 7, startedAt: began });
    const { forest } = await readMachine({
      env: { HOME: home, RETINUE_HOME: join(scratch, "other") },
      now: FIXED.now,
      liveness,
      providers: [opencode],
    });
    return [...forest.agents.values()].map(({ verdict }) => [verdict.status, verdict.activity]);
  };

  it("shows what it waits for while an earlier process has the database open", async () => {
    expect(await activities("permission-wait", "home-at-waiting", 0)).toEqual([
      ["running", 'waits for its agent "Needs bash"'],
      // The database does not record permission requests, so the tool is not shown as waiting for one.
      ["running", "runs bash"],
    ]);
    expect(await activities("promoted", "home-at-promoted", 0)).toEqual([
      ["running", "waits for 1 background agent"],
      ["running", "waits for the model"],
    ]);
  });

  it("has ended if that process started later", async () => {
    expect(await activities("permission-wait", "home-at-waiting", FIXED.now())).toEqual([
      ["shutdown", null],
      ["shutdown", null],
    ]);
  });
});

describe("a damaged database", () => {
  it("never causes a crash: what can be read is shown, or the damage is reported", async () => {
    const whole = readFileSync(databaseIn("same-prompt"));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 40 }),
        fc.option(fc.nat(whole.length)),
        async (changes, length) => {
          const bytes = Buffer.from(whole);
          for (const [at, to] of changes) bytes[at] = to;
          writeFileSync(path, length === null ? bytes : bytes.subarray(0, length));
          const { forest, problems, library } = await readMachine({
            env: env(),
            now: FIXED.now,
            liveness: FIXED.liveness,
            providers: [opencode],
          });
          for (const root of forest.roots)
            expect(JSON.stringify(treeOf(forest, root, FIXED.price))).toContain("schema");
          if (length !== null && length < 4_000) expect([...problems, ...library.problems]).not.toEqual([]);
        },
      ),
      { numRuns: 30 },
    );
  }, 60_000);
});

describe("records from elsewhere", () => {
  it("an exported thread, with its child next to it, equals the one in the database", async () => {
    const folder = join(FIXTURES, "opencode/exported/export");
    const { home, threads } = recordedHome("opencode", "exported");
    const root = threads[0]?.root ?? "";
    const { uri, files } = await importFile(join(folder, `${root}.json`), {
      env: env(),
      replace: false,
      providers: [opencode],
    });
    expect([uri, files.length]).toEqual([`opencode://${root}`, 2]);
    const there = await readMachine({
      env: { HOME: home, RETINUE_HOME: join(scratch, "other") },
      now: FIXED.now,
      liveness: FIXED.liveness,
      providers: [opencode],
    });
    const tree = (trees: AgentTree): unknown => {
      const { records: _r, statusReason: _s, statusSource: _o, link, children, ...rest } = trees;
      return { ...rest, rule: link?.rule, children: children.map(tree) };
    };
    const expected = treeOf(there.forest, threadKey("opencode", root), FIXED.price);
    expect(treesOf(await refreshed()).map(tree)).toEqual([tree(expected)]);
  });

  it("JSON files that 1.2 imported into its database count once", async () => {
    cpSync(recordedHome("opencode", "migrated").home, join(scratch, "home"), { recursive: true });
    const [tree] = treesOf(await refreshed());
    rmSync(join(dirname(path), "storage"), { recursive: true });
    store.close();
    store = await openSqliteStore(join(scratch, "data", "again.sqlite"), "test");
    const [alone] = treesOf(await refreshed());
    expect([tree?.usage, tree?.counts, tree?.children.map((c) => c.counts)]).toEqual([
      alone?.usage,
      alone?.counts,
      alone?.children.map((c) => c.counts),
    ]);
  });
});

describe("roots", () => {
  const roots = (given: Record<string, string>) => opencode.roots(given, "/home/dev");

  it.each([
    [{}, ["/home/dev/.local/share/opencode"]],
    [{ XDG_DATA_HOME: "/data" }, ["/data/opencode"]],
    [{ OPENCODE_DATA_DIR: "/a, /b" }, ["/a", "/b"]],
    [{ OPENCODE_DB: "/x/my.db" }, ["/x/my.db"]],
    [{ OPENCODE_DB: "mine.db", OPENCODE_DATA_DIR: "/a" }, ["/home/dev/.local/share/opencode/mine.db", "/a"]],
    [{ OPENCODE_DB: ":memory:" }, ["/home/dev/.local/share/opencode"]],
  ])("%o", (given, expected) => {
    expect(roots(given)).toEqual(expected);
  });

  it("may be a file of any name", async () => {
    const file = join(scratch, "elsewhere.db");
    copyFileSync(databaseIn("single"), file);
    utimesSync(file, new Date(), new Date(Date.now() - 60_000));
    const library = new Library({ env: { ...env(), OPENCODE_DB: file }, store, ...FIXED });
    await library.refresh();
    expect(library.roots.map((root) => [root.path, root.files])).toEqual([[file, 1]]);
    expect(treesOf(library)).toHaveLength(2);
    expect((await library.refreshPaths([`${file}-wal`])).files).toEqual(new Map());
  });
});
