import pc from "picocolors";
import { describe, expect, it } from "vitest";
import { harmless } from "./terminal.ts";

describe("terminal output", () => {
  const colors = pc.createColors(true);

  it.each(["bold", "dim", "inverse", "red", "green", "yellow", "magenta", "cyan"] as const)(
    "keeps our own colour %s",
    (name) => {
      expect(harmless(colors[name]("x"), true)).toBe(colors[name]("x"));
      expect(harmless(colors[name]("x"), false)).toBe("x");
    },
  );

  it("contains no other control sequence", () => {
    expect(harmless("\u001b[8mhidden\u001b[2J\u001b]0;title\u0007\u009b5m\r\u202e", true)).toBe("hidden\n‹U+202E›");
  });
});
