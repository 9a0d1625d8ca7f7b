import { describe, expect, it } from "vitest";
import { agent, answer, call, notebook, record, spawnCalled, thread } from "../../../test/support/observations.ts";
import type { AgentKey } from "../facts/ids.ts";
import { type BulkFact, Fold, isBulk } from "./fold.ts";
import { unfold } from "./folded.ts";
import { link } from "./link.ts";

const THREAD = thread("t");
const OPTIONS = { now: 1e9, liveness: () => "unknown" as const };

/** An input, a response with a tool call, and its result: three records. */
function turn(book: ReturnType<typeof notebook>, by: AgentKey, i: number) {
  const [at, keys] = [10 * i, [`${by} r${i}`, `${by} m${i}`]];
  const tool = call(`${by} c${i}`);
  book.see({ by, at, keys: [`${by} u${i}`] }, record({ role: "user", state: "open" }));
  book.see({ by, at: at + 2, keys }, record({ state: "open", text: "words", calls: [{ call: tool, name: "Read" }] }));
  book.see({ by, at: at + 2, keys }, answer(`${by} m${i}`, i));
  book.see(
    { by, at: at + 5, keys: [`${by} s${i}`] },
    record({ role: "user", state: "open", results: [{ call: tool, isError: false }] }),
  );
}

/** The fold of an agent, and all facts that were added. `facts` reads facts that were dropped from memory. */
class Growing {
  readonly facts: BulkFact[] = [];
  reads = 0;
  readonly fold: Fold;

  constructor(by: AgentKey) {
    this.fold = new Fold(by, "book", () => {
      this.reads += 1;
      return this.facts;
    });
  }

  add(book: ReturnType<typeof notebook>): void {
    for (const fact of book.observations.splice(0).filter(isBulk)) {
      this.facts.push(fact);
      this.fold.add(fact);
    }
  }
}

describe("the memory of a fold", () => {
  it("holds only the hashes of its names once its calls were summed", () => {
    const growing = new Growing(THREAD);
    const book = notebook();
    const bytes: number[] = [];
    for (let i = 1; i <= 33_333; i += 1) {
      turn(book, THREAD, i);
      growing.add(book);
      if (i % 10 === 0) link([], OPTIONS, [growing.fold]);
      if (i === 3_333 || i === 33_333) bytes.push(growing.fold.bytes);
    }
    const [few = 0, many = 0] = bytes;
    expect(few / 10_000).toBeLessThan(30);
    expect((many - few) / 90_000).toBeLessThan(20);
    expect(growing.reads).toBe(0);
    // Facts that are not in memory are read on request.
    const calls = link([], OPTIONS, [growing.fold]).agents.get(THREAD)?.calls;
    expect(calls?.length).toBe(33_333);
    expect(Array.from(calls ?? [], ({ at }) => at).slice(0, 3)).toEqual([12, 22, 32]);
    expect(growing.reads).toBe(1);
  });
});

describe("agents that share a record", () => {
  const isFolded = (folds: readonly Fold[]) => unfold([], folds, []).folded.size > 0;

  it("are found in any order of reading, and stay known from then on", () => {
    const agents = ["a", "b", "c"].map((id) => agent("t", id));
    for (const last of [0, 1, 2]) {
      const all = agents.map((by) => new Growing(by));
      const [book, folds] = [notebook(), all.map(({ fold }) => fold)];
      const grow = (i: number) => {
        for (const [n, by] of agents.entries()) {
          turn(book, by, i);
          all[n]?.add(book);
        }
      };
      for (let i = 1; i <= 300; i += 1) grow(i);
      expect(isFolded(folds)).toBe(true);
      for (const n of [0, 1, 2].filter((n) => n !== last)) {
        book.see(
          { by: agents[n] as AgentKey, at: 4_000, keys: [`only ${n}`, n === (last + 1) % 3 ? "both" : "one"] },
          record(),
        );
        all[n]?.add(book);
        expect(isFolded(folds)).toBe(true);
      }
      book.see({ by: agents[last] as AgentKey, at: 5_000, keys: ["both"] }, record());
      all[last]?.add(book);
      expect(isFolded(folds)).toBe(false);
      grow(600);
      expect(isFolded(folds)).toBe(false);
    }
  });

  it("are found if one of them has it in a fact that is not folded", () => {
    const growing = new Growing(THREAD);
    const book = notebook();
    for (let i = 1; i <= 300; i += 1) turn(book, THREAD, i);
    growing.add(book);
    const early = book.see({ by: agent("t", "a"), keys: ["late"] }, spawnCalled("x"));
    const late = book.see({ by: agent("t", "a"), keys: [`${THREAD} r7`] }, spawnCalled("y"));
    expect(unfold([early], [growing.fold], []).folded.size).toBe(1);
    expect(unfold([early, late], [growing.fold], []).folded.size).toBe(0);
    const other = new Growing(THREAD);
    for (let i = 1; i <= 300; i += 1) turn(book, THREAD, i);
    other.add(book);
    expect(unfold([early], [other.fold], []).folded.size).toBe(1);
    book.see({ by: THREAD, at: 9_000, keys: ["late"] }, record());
    other.add(book);
    expect(unfold([early], [other.fold], []).folded.size).toBe(0);
  });

  it("are searched for among new records only", () => {
    const all = ["a", "b", "c"].map((id) => new Growing(agent("t", id)));
    const [book, folds] = [notebook(), all.map(({ fold }) => fold)];
    const grow = (i: number) => {
      for (const growing of all) {
        turn(book, growing.fold.speaker, i);
        growing.add(book);
      }
    };
    let visited = 0;
    for (const fold of folds) {
      const hashes = fold.hashes.bind(fold);
      Object.assign(fold, {
        *hashes(mark: Parameters<Fold["hashes"]>[0]) {
          for (const hashed of hashes(mark)) {
            visited += 1;
            yield hashed;
          }
        },
      });
    }
    for (let i = 1; i <= 300; i += 1) grow(i);
    unfold([], folds, []);
    const first = visited;
    for (let i = 301; i <= 400; i += 1) {
      grow(i);
      unfold([], folds, []);
    }
    expect(first).toBeGreaterThan(2_000);
    expect(visited).toBe(first);
  });
});
