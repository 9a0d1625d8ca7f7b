import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { yamlOf } from "./yaml.ts";

const PLAIN = ["a:b", "12345678-1234-1234-1234-123456789012"];
/** Texts that YAML 1.1, YAML 1.2 or a common parser reads as something other than a string. */
const ODD = [
  ..."y n yes no on off true false null Yes NO On OFF True NULL ~ = << - ? : | > % @ ` ! & * [ ] { } , #".split(" "),
  ..."0 -0 +1 12 012 0o14 0x1F 0b11 1_000 1,000 1. .5 1e3 1.5e+3 685_230.15 .inf -.Inf +.INF .NaN .nan 12:30 190:20:30 190:20:30.15 1:2 e0 E+1".split(
    " ",
  ),
  ..."2026-11-16 2026-1-1 2026-11-16T22:00:00Z 2026-11-16t22:00:00.5-05:00".split(" "),
  ..."a: --- ... %TAG !tag &anchor *alias 'single \"double c:\\temp".split(" "),
  ...PLAIN,
  ...[
    "",
    " ",
    "2026-11-16 22:00:00",
    "a: b",
    "a #b",
    " a",
    "a ",
    "- a",
    "? a",
    "a\nb",
    "a\n",
    "\ta",
    "a\u0085b",
    "a\u2028b",
    "\ufeffa",
    "a\u0000b",
    "ü",
    "🙂",
  ],
];

describe("frontmatter is read the same by YAML 1.1 and YAML 1.2", () => {
  const same = (text: string) => {
    const written = { text, list: [{ text, flag: true, none: null, number: 3 }], empty: [], next: "word" };
    for (const version of ["1.1", "1.2"] as const)
      expect(parse(yamlOf(written), { version, merge: true })).toEqual(written);
  };

  it.each(ODD)("%j", (text) => {
    same(text);
    // Parsers that resolve more texts than this one, such as "=" in PyYAML, get a quoted scalar.
    if (!PLAIN.includes(text)) expect(yamlOf({ text })).toMatch(/^text: "/);
  });

  it("any text", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom(..."yYnNoO01:._-+eExX~#= \n'\"") })),
        same,
      ),
      {
        numRuns: 500,
      },
    );
  });

  it("ids, URIs and paths stay unquoted", () => {
    const head = {
      uri: "claude://833fc0f4-0000-4000-8000-000000000000/ae1c455f3cc7234dc",
      path: "/home/dev/.claude/x.jsonl",
      type: "general-purpose",
      mode: "thread",
    };
    expect(yamlOf(head)).toBe(
      Object.entries(head)
        .map(([key, value]) => `${key}: ${value}\n`)
        .join(""),
    );
  });
});
