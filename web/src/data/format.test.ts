import { describe, expect, it } from "vitest";
import { ago, bytes, count, dollars, duration, plural } from "./format.ts";

describe("numbers", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [1000, "1.0k"],
    [34_512, "34.5k"],
    [999_999, "1.0M"],
    [123_456_789, "123M"],
    [null, "–"],
  ])("%s is %s", (n, words) => expect(count(n)).toBe(words));

  it.each([
    [0, "$0"],
    [0.00001, "<$0.0001"],
    [0.0123, "$0.0123"],
    [1.5, "$1.50"],
    [12_345.6, "$12,346"],
    [null, "–"],
  ])("%s dollars are %s", (usd, words) => expect(dollars(usd)).toBe(words));

  it.each([
    [5, "5ms"],
    [1080, "1.0s"],
    [9_990, "9.9s"],
    [61_000, "1m 01s"],
    [3_600_000 * 3, "3h 00m"],
    [3_600_000 * 50, "2d 2h"],
    [null, "–"],
  ])("%s ms are %s", (ms, words) => expect(duration(ms)).toBe(words));

  it("count bytes and things", () => {
    expect(bytes(12)).toBe("12 B");
    expect(bytes(12_345)).toBe("12.3 kB");
    expect(plural(1, "agent")).toBe("1 agent");
    expect(plural(1200, "agent")).toBe("1,200 agents");
  });

  it("say how long ago something was", () => {
    const now = Date.parse("2026-11-16T12:00:00Z");
    expect(ago("2026-11-16T11:59:58Z", now)).toBe("now");
    expect(ago("2026-11-16T11:15:00Z", now)).toBe("45m ago");
    expect(ago("2026-11-14T11:15:00Z", now)).toBe("2d ago");
    expect(ago("2026-01-14T11:15:00Z", now)).toBe("2026-01-14");
    expect(ago(null, now)).toBe("–");
  });
});
