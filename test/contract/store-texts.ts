/** The contract of all stores for searchable text. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recordKey } from "../../src/core/facts/ids.ts";
import type { IndexedText, Store } from "../../src/core/ports/store.ts";
import { A, B, batch, recordIn, state, UNDER } from "./store-toys.ts";

const say = (text: string, line: number, record: string | null = null): IndexedText => ({
  speaker: A,
  at: line,
  record: record === null ? null : recordKey("toy", record),
  place: { line, offset: line * 10 },
  text,
});

export function textContract(name: string, open: () => Promise<Store>): void {
  describe(`text in the ${name} store`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    it("finds texts by words, best match first, copies once, without retracted ones", () => {
      const first = state("/root/a");
      store.commit([
        {
          ...batch(first, [recordIn(A, "/root/a:1", "r1")]),
          texts: [say("the quick brown fox", 1), say('a Lazy dog\'s "bone"', 2, "same")],
        },
        {
          ...batch(state("/root/b"), [recordIn(B, "/root/b:1", "r2")]),
          texts: [{ ...say("a lazy dog's bone", 2, "same"), speaker: B }],
        },
      ]);
      const found = (...words: string[]) =>
        store.search(words, UNDER, 10).map((hit) => ("line" in hit.place ? hit.place.line : hit.place.row));
      expect(found("quick", "fo")).toEqual([1]);
      expect(found("qui", "fox")).toEqual([]);
      expect(found("LAZY")).toEqual([2]);
      expect(found("dog's")).toEqual([2]);
      expect(found('"bone"', "OR", "fox")).toEqual([]);
      expect(found()).toEqual([]);
      expect(store.search(["fox"], UNDER, 10)).toEqual([
        { speaker: A, path: "/root/a", place: { line: 1, offset: 10 }, at: 1 },
      ]);
      expect(store.search(["fox"], ["/else"], 10)).toEqual([]);
      store.commit([batch({ ...first, generation: 1 }, [], first)]);
      expect(found("fox")).toEqual([]);
    });

    it("lists files with unindexed text, newest first, and continues where indexing stopped", () => {
      const [old, young] = [state("/root/old"), state("/root/young", { modifiedMs: 2 })];
      for (const file of [old, young])
        store.commit([{ ...batch(file, [recordIn(A, `${file.path}:1`, file.path)]), texts: null }]);
      expect(store.textsDue(UNDER)).toEqual([
        { path: "/root/young", modifiedMs: 2, bytes: 10 },
        { path: "/root/old", modifiedMs: 1, bytes: 10 },
      ]);
      expect(store.textsDue(["/else"])).toEqual([]);
      const start = { offset: 0, lines: 0, parser: undefined };
      const half = { offset: 4, lines: 1, parser: { remembers: "half" } };
      expect(store.textPosition("/root/old")).toEqual(start);
      store.addTexts([{ file: old, from: start, to: half, texts: [say("fox", 1)] }]);
      expect(store.textPosition("/root/old")).toEqual(half);
      // Another process was faster, or the file was replaced.
      store.addTexts([
        { file: old, from: start, to: half, texts: [say("fox", 1)] },
        { file: { ...old, generation: 1 }, from: half, to: { ...half, offset: 10 }, texts: [say("fox", 2)] },
      ]);
      expect(store.search(["fox"], UNDER, 9)).toHaveLength(1);
      // Text that is appended in the meantime is due as well.
      const grown = { ...old, offset: 20, size: 20 };
      store.commit([{ ...batch(grown, [recordIn(A, "/root/old:2", "r2")], old), texts: [say("hen", 2)] }]);
      expect(store.search(["hen"], UNDER, 9)).toEqual([]);
      store.addTexts([{ file: grown, from: half, to: { ...half, offset: 20 }, texts: [say("hen", 2)] }]);
      expect(store.textPosition("/root/old")).toBeNull();
      expect(store.search(["hen"], UNDER, 9)).toHaveLength(1);
      // From now on, text is indexed with its record.
      const more = { ...grown, offset: 30, size: 30 };
      store.commit([{ ...batch(more, [recordIn(A, "/root/old:3", "r3")], grown), texts: [say("owl", 3)] }]);
      expect(store.search(["owl"], UNDER, 9)).toHaveLength(1);
      const most = { ...more, offset: 40, size: 40 };
      store.commit([{ ...batch(most, [recordIn(A, "/root/old:4", "r4")], more), texts: null }]);
      expect(store.textPosition("/root/old")).toMatchObject({ offset: 30, lines: 1, parser: { remembers: ["this"] } });
      store.commit([batch({ ...young, gone: true, size: 0, offset: 0 }, [], young)]);
      expect(store.textsDue(UNDER)).toEqual([{ path: "/root/old", modifiedMs: 1, bytes: 10 }]);
    });
  });
}
