import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NO_USAGE } from "../facts/usage.ts";
import type { SpentRow } from "./stats.ts";
import { ChangingSums, OTHER, StatsSums } from "./stats-sums.ts";

const row = (thread: number, n: number): SpentRow => ({
  day: `2026-06-${String(1 + (n % 9)).padStart(2, "0")}`,
  provider: "toy",
  model: n % 7 === 0 ? null : `m-${n % 3}`,
  type: n % 2 === 0 ? "(main)" : "worker",
  project: "shop",
  template: `template ${n}`,
  status: n % 5 === 0 ? "errored" : "completed",
  thread: `toy://t${thread}`,
  agents: n % 4 === 0 ? 0 : 1,
  durationMs: n % 4 === 0 ? 0 : 1 + n * 100,
  usage: { ...NO_USAGE, calls: n, inputTokens: 2 * n, costUsd: n % 6 === 0 ? null : n / 4 },
});

describe("sums that change", () => {
  it("are those of the rows that are left, whatever was added and removed, in parts", () => {
    const numbers = fc.uniqueArray(fc.nat({ max: 600 }), { maxLength: 60 });
    const threads = fc.array(numbers, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(threads, threads, fc.integer({ min: 0, max: 12 }), (before, after, cut) => {
        const rowsOf = (list: readonly number[], thread: number) => list.map((n) => row(thread, n));
        let sums = new ChangingSums(null);
        for (const [thread, list] of before.entries()) {
          sums.change(rowsOf(list, thread), 1);
          // Stored and read again.
          if (thread === cut) sums = new ChangingSums(JSON.parse(JSON.stringify(sums.packed)) as never);
        }
        for (const [thread, list] of before.entries()) sums.change(rowsOf(list, thread), -1);
        expect(sums.packed).toBeNull();
        for (const [thread, list] of after.entries()) sums.change(rowsOf(list, thread), 1);
        const right = new StatsSums();
        for (const [thread, list] of after.entries()) right.add(rowsOf(list, thread));
        const found = new StatsSums();
        if (sums.packed !== null) found.merge(sums.packed);
        for (const group of ["day", "model", "type", "status"] as const) {
          const plain = (lines: StatsSums) => lines.by(group).map(({ durations: _, ...line }) => line);
          expect(plain(found)).toEqual(plain(right));
        }
      }),
      { numRuns: 60 },
    );
  });

  it("tell a limited number of templates apart, and count the others together", () => {
    const sums = new ChangingSums(null);
    for (let n = 1; n <= 300; n += 1) sums.change([row(n, n)], 1);
    const { full, by } = sums.packed ?? { full: [], by: {} };
    expect([full, by.template?.length]).toEqual([["template"], 201]);
    const found = new StatsSums();
    if (sums.packed !== null) found.merge(sums.packed);
    expect(found.by("template").find(({ key }) => key === OTHER)?.threads).toBe(100);
    expect(found.total().threads).toBe(300);
    // One that was told apart, and one that was not.
    for (const n of [1, 300]) sums.change([row(n, n)], -1);
    const left = new StatsSums();
    if (sums.packed !== null) left.merge(sums.packed);
    expect(left.by("template").find(({ key }) => key === OTHER)?.threads).toBe(99);
    expect(left.by("template").some(({ key }) => key === "template 1")).toBe(false);
  });
});
