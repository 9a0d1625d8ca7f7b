/** Extreme numbers in records: no sum, cost or JSON value becomes infinite, negative or null. */
import { describe, expect, it } from "vitest";
import { listPrice } from "../../src/app/query/prices.ts";
import { asAmount, asCount, asNumber, MAX_NUMBER, printJson } from "../../src/core/tools/json.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { thread } from "../../src/providers/claude/keys.ts";
import { forestOf, mainWriter, SESSION, THREAD_FILE, text } from "../support/claude-records.ts";

describe("a number in a record", () => {
  it.each([
    [1e308, MAX_NUMBER],
    [Number.MAX_VALUE, MAX_NUMBER],
    [Number.POSITIVE_INFINITY, 0],
    [Number.NaN, 0],
    [-5, 0],
    ["12", 0],
    [null, 0],
    [{}, 0],
    [12.5, 12.5],
  ])("with the value %s counts as %s", (value, counted) => {
    expect(asCount(value)).toBe(counted);
  });

  it("is bounded, and unknown if it is not a number", () => {
    expect([asNumber(-1e308), asNumber("1"), asAmount(-1), asAmount(undefined)]).toEqual([-MAX_NUMBER, null, 0, null]);
  });

  it("gives finite sums and costs, and a warning on the agent", () => {
    const main = mainWriter();
    const response = (usage: object) => main.assistant([text("x")], { usage });
    const lines = [
      main.user("go"),
      response({
        input_tokens: 1e308,
        output_tokens: 1e308,
        cache_read_input_tokens: 1e308,
        cache_creation_input_tokens: 1e308,
      }),
      response({ input_tokens: 1e308, output_tokens: -7, cache_read_input_tokens: "9" }),
      response({ input_tokens: 10, output_tokens: 5 }),
    ];
    const tree = treeOf(forestOf({ [THREAD_FILE]: lines }), thread(SESSION), listPrice);
    const { own, subtree } = tree.usage;
    for (const usage of [own, subtree])
      expect(
        Object.values(usage).every((value) => typeof value === "number" && Number.isFinite(value) && value >= 0),
      ).toBe(true);
    expect(own.costUsd).toBeGreaterThan(0);
    expect(tree.warnings).toContainEqual(expect.stringContaining("impossible number of tokens"));
    expect(printJson(tree.usage.own)).not.toContain("null");
  });
});
