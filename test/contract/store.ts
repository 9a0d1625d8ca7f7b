/** The contract of all stores: each runs the whole suite. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AgentKey, agentKey, threadKey } from "../../src/core/facts/ids.ts";
import { NO_USAGE } from "../../src/core/facts/usage.ts";
import { type FileState, folderKey, type IndexedText, type RootRow, type Store } from "../../src/core/ports/store.ts";
import type { SpentRow } from "../../src/core/views/stats.ts";
import { allFacts } from "../support/facts.ts";
import { exchangeContract } from "./store-exchanges.ts";
import { textContract } from "./store-texts.ts";
import { A, B, batch, C, ids, observationOf, recordIn, root, state, UNDER } from "./store-toys.ts";

export function storeContract(name: string, open: () => Promise<Store>): void {
  exchangeContract(name, open);
  textContract(name, open);
  describe(`the store ${name}`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());
    const project = (threads: readonly AgentKey[], rows: readonly RootRow[]) =>
      store.project({
        versions: store.facts(threads, UNDER).versions,
        roots: rows,
        agents: rows.map((r) => ({
          key: r.key,
          uri: r.record.uri,
          sessionId: r.key.slice(4),
          agentId: null,
          path: null,
        })),
        spent: new Map(),
        problems: [],
      });

    it("is empty at first", () => {
      expect(store.fileCount()).toBe(0);
      expect(store.stale()).toEqual([]);
      expect(store.related([A])).toEqual([A]);
      expect(store.facts([A], UNDER)).toEqual({
        observations: [],
        folds: [],
        versions: new Map([[A, 0]]),
        scattered: false,
      });
      expect(store.roots({ under: UNDER, limit: 9 })).toEqual([]);
      expect(store.named("aaaaaa", UNDER)).toEqual([]);
      expect(store.problems(3)).toEqual([]);
      expect(store.note("x")).toBeNull();
    });

    it("returns files and facts unchanged", () => {
      const fact = recordIn(A, "/root/a:1", "r1");
      expect(store.commit([batch(state("/root/a"), [fact])])).toEqual([true]);
      expect([store.fileCount(), store.file("/root/a")]).toEqual([1, state("/root/a")]);
      expect(allFacts(store.facts([A], UNDER))).toEqual([fact]);
      expect(store.versions([A, B])).toEqual(store.facts([A, B], UNDER).versions);
      expect(store.stale()).toEqual([A]);
    });

    it("lists the files of a folder, the objects of a database, and those that were not read to the end", () => {
      const files = [
        state("/root/a"),
        { ...state("/root/b"), offset: 3, size: 10 },
        { ...state("/root/sub/c"), offset: 0, size: 0 },
        { ...state("/root/d"), offset: 0, size: 0, gone: true },
        { ...state("/root/db#one"), within: "/root/db", offset: 1, size: 9 },
      ];
      store.commit(files.map((file) => batch(file, [])));
      const paths = (list: readonly FileState[]) => list.map((file) => file.path).sort();
      expect(store.filesIn(folderKey("toy", "/root"))).toEqual(expect.arrayContaining([files[0], files[1], files[3]]));
      expect(paths(store.filesIn(folderKey("toy", "/root")))).toEqual(["/root/a", "/root/b", "/root/d"]);
      expect([paths(store.filesIn(folderKey("other", "/root"))), paths(store.filesIn(folderKey("toy", "/")))]).toEqual([
        [],
        [],
      ]);
      expect(store.objectsIn("/root/db")).toEqual([files[4]]);
      expect(paths(store.unfinished())).toEqual(["/root/b", "/root/sub/c"]);
      expect(store.fileCount()).toBe(5);
    });

    it("keeps the seals of folders until they are broken", () => {
      const [a, b] = [folderKey("toy", "/root"), folderKey("other", "/root")];
      store.seal(
        new Map([
          [a, 1],
          [b, 2],
        ]),
      );
      expect([...store.seals()].sort()).toEqual([
        [b, 2],
        [a, 1],
      ]);
      store.seal(
        new Map([
          [a, null],
          [b, 2 ** 52 + 1],
        ]),
      );
      expect([...store.seals()]).toEqual([[b, 2 ** 52 + 1]]);
    });

    it("accepts the same batch only once", () => {
      const once = batch(state("/root/a"), [recordIn(A, "/root/a:1", "r1")]);
      expect(store.commit([once])).toEqual([true]);
      expect(store.commit([once])).toEqual([false]);
      expect(allFacts(store.facts([A], UNDER)).length).toBe(1);
    });

    it("accepts a batch only if it continues from the stored cursor, and stores both in one transaction", () => {
      const first = state("/root/a");
      store.commit([batch(first, [recordIn(A, "/root/a:1", "r1")])]);
      const second = { ...first, offset: 20, size: 20 };
      expect(
        store.commit([
          batch(second, [recordIn(A, "/root/a:2", "r2")], first),
          batch({ ...first, offset: 30, size: 30 }, [recordIn(A, "/root/a:3", "r3")], first),
        ]),
      ).toEqual([true, false]);
      expect(store.file("/root/a")?.offset).toBe(20);
      expect(ids(allFacts(store.facts([A], UNDER)))).toEqual(["/root/a:1#0", "/root/a:2#0"]);
    });

    it("retracts the facts of an older generation of a file", () => {
      const first = state("/root/a");
      store.commit([
        {
          ...batch(first, [recordIn(A, "/root/a:1", "r1")]),
          problems: [{ code: "line-not-json", where: "/root/a:2", detail: "1 byte" }],
        },
      ]);
      project([A], [root(A, 1)]);
      expect(store.stale()).toEqual([]);
      store.commit([batch({ ...first, generation: 1 }, [recordIn(B, "/root/a:1", "r9")], first)]);
      expect([...store.stale()].sort()).toEqual([A, B]);
      expect(allFacts(store.facts([A], UNDER))).toEqual([]);
      expect(ids(allFacts(store.facts([B], UNDER)))).toEqual(["/root/a:1#0"]);
      expect(store.problems(3)).toEqual([]);
    });

    it("keeps the facts of a deleted file, marked as deleted", () => {
      const first = state("/root/a");
      const file = observationOf(A, "/root/a:1", {
        type: "agent-described",
        agent: A,
        file: { path: "/root/a", bytes: 1 },
      });
      store.commit([batch(first, [file])]);
      store.commit([batch({ ...first, gone: true, size: 0 }, [], first)]);
      expect(store.file("/root/a")?.gone).toBe(true);
      expect(allFacts(store.facts([A], UNDER))[0]).toMatchObject({ warning: expect.stringContaining("deleted") });
    });

    it("updates the size of a file", () => {
      const first = state("/root/a");
      store.commit([
        batch(first, [
          observationOf(A, "/root/a:1", { type: "agent-described", agent: A, file: { path: "/root/a", bytes: 1 } }),
        ]),
      ]);
      store.commit([batch({ ...first, size: 99, offset: 99 }, [], first)]);
      expect(allFacts(store.facts([A], UNDER))[0]).toMatchObject({ file: { path: "/root/a", bytes: 99 } });
    });

    it("retracts only the facts of a database row if the row is read again, however often", () => {
      const path = "/root/db#a";
      const row = (name: string, record: string) => recordIn(A, `${path}:${name}`, record);
      const trouble = (name: string) => ({ code: "record-malformed", where: `${path}:${name}`, detail: "x" }) as const;
      const text = (name: string, words: string): IndexedText => ({
        speaker: A,
        at: 1,
        record: null,
        place: { row: name },
        text: words,
      });
      let before = state(path, { within: "/root/db" });
      store.commit([
        {
          ...batch(before, [row("one", "r1"), row("two", "r2")]),
          texts: [text("one", "blue"), text("two", "red")],
          problems: [trouble("one"), trouble("two")],
        },
      ]);
      for (let n = 1; n < 60; n += 1) {
        const after = { ...before, offset: 10 + n };
        store.commit([
          { ...batch(after, [row("two", `again-${n}`)], before), texts: [text("two", `green${n}`)], replaces: ["two"] },
        ]);
        before = after;
      }
      const observations = allFacts(store.facts([A], UNDER));
      expect(observations.flatMap((o) => o.keys).sort()).toEqual(["toy:again-59", "toy:r1"]);
      expect(
        ["blue", "red", "green58", "green59"].map((word) => store.search([word], UNDER, 9).map((hit) => hit.place)),
      ).toEqual([[{ row: "one" }], [], [], [{ row: "two" }]]);
      expect(store.problems(9).map((p) => [p.code, p.count])).toEqual([["record-malformed", 1]]);
      expect(
        [store.problemsOf([path], []), store.problemsOf([], ["/root"]), store.problemsOf([], ["/roo"])].map(
          (found) => found.length,
        ),
      ).toEqual([1, 1, 0]);
      expect(store.file(path)?.within).toBe("/root/db");
      store.project({
        versions: store.facts([A], UNDER).versions,
        roots: [],
        agents: [],
        spent: new Map(),
        problems: [],
      });
      store.commit([{ ...batch({ ...before, offset: 99 }, [], before), replaces: ["one"] }]);
      expect([store.stale(), ids(allFacts(store.facts([A], UNDER)))]).toEqual([[A], [`${path}:two#0`]]);
    });

    it("packs the facts of a file that grew line by line without losing any", () => {
      let before: FileState | null = null;
      for (let n = 1; n <= 80; n += 1) {
        const after: FileState = state("/root/a", { offset: n, size: n, lines: n });
        store.commit([batch(after, [recordIn(A, `/root/a:${n}`, `r${n}`)], before)]);
        before = after;
      }
      expect(allFacts(store.facts([A], UNDER)).length).toBe(80);
    });

    it("joins threads that share a record or a name or name each other, directly or indirectly", () => {
      store.commit([
        batch(state("/root/a"), [recordIn(A, "/root/a:1", "same")]),
        batch(state("/root/b"), [recordIn(B, "/root/b:1", "same")]),
      ]);
      store.commit([
        batch(state("/root/c"), [
          observationOf(C, "/root/c:1", {
            type: "parent-named",
            child: C,
            parent: agentKey("toy", "bbbbbbbb", "x"),
            rule: "r",
            source: "protocol",
            confidence: 1,
            says: "s",
          }),
        ]),
      ]);
      expect([...store.related([A])].sort()).toEqual([A, B, C]);
      expect([...store.related([C])].sort()).toEqual([A, B, C]);
    });

    const below = (child: AgentKey, parent: AgentKey, place: string) =>
      observationOf(child, place, {
        type: "parent-named",
        child,
        parent,
        rule: "r",
        source: "child_rollout",
        confidence: 1,
        says: "s",
      });

    it("lists, finds and joins threads that are only named by other threads", () => {
      const [X, Y] = [threadKey("toy", "xxxxxxxx"), threadKey("toy", "yyyyyyyy")];
      store.commit([
        batch(state("/root/a"), [below(A, X, "/root/a:1")]),
        batch(state("/root/b"), [below(B, Y, "/root/b:1")]),
      ]);
      expect([...store.stale()].sort()).toEqual([A, B, X, Y]);
      expect([...store.related([A])].sort()).toEqual([A, X]);
      expect([...store.related([X])].sort()).toEqual([A, X]);
      project([A, X], [root(X, 1)]);
      project([B, Y], [root(Y, 2)]);
      expect(store.stale()).toEqual([]);
      expect(store.roots({ under: UNDER, limit: 9 }).map((r) => r.key)).toEqual([Y, X]);
      expect(store.roots({ under: ["/else"], limit: 9 })).toEqual([]);
      expect(store.named("xxxx", UNDER).map((r) => r.key)).toEqual([X]);
      // Its own records arrive later.
      store.commit([batch(state("/root/x"), [recordIn(X, "/root/x:1", "r1")])]);
      expect(store.stale()).toContain(X);
      project([A, X], [root(X, 3)]);
      expect(store.roots({ under: UNDER, limit: 9 }).map((r) => [r.key, r.lastActivity])).toEqual([
        [X, 3],
        [Y, 2],
      ]);
    });

    it("joins a chain of threads that each name only the next, in whatever order they are reported", () => {
      const [root_, middle, leaf] = [A, B, C];
      store.commit([batch(state("/root/c"), [below(leaf, middle, "/root/c:1")])]);
      project([leaf, middle], [root(middle, 1)]);
      store.commit([batch(state("/root/b"), [below(middle, root_, "/root/b:1")])]);
      expect(store.stale()).toContain(middle);
      expect([...store.related([leaf])].sort()).toEqual([A, B, C]);
      project([A, B, C], [root(root_, 2)]);
      expect(store.roots({ under: UNDER, limit: 9 }).map((r) => r.key)).toEqual([A]);
    });

    it("lists the agents that may still change, newest activity first", () => {
      for (const key of [A, B, C])
        store.commit([batch(state(`/root/${key}`), [recordIn(key, `/root/${key}:1`, "r1")])]);
      for (const [i, key] of [A, B, C].entries()) project([key], [{ ...root(key, i + 1), settled: key === B }]);
      expect(store.unsettled(UNDER, 0)).toEqual([C, A]);
      expect(store.unsettled(UNDER, 2)).toEqual([C]);
      expect(store.unsettled(["/else"], 0)).toEqual([]);
    });

    it("keeps a thread stale if it changes during its projection", () => {
      const first = state("/root/a");
      store.commit([batch(first, [recordIn(A, "/root/a:1", "r1")])]);
      const { versions } = store.facts([A], UNDER);
      store.commit([batch({ ...first, offset: 20, size: 20 }, [recordIn(A, "/root/a:2", "r2")], first)]);
      store.project({ versions, roots: [root(A, 1)], agents: [], spent: new Map(), problems: [] });
      expect(store.stale()).toEqual([A]);
    });

    it("drops a projection of a slower process that is based on older facts", () => {
      const first = state("/root/a");
      store.commit([batch(first, [recordIn(A, "/root/a:1", "r1")])]);
      const old = store.facts([A], UNDER).versions;
      store.commit([batch({ ...first, offset: 20, size: 20 }, [recordIn(A, "/root/a:2", "r2")], first)]);
      project([A], [root(A, 2)]);
      store.project({ versions: old, roots: [root(A, 1)], agents: [], spent: new Map(), problems: [] });
      expect(store.roots({ under: UNDER, limit: 9 }).map((r) => r.lastActivity)).toEqual([2]);
      expect(store.stale()).toEqual([]);
    });

    it("marks everything as stale on request, and keeps projections until they are replaced", () => {
      store.commit([
        batch(state("/root/a"), [recordIn(A, "/root/a:1", "r1")]),
        batch(state("/root/b"), [recordIn(B, "/root/b:1", "r2")]),
      ]);
      const { versions } = store.facts([A, B], UNDER);
      store.project({ versions, roots: [root(A, 1), root(B, 2)], agents: [], spent: new Map(), problems: [] });
      expect(store.stale()).toEqual([]);
      store.invalidate();
      expect([...store.stale()].sort()).toEqual([A, B]);
      expect(store.roots({ under: UNDER, limit: 9 }).map((r) => r.key)).toEqual([B, A]);
      store.project({ versions, roots: [root(A, 1), root(B, 2)], agents: [], spent: new Map(), problems: [] });
      expect(store.stale()).toEqual([]);
    });

    it("replaces projections, so that a late parent moves a root", () => {
      store.commit([
        batch(state("/root/a"), [recordIn(A, "/root/a:1", "r1")]),
        batch(state("/root/b"), [recordIn(B, "/root/b:1", "r2")]),
      ]);
      project([A], [root(A, 1)]);
      project([B], [root(B, 2)]);
      expect(store.roots({ under: UNDER, limit: 9 }).map((r) => r.key)).toEqual([B, A]);
      project([A, B], [root(A, 3)]);
      expect(store.roots({ under: UNDER, limit: 9 })).toEqual([root(A, 3)]);
    });

    it("pages through roots, newest first, without a gap or a repeat", () => {
      const keys = Array.from({ length: 25 }, (_, i) => threadKey("toy", `thread-${String(i).padStart(2, "0")}`));
      for (const [i, key] of keys.entries()) {
        store.commit([batch(state(`/root/${i}`), [recordIn(key, `/root/${i}:1`, `r${i}`)])]);
        project([key], [root(key, Math.floor(i / 3))]);
      }
      const pages: AgentKey[] = [];
      for (let page = store.roots({ under: UNDER, limit: 7 }); page.length > 0; ) {
        pages.push(...page.map((r) => r.key));
        const last = page.at(-1) as RootRow;
        page = store.roots({ under: UNDER, limit: 7, after: last });
      }
      expect(pages.length).toBe(25);
      expect(new Set(pages).size).toBe(25);
      expect(pages).toEqual(store.roots({ under: UNDER, limit: 99 }).map((r) => r.key));
      expect(store.roots({ under: UNDER, since: 8, limit: 99 }).length).toBe(1);
      expect(store.roots({ under: UNDER, provider: "other", limit: 99 })).toEqual([]);
    });

    it("returns only what is below the given root folders", () => {
      store.commit([
        batch(state("/root/a"), [recordIn(A, "/root/a:1", "r1")]),
        batch(state("/else/a", { root: "/else" }), [recordIn(A, "/else/a:1", "r2"), recordIn(B, "/else/a:2", "r3")]),
      ]);
      project([A], [root(A, 1)]);
      project([B], [root(B, 2)]);
      expect(store.roots({ under: UNDER, limit: 9 }).map((r) => r.key)).toEqual([A]);
      expect(store.named("bbbb", UNDER)).toEqual([]);
      expect(store.named("bbbb", ["/else"]).map((r) => r.key)).toEqual([B]);
      const facts = store.facts([A], UNDER);
      expect({ ids: ids(allFacts(facts)), scattered: facts.scattered }).toEqual({
        ids: ["/root/a:1#0"],
        scattered: true,
      });
    });

    it("finds agents by the beginning of either id, whatever its case", () => {
      store.commit([batch(state("/root/a"), [recordIn(A, "/root/a:1", "r1")])]);
      const child = agentKey("toy", "aaaaaaaa", "Child%1");
      store.project({
        versions: store.facts([A], UNDER).versions,
        roots: [],
        agents: [
          { key: A, uri: "toy://aaaaaaaa", sessionId: "aaaaaaaa", agentId: null, path: null },
          { key: child, uri: "toy://aaaaaaaa/Child%1", sessionId: "aaaaaaaa", agentId: "Child%1", path: "/root/child" },
        ],
        spent: new Map(),
        problems: [],
      });
      expect(store.named("AAAA", UNDER).map((r) => r.key)).toEqual([A, child]);
      expect(store.named("child%", UNDER).map((r) => r.key)).toEqual([child]);
      expect(store.named("childx", UNDER)).toEqual([]);
    });

    it("returns usage by day, and replaces it with the next projection", () => {
      store.commit([batch(state("/root/a"), [recordIn(A, "/root/a:1", "r1")])]);
      const row = (day: string): SpentRow => ({
        day,
        provider: "toy",
        model: null,
        type: null,
        project: null,
        template: null,
        status: "completed",
        thread: "toy://a",
        agents: 1,
        durationMs: 1,
        usage: NO_USAGE,
      });
      const spend = (...days: string[]) =>
        store.project({
          versions: store.facts([A], UNDER).versions,
          roots: [],
          agents: [],
          spent: new Map([[A, days.map(row)]]),
          problems: [],
        });
      spend("2026-01-01", "2026-01-02");
      expect(store.spent(UNDER, null)).toEqual([row("2026-01-01"), row("2026-01-02")]);
      expect(store.spent(UNDER, "2026-01-02")).toEqual([row("2026-01-02")]);
      expect(store.spent(["/else"], null)).toEqual([]);
      spend();
      expect(store.spent(UNDER, null)).toEqual([]);
    });

    it("counts problems of files and of threads, with examples", () => {
      const trouble = { code: "line-not-json", where: "/root/a:1", detail: "x" } as const;
      store.commit([
        {
          ...batch(state("/root/a"), [recordIn(A, "/root/a:2", "r1")]),
          problems: [trouble, { ...trouble, where: "/root/a:3" }],
        },
      ]);
      const conflict = { code: "parent-conflict", where: A, detail: "y" } as const;
      store.project({
        versions: store.facts([A], UNDER).versions,
        roots: [],
        agents: [],
        spent: new Map(),
        problems: [conflict],
      });
      expect(store.problems(1)).toEqual([
        { code: "line-not-json", count: 2, examples: [trouble] },
        { code: "parent-conflict", count: 1, examples: [conflict] },
      ]);
      store.project({
        versions: store.facts([A], UNDER).versions,
        roots: [],
        agents: [],
        spent: new Map(),
        problems: [],
      });
      expect(store.problems(1).map((p) => p.code)).toEqual(["line-not-json"]);
    });

    it("adds up the counts of a repeated problem", () => {
      const trouble = { code: "line-not-json", where: "/root/a", detail: "more of the same", times: 41 } as const;
      store.commit([{ ...batch(state("/root/a"), []), problems: [{ ...trouble, times: 1 }, trouble] }]);
      expect(store.problems(1).map((p) => p.count)).toEqual([42]);
    });

    it("stores notes", () => {
      store.setNote("a", "1");
      store.setNote("a", "2");
      expect(store.note("a")).toBe("2");
    });
  });
}
