import { describe, expect, it } from "vitest";
import { agent, answer, callSpawned, notebook, record, row, thread } from "../../test/observations.ts";
import type { AgentKey } from "./ids.ts";
import { decideOwnership } from "./ownership.ts";

/** Writes a transcript: `rows` maps a record's id to its time. */
function transcript(book: ReturnType<typeof notebook>, by: AgentKey, rows: Readonly<Record<string, number>>) {
  for (const [id, at] of Object.entries(rows)) book.see({ by, at, keys: [id] }, record());
}

const [first, second, third] = [thread("first"), thread("second"), thread("third")];

describe("whose a record is", () => {
  it("is its only holder's, where there is one", () => {
    const book = notebook();
    transcript(book, first, { x: 1 });
    const { ownerOf, isOriginal, copiedFrom } = decideOwnership(book.observations);
    expect(ownerOf(row("x"))).toBe(first);
    expect(ownerOf(row("never seen"))).toBeUndefined();
    expect(book.observations.every(isOriginal)).toBe(true);
    expect(copiedFrom.size).toBe(0);
  });

  it("is the first thread's, where a fork begins with its history", () => {
    // first:   x1 x2 x3
    // second:  x1 x2    y4
    const book = notebook();
    transcript(book, second, { x: 1, x2: 2, y: 4 });
    transcript(book, first, { x: 1, x2: 2, x3: 3 });
    const { ownerOf, isOriginal, copiedFrom } = decideOwnership(book.observations);
    expect([ownerOf(row("x")), ownerOf(row("x2")), ownerOf(row("y"))]).toEqual([first, first, second]);
    expect(book.observations.filter((o) => !isOriginal(o)).map((o) => [o.speaker, ...o.keys])).toEqual([
      [second, row("x")],
      [second, row("x2")],
    ]);
    expect(copiedFrom.get(second)).toBe(first);
  });

  it("is the first thread's even where it stopped when it was forked", () => {
    // first:   x1 x2        nothing of its own is left to prove that it came first ...
    // second:  x1 x2 y4     ... but the fork did something later that the first does not hold
    const book = notebook();
    transcript(book, second, { x: 1, x2: 2, y: 4 });
    transcript(book, first, { x: 1, x2: 2 });
    const { ownerOf, copiedFrom } = decideOwnership(book.observations);
    expect([ownerOf(row("x")), ownerOf(row("x2"))]).toEqual([first, first]);
    expect(copiedFrom.get(second)).toBe(first);
  });

  it("is each thread's own, where a fork was forked", () => {
    // first:   x1       x9
    // second:  x1 y2    y8
    // third:   x1 y2 z3
    const book = notebook();
    transcript(book, third, { x: 1, y: 2, z: 3 });
    transcript(book, second, { x: 1, y: 2, y8: 8 });
    transcript(book, first, { x: 1, x9: 9 });
    const { ownerOf, copiedFrom } = decideOwnership(book.observations);
    expect([ownerOf(row("x")), ownerOf(row("y")), ownerOf(row("z"))]).toEqual([first, second, third]);
    expect([copiedFrom.get(first), copiedFrom.get(second), copiedFrom.get(third)]).toEqual([undefined, first, second]);
  });

  it("is the sub-agent's, where it was promoted to a thread of its own", () => {
    // first          call1
    // └─ worker      w2 w3
    // second (promoted)
    //                w2 w3 z5
    const worker = agent("first", "worker");
    const book = notebook();
    transcript(book, second, { w2: 2, w3: 3, z5: 5 });
    transcript(book, first, { call: 1 });
    transcript(book, worker, { w2: 2, w3: 3 });
    const { ownerOf, copiedFrom } = decideOwnership(book.observations);
    expect([ownerOf(row("w2")), ownerOf(row("w3")), ownerOf(row("z5"))]).toEqual([worker, worker, second]);
    expect(copiedFrom.get(second)).toBe(worker);
  });

  it("is the spawned agent's, where a promoted copy never went on", () => {
    const worker = agent("first", "worker");
    const book = notebook();
    transcript(book, thread("a copy whose name sorts before"), { w2: 2 });
    transcript(book, worker, { w2: 2 });
    book.see({ by: first, at: 1 }, callSpawned("call", worker));
    expect(decideOwnership(book.observations).ownerOf(row("w2"))).toBe(worker);
  });

  it("is the parent's, where a forked agent begins with its parent's last answer", () => {
    // first     x1 r2            r6
    // └─ fork      r2 y3 y4
    const fork = agent("first", "fork");
    const book = notebook();
    book.see({ by: fork, at: 2, keys: ["r2", "response"] }, answer("response", 50));
    transcript(book, fork, { y3: 3, y4: 4 });
    transcript(book, first, { x: 1 });
    book.see({ by: first, at: 2, keys: ["r2", "response"] }, answer("response", 50));
    transcript(book, first, { r6: 6 });
    const { ownerOf, isOriginal } = decideOwnership(book.observations);
    expect([ownerOf(row("r2")), ownerOf(row("response"))]).toEqual([first, first]);
    expect(book.observations.filter((o) => o.type === "model-call").map((o) => [o.speaker, isOriginal(o)])).toEqual([
      [fork, false],
      [first, true],
    ]);
  });

  it("is one owner's for all rows of a response, though one of them is younger than the copy's own work", () => {
    // first   r1 ......... r9     both rows of one response
    // second  r1    y5     r9
    const book = notebook();
    for (const by of [second, first]) for (const at of [1, 9]) book.see({ by, at, keys: [`r${at}`, "response"] }, answer("response", at));
    transcript(book, second, { y5: 5 });
    const { isOriginal } = decideOwnership(book.observations);
    expect(book.observations.filter(isOriginal).map((o) => o.speaker)).toEqual([first, first, second]);
  });

  it("does not depend on who was read first, even where nothing decides", () => {
    const twins = (order: readonly AgentKey[]) => {
      const book = notebook();
      for (const by of order) transcript(book, by, { x: 1 });
      return decideOwnership(book.observations).ownerOf(row("x"));
    };
    expect(twins([first, second])).toBe(twins([second, first]));
  });
});
