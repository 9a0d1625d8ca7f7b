import { describe, expect, it } from "vitest";
import { NumberRows, TextColumn } from "./columns.ts";

describe("rows of numbers", () => {
  it("return what was pushed, over several blocks", () => {
    const rows = new NumberRows(3);
    for (let i = 0; i < 1_000; i += 1) rows.push([i, -i, Number.NaN]);
    expect(rows.length).toBe(1_000);
    for (let i = 0; i < 1_000; i += 1)
      expect([rows.get(i, 0), rows.get(i, 1), rows.get(i, 2)]).toEqual([i, -i, Number.NaN]);
    expect(rows.get(1_024, 0)).toBeNaN();
  });

  it("take little memory for few rows, and at most one block more than their rows need", () => {
    const rows = new NumberRows(2);
    rows.push([1, 2]);
    expect(rows.bytes).toBe(16);
    for (let i = 1; i < 1_025; i += 1) rows.push([i, i]);
    expect(rows.bytes).toBe(1_025 * 16);
  });
});

describe("a column of texts", () => {
  it("returns what was pushed, in any order, while it grows", () => {
    const texts = new TextColumn();
    const text = (i: number) => `msg_${i}\u0000"é\ud800`;
    for (let i = 0; i < 1_000; i += 1) {
      texts.push(text(i));
      expect(texts.get(i)).toBe(text(i));
      expect(texts.get(i >> 1)).toBe(text(i >> 1));
    }
    expect(texts.length).toBe(1_000);
    expect(texts.get(1_000)).toBeUndefined();
    expect(texts.get(5_000)).toBeUndefined();
  });
});
