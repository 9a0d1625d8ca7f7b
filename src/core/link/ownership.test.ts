import { describe, expect, it } from "vitest";
import { agent, answer, callSpawned, notebook, record, row, thread } from "../../../test/support/observations.ts";
import type { AgentKey } from "../facts/ids.ts";
import { decideOwnership } from "./ownership.ts";

/** Writes a transcript: `rows` maps a record's id to its time. */
function transcript(book: ReturnType<typeof notebook>, by: AgentKey, rows: Readonly<Record<string, number>>) {
  for (const [id, at] of Object.entries(rows)) book.see({ by, at, keys: [id] }, record());
}

/** Originals sort last and copies first, so that the order of names cannot replace the comparison of times. */
const original = thread("z-original");
const copy = thread("a-copy");

describe("the owner of a record", () => {
  it("is its only holder if there is just one", () => {
    const book = notebook();
    transcript(book, original, { x: 1 });
    const { ownerOf, isOriginal, copiedFrom } = decideOwnership(book.observations);
    expect(ownerOf(row("x"))).toBe(original);
    expect(ownerOf(row("never seen"))).toBeUndefined();
    expect(book.observations.every(isOriginal)).toBe(true);
    expect(copiedFrom.size).toBe(0);
  });

  it("is the thread with earlier work of its own if a fork begins with its history", () => {
    // original  q0 x1 x2 x3
    // copy         x1 x2    y4
    const book = notebook();
    transcript(book, copy, { x1: 1, x2: 2, y4: 4 });
    transcript(book, original, { q0: 0, x1: 1, x2: 2, x3: 3 });
    const { ownerOf, isOriginal, copiedFrom } = decideOwnership(book.observations);
    expect([ownerOf(row("x1")), ownerOf(row("x2")), ownerOf(row("y4"))]).toEqual([original, original, copy]);
    expect(book.observations.filter((o) => !isOriginal(o)).map((o) => [o.speaker, ...o.keys])).toEqual([
      [copy, row("x1")],
      [copy, row("x2")],
    ]);
    expect(copiedFrom.get(copy)).toBe(original);
  });

  it("is the first thread if it stopped when it was forked", () => {
    // original  x1 x2        without records of its own, nothing is proved ...
    // copy      x1 x2 y4     ... but own records that are all later prove a copy
    const book = notebook();
    transcript(book, copy, { x1: 1, x2: 2, y4: 4 });
    transcript(book, original, { x1: 1, x2: 2 });
    const { ownerOf, copiedFrom } = decideOwnership(book.observations);
    expect([ownerOf(row("x1")), ownerOf(row("x2"))]).toEqual([original, original]);
    expect(copiedFrom.get(copy)).toBe(original);
  });

  it("is each thread itself for its own records if a fork was forked", () => {
    // z-original  q0 x1                x9
    // m-copy         x1 q2 y3          y8
    // a-copy         x1    y3 q4 z5
    const middle = thread("m-copy");
    const book = notebook();
    transcript(book, copy, { x1: 1, y3: 3, q4: 4, z5: 5 });
    transcript(book, middle, { x1: 1, q2: 2, y3: 3, y8: 8 });
    transcript(book, original, { q0: 0, x1: 1, x9: 9 });
    const { ownerOf, copiedFrom } = decideOwnership(book.observations);
    expect([ownerOf(row("x1")), ownerOf(row("y3")), ownerOf(row("z5"))]).toEqual([original, middle, copy]);
    expect([copiedFrom.get(original), copiedFrom.get(middle), copiedFrom.get(copy)]).toEqual([
      undefined,
      original,
      middle,
    ]);
  });

  it("is the sub-agent if it was promoted to a thread", () => {
    // z-original   call1
    // └─ worker          w2 w3
    // a-copy             w2 w3 y5
    const worker = agent("z-original", "worker");
    const book = notebook();
    transcript(book, copy, { w2: 2, w3: 3, y5: 5 });
    transcript(book, original, { call1: 1 });
    transcript(book, worker, { w2: 2, w3: 3 });
    const { ownerOf, copiedFrom } = decideOwnership(book.observations);
    expect([ownerOf(row("w2")), ownerOf(row("w3")), ownerOf(row("y5"))]).toEqual([worker, worker, copy]);
    expect(copiedFrom.get(copy)).toBe(worker);
  });

  it("is the spawned agent if a promoted copy never continued", () => {
    const worker = agent("z-original", "worker");
    const book = notebook();
    transcript(book, copy, { w2: 2 });
    transcript(book, worker, { w2: 2 });
    book.see({ by: original, at: 1 }, callSpawned("call", worker));
    expect(decideOwnership(book.observations).ownerOf(row("w2"))).toBe(worker);
  });

  it("is the agent in the older thread if a thread was copied with its agents", () => {
    // z-original  q0 x1            a-copy   x1       y9
    // └─ inner          w2 w3      └─ inner    w2 w3
    const [older, younger] = [agent("z-original", "inner"), agent("a-copy", "inner")];
    const book = notebook();
    transcript(book, copy, { x1: 1, y9: 9 });
    transcript(book, younger, { w2: 2, w3: 3 });
    transcript(book, original, { q0: 0, x1: 1 });
    transcript(book, older, { w2: 2, w3: 3 });
    const { ownerOf } = decideOwnership(book.observations);
    expect([ownerOf(row("x1")), ownerOf(row("w2")), ownerOf(row("w3"))]).toEqual([original, older, older]);
  });

  it("is the parent if a forked agent begins with its parent's last response", () => {
    // t         x1 r2            r6
    // └─ fork      r2 y3 y4
    const [main, fork] = [thread("t"), agent("t", "fork")];
    const book = notebook();
    book.see({ by: fork, at: 2, keys: ["r2", "response"] }, answer("response", 50));
    transcript(book, fork, { y3: 3, y4: 4 });
    transcript(book, main, { x1: 1 });
    book.see({ by: main, at: 2, keys: ["r2", "response"] }, answer("response", 50));
    transcript(book, main, { r6: 6 });
    const { ownerOf, isOriginal } = decideOwnership(book.observations);
    expect([ownerOf(row("r2")), ownerOf(row("response"))]).toEqual([main, main]);
    expect(book.observations.filter((o) => o.type === "model-call").map((o) => [o.speaker, isOriginal(o)])).toEqual([
      [fork, false],
      [main, true],
    ]);
  });

  it("is the same for all rows of a response, though one of them is newer than the copy's own work", () => {
    // original  q0 r1    r9     both rows of one response
    // copy         r1 y5 r9
    const book = notebook();
    for (const by of [copy, original])
      for (const at of [1, 9]) book.see({ by, at, keys: [`r${at}`, "response"] }, answer("response", at));
    transcript(book, copy, { y5: 5 });
    transcript(book, original, { q0: 0 });
    const { isOriginal } = decideOwnership(book.observations);
    expect(book.observations.filter(isOriginal).map((o) => o.speaker)).toEqual([original, original, copy, original]);
  });

  it("does not depend on the order of reading, even if no rule decides", () => {
    const twins = (order: readonly AgentKey[]) => {
      const book = notebook();
      for (const by of order) transcript(book, by, { x: 1 });
      return decideOwnership(book.observations).ownerOf(row("x"));
    };
    expect(twins([original, copy])).toBe(twins([copy, original]));
  });

  describe("if both continued after the fork, so that times alone prove nothing", () => {
    // original  x1 x2 o3
    // copy      x1 x2    y4
    const both = (book: ReturnType<typeof notebook>) => {
      transcript(book, original, { x1: 10_000, x2: 20_000, o3: 30_000 });
      transcript(book, copy, { x1: 10_000, x2: 20_000, y4: 40_000 });
    };
    const owners = (book: ReturnType<typeof notebook>) =>
      ["x1", "x2"].map((id) => decideOwnership(book.observations).ownerOf(row(id)));

    it("the name decides if there is no other evidence", () => {
      const book = notebook();
      both(book);
      expect(owners(book)).toEqual([copy, copy]);
    });

    it("a file created after the record was written holds a copy of it", () => {
      const book = notebook();
      both(book);
      for (const [by, bornMs] of [[original, 9_000] as const, [copy, 39_000] as const])
        book.see({ by }, { type: "agent-described", agent: by, file: { path: `/${by}`, bytes: 1, bornMs } });
      expect(owners(book)).toEqual([original, original]);
    });

    it("a record after a later one is a copy", () => {
      const book = notebook();
      transcript(book, original, { x1: 10_000, x2: 20_000, o3: 30_000 });
      book.see({ by: copy, at: 39_000 }, record());
      transcript(book, copy, { x1: 10_000, x2: 20_000, y4: 40_000 });
      expect(owners(book)).toEqual([original, original]);
    });

    it("only the original has records of the agents that were spawned", () => {
      const book = notebook();
      both(book);
      book.see({ by: original, at: 20_000, keys: ["x2"] }, callSpawned("c1", agent("z-original", "w")));
      book.see({ by: copy, at: 20_000, keys: ["x2"] }, callSpawned("c1", agent("a-copy", "w")));
      book.see({ by: agent("z-original", "w"), at: 21_000, keys: ["w1"] }, record());
      expect(owners(book)).toEqual([original, original]);
    });
  });
});

describe("many forks of one long session", () => {
  it("are distinguished", () => {
    const book = notebook();
    const history = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`x${i}`, i + 1]));
    transcript(book, original, { q: 0, ...history });
    for (let n = 0; n < 100; n += 1) transcript(book, thread(`fork-${n}`), { ...history, [`own${n}`]: 2_000 + n });
    // Work that is quadratic in their number would not finish in time.
    const { ownerOf } = decideOwnership(book.observations);
    for (const key of Object.keys(history)) expect(ownerOf(row(key))).toBe(original);
  });
});
