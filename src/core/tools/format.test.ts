import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ago,
  bytes,
  clock,
  count,
  dateAndTime,
  duration,
  exact,
  exactMoney,
  money,
  moneyKnown,
  percent,
  plural,
} from "./format.ts";

describe("counts", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [1_000, "1.0k"],
    [34_512, "34.5k"],
    [99_960, "100k"],
    [999_999, "1.0M"],
    [123_456_789, "123M"],
    [null, "–"],
  ])("%s is %s", (n, words) => expect(count(n)).toBe(words));

  it("have every digit when they are compared", () => {
    expect([
      exact(1_234_567),
      exact(-1_200),
      plural(1, "agent"),
      plural(1_200, "agent"),
      plural(2, "child", "children"),
    ]).toEqual(["1,234,567", "-1,200", "1 agent", "1,200 agents", "2 children"]);
  });

  it.each([
    [12, "12 B"],
    [999, "999 B"],
    [12_345, "12.3 kB"],
    [3_400_000_000, "3.4 GB"],
  ])("%s bytes are %s", (n, words) => expect(bytes(n)).toBe(words));
});

describe("money", () => {
  it.each([
    [0, "$0"],
    [0.00001, "<$0.0001"],
    [0.00005, "$0.0001"],
    [0.0042, "$0.0042"],
    [0.0123, "$0.0123"],
    [0.09999, "$0.10"],
    [0.5, "$0.50"],
    [0.999, "$1.00"],
    [12.34, "$12.34"],
    [1_234.5, "$1,234.50"],
    [-0.5, "-$0.50"],
    [null, "–"],
  ])("%s is %s", (usd, words) => expect(money(usd)).toBe(words));

  it("is never shown as zero if something was spent, and never decreases when more was spent", () => {
    const shown = (usd: number) => Number(money(usd).replace(/[<$,]/g, ""));
    fc.assert(
      fc.property(
        fc.double({ min: 1e-9, max: 1e6, noNaN: true }),
        fc.double({ min: 1e-9, max: 1e6, noNaN: true }),
        (a, b) => {
          expect(shown(a)).toBeGreaterThan(0);
          expect(shown(Math.min(a, b))).toBeLessThanOrEqual(shown(Math.max(a, b)));
        },
      ),
    );
  });

  it("is a lower bound if a price is missing", () => {
    expect([moneyKnown(1.5, 1.5), moneyKnown(null, 0.5), moneyKnown(null, 0), exactMoney(0.0123456)]).toEqual([
      "$1.50",
      "≥ $0.50",
      "–",
      "$0.012346",
    ]);
  });
});

describe("times", () => {
  it.each([
    [0, "0 ms"],
    [840, "840 ms"],
    [999.6, "1.0 s"],
    [1_080, "1.1 s"],
    [9_960, "10 s"],
    [59_400, "59 s"],
    [59_600, "1 m"],
    [252_000, "4 m 12 s"],
    [3_599_600, "1 h"],
    [7_380_000, "2 h 3 m"],
    [3_600_000 * 50, "2 d 2 h"],
    [-5, "0 ms"],
    [null, "–"],
  ])("%s ms are %s", (ms, words) => expect(duration(ms)).toBe(words));

  it("are shown relative to now", () => {
    const now = Date.parse("2026-11-16T12:00:00Z");
    const shown = [
      "2026-11-16T11:59:58Z",
      "2026-11-16T11:59:18Z",
      "2026-11-16T11:15:00Z",
      "2026-11-16T09:10:00Z",
      "2026-11-14T11:15:00Z",
      "2026-01-14T11:15:00Z",
    ];
    expect([...shown, "2026-11-16T12:00:09Z", "no time", null].map((at) => ago(at, now))).toEqual([
      "just now",
      "42 s ago",
      "45 m ago",
      "2 h ago",
      "2 d ago",
      "2026-01-14",
      "just now",
      "–",
      "–",
    ]);
  });

  it("are shown as such if they are in the future", () => {
    const now = Date.parse("2026-11-16T12:00:00Z");
    const shown = ["2026-11-16T12:00:59Z", "2026-11-16T12:05:00Z", "2026-11-16T15:00:00Z", "2026-11-18T12:00:00Z"];
    const far = ["2050-01-01T00:00:00.000Z", "+010000-01-01T00:00:00.000Z"];
    expect([...shown, ...far].map((at) => ago(at, now))).toEqual([
      "just now",
      "in 5 m",
      "in 3 h",
      "in 2 d",
      "2050-01-01",
      "+010000-01-01",
    ]);
  });

  it("are shown in the requested time zone", () => {
    const at = "2026-11-16T23:30:05.120Z";
    expect([clock(at, "UTC"), clock(at, "Asia/Tokyo"), dateAndTime(at, "Asia/Tokyo"), clock(null, "UTC")]).toEqual([
      "23:30:05",
      "08:30:05",
      "17 Nov 2026, 08:30:05",
      "–",
    ]);
  });
});

describe("shares", () => {
  it.each([
    [0, "0 %"],
    [0.0004, "<0.1 %"],
    [0.034, "3.4 %"],
    [0.0999, "10 %"],
    [0.34, "34 %"],
    [1, "100 %"],
  ])("%s is %s", (part, words) => expect(percent(part)).toBe(words));
});
