import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatPosition, parsePosition } from "./position.ts";

const seqs = fc
  .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,62}$/), fc.nat(2 ** 40)), {
    selector: ([owner]) => owner,
  })
  .map((entries) => new Map(entries));

describe("a position of the live stream", () => {
  it("is read as it was written, by a viewer who may see the same owners", () => {
    fc.assert(
      fc.property(seqs, (given) => {
        expect(parsePosition(formatPosition(given), [...given.keys()])).toEqual(given);
      }),
    );
  });

  it("is no position for somebody who may see others, or of another form", () => {
    const position = formatPosition(new Map(Object.entries({ ann: 300, bob: 0 })));
    for (const owners of [["ann"], ["ann", "cat"], ["ann", "bob", "cat"], []])
      expect(parsePosition(position, owners)).toBe(null);
    for (const text of [
      "",
      "-",
      "ann:1,bob:2-3",
      position.replace(".", ".A"),
      position.slice(0, -3),
      "x".repeat(9_999),
    ])
      expect([text, parsePosition(text, ["ann", "bob"])]).toEqual([text, null]);
  });

  it("has a few characters for each owner, because it is a header", () => {
    const people = new Map(Array.from({ length: 1_000 }, (_, n) => [`somebody.with.a.long.name.${n}`, 9_000 + n]));
    expect(formatPosition(people).length).toBeLessThan(3_000);
  });

  it("ends with a number that grows", () => {
    const ageOf = (ann: number, bob: number) =>
      Number(/-(\d+)$/.exec(formatPosition(new Map(Object.entries({ ann, bob }))))?.[1]);
    expect([ageOf(0, 0), ageOf(1, 0), ageOf(1, 127), ageOf(128, 128)]).toEqual([0, 1, 128, 256]);
  });
});
