import { describe, expect, it } from "vitest";
import { row } from "../../../test/support/observations.ts";
import { NO_TOKENS } from "../facts/usage.ts";
import { CallColumns, CallSums, type Calls } from "./call-list.ts";
import type { ModelCall } from "./gather.ts";

const call = (n: number): ModelCall => ({
  response: row(`r${n}`),
  rows: null,
  at: n,
  model: "model-1",
  tokens: { ...NO_TOKENS, outputTokens: n },
  counted: true,
  end: "finished",
});

/** A list of calls that fails if it reads a dropped call again. */
const kept = () =>
  new CallColumns(() => {
    throw new Error("nothing was dropped");
  });

/** Sums output tokens, and counts the calls that it reads. */
function summing() {
  let visited = 0;
  const sums = new CallSums<{ tokens: number }>({
    start: () => ({ tokens: 0 }),
    copy: (sum) => ({ ...sum }),
    add: (sum, { tokens }) => {
      visited += 1;
      sum.tokens += tokens.outputTokens;
    },
  });
  return { of: (calls: Calls) => sums.of(calls).tokens, visited: () => visited };
}

const total = (n: number) => (n * (n + 1)) / 2;

describe("a sum over a growing list of calls", () => {
  it("is correct after every call, and reads only new calls and those that are not closed", () => {
    const columns = kept();
    const { of, visited } = summing();
    for (let n = 1; n <= 1_000; n += 1) {
      expect(of(columns.with([call(n), call(n + 1)]))).toBe(total(n + 1));
      columns.push(call(n));
    }
    expect(visited()).toBeLessThan(3_100);
  });

  it("is correct if the last calls change before they are closed", () => {
    const columns = kept();
    const { of } = summing();
    columns.push(call(1));
    expect(of(columns.with([call(5)]))).toBe(6);
    expect(of(columns.with([call(7)]))).toBe(8);
    columns.push(call(9));
    expect(of(columns.with([]))).toBe(10);
  });

  it("is correct for a list kept while the calls grew", () => {
    const columns = kept();
    const { of } = summing();
    columns.push(call(1));
    const before = columns.with([call(2)]);
    for (const n of [2, 3, 4]) columns.push(call(n));
    expect(of(columns.with([call(5)]))).toBe(total(5));
    expect(of(before)).toBe(3);
    expect(of(columns.with([call(6)]))).toBe(total(4) + 6);
    expect([...before].map(({ at }) => at)).toEqual([1, 2]);
  });

  it("is correct when earlier calls were dropped: they are not read again, or only on request", () => {
    let read = 0;
    const columns = new CallColumns(() => {
      read += 1;
      const all = kept();
      for (let n = 1; n <= columns.length; n += 1) all.push(call(n));
      return all;
    });
    const [{ of, visited }, late] = [summing(), summing()];
    for (let n = 1; n <= 10_000; n += 1) {
      columns.push(call(n));
      expect(of(columns.with([call(n + 1)]))).toBe(total(n + 1));
    }
    expect([read, visited()]).toEqual([0, 20_000]);
    expect(columns.bytes).toBeLessThan(10_000);
    expect([late.of(columns.with([])), [...columns.with([])].length, read]).toEqual([total(10_000), 10_000, 1]);
    // Calls that were read again are dropped again.
    for (let i = 0; i < 2_000; i += 1) columns.with([]);
    expect(columns.bytes).toBeLessThan(10_000);
    expect([...columns.with([])].map(({ at }) => at)).toEqual(Array.from({ length: 10_000 }, (_, i) => i + 1));
    expect(read).toBe(2);
  });

  it("is correct for an array, which is read once", () => {
    const { of, visited } = summing();
    const calls = [call(1), call(2), call(3)];
    expect([of(calls), of(calls)]).toEqual([6, 6]);
    expect(visited()).toBe(3);
  });
});
