import { expect, it } from "vitest";
import { columnOf } from "./columns.ts";
import { sampleAgent, sampleSet } from "./sample.ts";

it("an agent that failed by itself has an error, also in the sum of its thread", () => {
  const counts = { ...sampleAgent("r", null).counts, toolErrors: 2 };
  const set = sampleSet({ r: ["a"] }, "r", (uri) => (uri === "r" ? { counts } : { status: "errored" }));
  const [root, failed] = [set.get("r"), set.get("a")];
  if (root === undefined || failed === undefined) throw new Error("the set lacks an agent");
  const errors = columnOf("errors");
  expect([root, failed].map((record) => errors?.own(record, 0))).toEqual([2, 1]);
  expect(errors?.total(root, set.sumsOf("r"), 0)).toBe(3);
});
