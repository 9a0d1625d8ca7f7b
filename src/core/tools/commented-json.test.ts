import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainJson, withMember } from "./commented-json.ts";

const COMMENTED =
  '\uFEFF{\r\n  // "hooks": here\r\n  "a": "// no comment, }", /* b */\r\n  "b": [1, 2,], // last\r\n}\r\n';

describe("JSON with comments", () => {
  it("is read", () => expect(JSON.parse(plainJson(COMMENTED))).toEqual({ a: "// no comment, }", b: [1, 2] }));

  it.each([
    ["{}", '{\n  "x": 1\n}', "{}"],
    ['{"a":1}', '{"a":1,\n  "x": 1\n}', '{"a":1\n}'],
    ['{\n\t"a": 1 // one\n}', '{\n\t"a": 1, // one\n\t"x": 1\n}', '{\n\t"a": 1 // one\n}'],
    ['{\r\n "a": 1, // one\r\n}', '{\r\n "a": 1, // one\r\n "x": 1\r\n}', '{\r\n "a": 1 // one\r\n}'],
    ["{ // none\n}", '{ // none\n  "x": 1\n}', "{ // none\n}"],
    [
      '{"x": {"y": "}"}, "b": 12345678901234567890}',
      '{"x": 1, "b": 12345678901234567890}',
      '{ "b": 12345678901234567890}',
    ],
    [COMMENTED, COMMENTED.replace("}\r\n", '  "x": 1\r\n}\r\n'), COMMENTED.replace("2,],", "2,]")],
  ])("%j is changed in one place only", (text, set, removed) => {
    expect(withMember(text, "x", 1)).toBe(set);
    expect(withMember(set, "x", undefined)).toBe(removed);
  });

  it("has the member that was set, and all others, whatever it contains", () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 });
    const comments = fc.constantFrom("", " ", "\n", "// c }\n", "/* , { */", "\r\n\t");
    fc.assert(
      fc.property(object, fc.jsonValue(), comments, comments, fc.boolean(), (members, value, before, after, isLast) => {
        const entries = Object.entries(members).map(
          ([name, one]) => `${before}${JSON.stringify(name)}${after}:${before}${JSON.stringify(one, null, 1)}${after}`,
        );
        const text = `${before}{${entries.join(",")}${isLast && entries.length > 0 ? "," : ""}${after}}${after}`;
        const { x: _, ...others } = members;
        expect(JSON.parse(plainJson(withMember(text, "x", value)))).toEqual(
          JSON.parse(JSON.stringify({ ...members, x: value })),
        );
        expect(JSON.parse(plainJson(withMember(withMember(text, "x", value), "x", undefined)))).toEqual(
          JSON.parse(JSON.stringify(others)),
        );
      }),
      { numRuns: 1_000 },
    );
  });
});
