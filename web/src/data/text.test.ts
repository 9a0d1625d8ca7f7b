import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutAt, detached, oneLine, visible } from "./text.ts";

describe("displayed text", () => {
  it("has no terminal escape sequences", () => {
    expect(
      visible(
        "\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007link\u001b]8;;\u0007 \u001b[2J\u001b]0;title\u001b\\done\u001b[",
      ),
    ).toBe("red link done␛[");
  });

  it("shows invisible characters by name", () => {
    expect(visible("admin\u202enimda")).toBe("admin‹U+202E›nimda");
    expect(visible("a\u200bb\u{e0041}")).toBe("a‹U+200B›b‹U+E0041›");
    expect(visible("bell\u0007 nul\u0000")).toBe("bell␇ nul␀");
  });

  it("keeps ordinary text in any script", () => {
    const input = "Grüße, 世界, שלום, مرحبا, 👩‍💻\n\tindented";
    expect(visible(input)).toBe(input);
  });

  it("never contains a control character, for any input", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.integer({ min: 0, max: 0x2100 }).map((code) => String.fromCharCode(code)) }),
        (text) => {
          expect(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(visible(text))).toBe(false);
        },
      ),
    );
  });

  it("is read only as far as it is shown", () => {
    const read: number[] = [];
    const huge = {
      length: 100_000_000,
      slice(from: number, to: number) {
        read.push(to - from);
        return "x\u001b[31m ".repeat(to).slice(from, to);
      },
    } as unknown as string;
    expect(oneLine(huge, 80).length).toBeLessThanOrEqual(81);
    expect(read).toEqual([320]);
  });

  it("is truncated between characters", () => {
    expect(cutAt("ab👍", 3)).toBe("ab");
    expect(detached("ab👍c", 4)).toBe("ab👍");
    expect(detached("ab", 3)).toBe("ab");
    expect(oneLine("a\n  b\tc")).toBe("a b c");
  });
});
