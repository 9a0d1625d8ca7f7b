import { describe, expect, it } from "vitest";
import { endByStatus, endOfNested, outcomesIn, tasksOf } from "./spawns.ts";

const call = (name: string, args: Record<string, unknown>) => ({ id: "c", name, args });

describe("a call", () => {
  it.each([
    ["for one", call("subagent", { agent: "scout", task: "look" }), ["look"]],
    [
      "for several",
      call("subagent", {
        tasks: [
          { agent: "a", task: "left" },
          { agent: "b", task: "right" },
        ],
      }),
      ["left", "right"],
    ],
    [
      "for one after the other",
      call("subagent", {
        chain: [
          { agent: "a", task: "first" },
          { agent: "b", task: "then" },
        ],
      }),
      ["first", "then"],
    ],
    [
      "of the other extension",
      call("Agent", { prompt: "look", subagent_type: "Explore", description: "Looks" }),
      ["look"],
    ],
    ["that asks how one is doing", call("subagent", { action: "status", id: "x" }), null],
    ["of another tool", call("bash", { command: "ls" }), null],
  ])("%s", (_, asked, prompts) => {
    expect(tasksOf(asked)?.map(({ prompt }) => prompt) ?? null).toEqual(prompts);
  });
});

describe("how a child ended", () => {
  const endOf = (result: Record<string, unknown>) => outcomesIn({ results: [result] })[0]?.end?.state ?? null;

  it("follows from its stop reason, whatever its exit code", () => {
    expect(endOf({ exitCode: 0, stopReason: "error", errorMessage: "400" })).toBe("errored");
    expect(endOf({ exitCode: 0, stopReason: "aborted" })).toBe("shutdown");
    expect(endOf({ exitCode: 0, stopReason: "stop" })).toBe("completed");
    expect(endOf({ exitCode: 1 })).toBe("errored");
    expect(endOf({ exitCode: -1 })).toBeNull();
  });

  it("follows from the status of its call in a script, and is unknown if the script ended first", () => {
    const nested = (status: string, error: string | null = null) => ({ ...call("subagent", {}), status, error });
    expect(endOfNested(nested("ok"), false)?.state).toBe("completed");
    expect(endOfNested(nested("ok"), true)?.state).toBe("launched");
    expect(endOfNested(nested("error", "400: bad\nmore"), false)?.says).toBe("its call in a script failed: 400: bad");
    expect(endOfNested(nested("unfinished"), false)).toBeNull();
  });

  it("is unknown for unknown values", () => {
    expect(endByStatus("thinking", null, null)).toBeNull();
    expect(endByStatus("background", null, null)?.state).toBe("launched");
  });
});

it("a result without messages and without a file counts by its total", () => {
  const [outcome] = outcomesIn({
    results: [
      {
        agent: "a",
        usage: { input: 5, output: 3, cacheRead: 2, cacheWrite: 0, cost: 0.01, turns: 2 },
        model: "mock/m-1",
      },
    ],
  });
  expect(outcome?.used).toMatchObject({
    tokens: { inputTokens: 5, outputTokens: 3, cacheReadTokens: 2 },
    costUsd: 0.01,
    turns: 2,
    model: "m-1",
  });
});
