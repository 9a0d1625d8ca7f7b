import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printJson } from "./json.ts";
import { codeMarkdown, fencedMarkdown, proseMarkdown } from "./markdown.ts";
import { escapeHidden, visible } from "./visible.ts";

const OBEYED =
  /[^\P{Cc}\n\t]|[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/u;
/** Any text, with dangerous characters more often than at random. */
const PIECES = [
  "\u001b[",
  "\u001b]",
  "\u009b",
  "\u009d",
  "\u0007",
  "\u001b\\",
  "\u001bP",
  "\u202e",
  "\u200d",
  "\u{e0041}",
  "\r",
  "\ud800",
  "\uffff",
  "`",
  "<",
];
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: "binary" })), { maxLength: 30 })
  .map((parts) => parts.join(""));

describe("visible text", () => {
  it("contains no control or invisible characters, and is idempotent", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const shown = visible(text);
        expect(shown).not.toMatch(OBEYED);
        expect(visible(shown)).toBe(shown);
      }),
    );
  });

  it("loses complete terminal sequences, and shows other control characters by name", () => {
    expect(visible("\u001b[31mred\u001b[0m \u001b]0;title\u0007\u009b2J\u009d0;x\u009c|")).toBe("red |");
    expect(visible("\u001b]never ended\nnext \u001b[")).toBe("␛]never ended\nnext ␛[");
    expect(visible("a\u007fb\u0085c\u202ed\u200be\u{e0041}f\u00adg\u3164")).toBe(
      "a‹U+007F›b‹U+0085›c‹U+202E›d‹U+200B›e‹U+E0041›f‹U+00AD›g‹U+3164›",
    );
  });

  it("keeps joiners that scripts and emoji need, and shows those by name that only deceive", () => {
    const written = "👩‍💻 ❤️ 1️⃣ می‌خواهم क्‍ष";
    expect(visible(written)).toBe(written);
    expect(visible("pass\u200dword \u200c")).toBe("pass‹U+200D›word ‹U+200C›");
  });

  it.each(["\u001b]", "\u001b[", "\u001bP", "\u009d", "\u009b0", "\u001b[0;", "\u200d", "\u001b]x\n", "\u001b\\"])(
    "takes linear time for many of %j",
    (piece) => {
      // Quadratic time would take minutes.
      expect(visible(piece.repeat(200_000))).not.toMatch(OBEYED);
    },
  );
});

describe("JSON", () => {
  it("is the same data with hidden characters escaped, indented or not", () => {
    fc.assert(
      fc.property(fc.jsonValue(), hostile, (value, text) => {
        const data = { value, [text]: [text, { text }] };
        for (const indent of [0, 2]) {
          const json = printJson(data, indent);
          expect(json).not.toMatch(OBEYED);
          expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(data)));
        }
      }),
    );
  });

  it("is formatted as by JSON.stringify, without undefined values", () => {
    const data = { a: [1, "two", null, [], {}], b: undefined, c: { d: true }, e: [undefined] };
    expect(printJson(data, 2)).toBe(JSON.stringify(data, null, 2));
    expect(printJson(data)).toBe(JSON.stringify(data));
    expect(escapeHidden("\u{e0041}")).toBe("\\udb40\\udc41");
  });

  it("has any depth, and its size grows linearly with the depth", () => {
    let deep: unknown = null;
    for (let level = 0; level < 20_000; level += 1) deep = { level, below: [deep] };
    const json = printJson(deep, 2);
    expect(json.length).toBeLessThan(20_000 * 500);
    let levels = 0;
    for (let at = JSON.parse(json) as { below: never } | null; at !== null; at = at.below[0] ?? null) levels += 1;
    expect(levels).toBe(20_000);
    expect(printJson(deep)).not.toContain(" ");
  });
});

describe("Markdown", () => {
  const RUNS = /<(?=[a-z/!?])|!\[|\](?:\[|:|\((?!https?:\/\/))/i;

  it("of untrusted text has no tags, no images and only web links", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(proseMarkdown(text.replaceAll("\n", " "))).not.toMatch(RUNS);
      }),
    );
    const shown = proseMarkdown(
      '<script>alert(1)</script> ![x](http://beacon) [a](javascript:alert(1)) [b]\\[c] [r]: javascript:x\n<javascript:alert(1)> a < b [ok](https://example.com) \\<img onerror="x">',
    );
    expect(shown).not.toMatch(RUNS);
    expect(shown).toContain("a < b [ok](https://example.com)");
  });

  it("keeps complete fences unchanged, and starts no other fence", () => {
    const code = "```ts\nconst a: Array<string> = [];\n```";
    expect(proseMarkdown(`a\n${code}\nb`)).toBe(`a\n${code}\nb`);
    for (const open of ["```", "~~~~", "- ```", "> ~~~", "   ```js"])
      expect(proseMarkdown(`${open}\n<b>`)).toMatch(/&#(?:96|126);.*\n&lt;b>$/);
    // Each length is searched for once: quadratic time would take minutes.
    expect(proseMarkdown("```a\n".repeat(200_000))).not.toContain("```");
  });

  it("has fences and code spans that the text cannot close", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const [first = "", ...rest] = fencedMarkdown(text, "json").split("\n");
        const fence = /^`+/.exec(first)?.[0] ?? "";
        expect(rest.findIndex((line) => line.includes(fence))).toBe(rest.length - 1);
        const code = codeMarkdown(text);
        const mark = /^`+/.exec(code)?.[0] ?? "";
        expect(code.slice(mark.length).indexOf(mark)).toBe(code.length - 2 * mark.length);
      }),
    );
    // Removing a terminal sequence may join two runs of backticks.
    expect(fencedMarkdown("``\u001b[m`")).toBe("````\n```\n````");
  });
});
