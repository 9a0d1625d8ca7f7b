import { describe, expect, it } from "vitest";
import { planIn } from "./plan.ts";

describe("a plan", () => {
  it.each([
    [
      "is a list of todos",
      { todos: [{ content: "a", status: "pending", activeForm: "doing a" }] },
      [{ text: "a", state: "open" }],
    ],
    [
      "is a list of steps",
      { explanation: "why", plan: [{ step: "a", status: "in_progress" }] },
      [{ text: "a", state: "doing" }],
    ],
    ["may be emptied", { todos: [] }, []],
    ["is not a list of texts", { todos: ["a"] }, null],
    ["is not a single text", { plan: "first this, then that" }, null],
    ["is never in an input that is not an object", "todos", null],
  ] as const)("%s", (_, input, expected) => {
    expect(planIn(input)).toEqual(expected);
  });
});
