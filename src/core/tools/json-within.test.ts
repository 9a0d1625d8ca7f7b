import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJsonWithin } from "./json-within.ts";
import { TooLarge } from "./limits.ts";

const PLENTY = { depth: 1_000, values: 1_000_000 };

describe("JSON within limits", () => {
  it("is parsed as by JSON.parse", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(4), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(parseJsonWithin(text, PLENTY)).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each(["", "{", '{"a":"', "[1,]", '"\\', "]"])("throws for %j, as JSON.parse does", (text) => {
    expect(() => parseJsonWithin(text, PLENTY)).toThrow(SyntaxError);
  });

  it("counts levels and values, but nothing inside strings", () => {
    expect(() => parseJsonWithin("[[[]]]", { depth: 2, values: 99 })).toThrow(/2 levels/);
    expect(parseJsonWithin("[[],[[]]]", { depth: 3, values: 99 })).toEqual([[], [[]]]);
    expect(() => parseJsonWithin("[1,2,3,4]", { depth: 9, values: 4 })).toThrow(TooLarge);
    const words = ['[[[,,,"\\', "{{{", "\\\\", '\\"[['];
    expect(parseJsonWithin(JSON.stringify(words), { depth: 1, values: 6 })).toEqual(words);
  });
});
