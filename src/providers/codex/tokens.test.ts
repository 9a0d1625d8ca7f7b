import { describe, expect, it } from "vitest";
import { TokenCounter } from "./tokens.ts";

const usage = (input: number, cached: number, output: number) => ({ input_tokens: input, cached_input_tokens: cached, output_tokens: output });
const total = (all: object, last: object = all) => ({ info: { total_token_usage: all, last_token_usage: last } });
const record = (id: string, own: object, all: object, thread = "t") => ({ response_id: id, thread_id: thread, usage: own, thread_token_usage: all });
const tokens = (inputTokens: number, cacheReadTokens: number, outputTokens: number) => ({ inputTokens, cacheReadTokens, outputTokens });

describe("running totals", () => {
  it("count what they say beyond the last one, however often they are written", () => {
    const counter = new TokenCounter("t");
    expect(counter.total(total(usage(100, 10, 5)))?.tokens).toMatchObject(tokens(90, 10, 5));
    expect(counter.total(total(usage(100, 10, 5)))).toBeNull();
    expect(counter.total(total(usage(150, 30, 9), usage(9_999, 0, 0)))?.tokens).toMatchObject(tokens(30, 20, 4));
    expect(counter.total({ info: null })).toBeNull();
  });

  it("go on from what was inherited", () => {
    const counter = new TokenCounter("t");
    counter.inherit(total(usage(1_000, 0, 50)));
    expect(counter.total(total(usage(1_000, 0, 50)))).toBeNull();
    expect(counter.total(total(usage(1_100, 0, 60)))?.tokens).toMatchObject(tokens(100, 0, 10));
  });

  it("began anew where everything so far is the last answer, and else only repeat an old one", () => {
    const counter = new TokenCounter("t");
    counter.total(total(usage(1_000, 0, 50)));
    expect(counter.total(total(usage(400, 0, 20), usage(10, 0, 1)))).toBeNull();
    expect(counter.total(total(usage(40, 0, 2)))?.tokens).toMatchObject(tokens(40, 0, 2));
  });
});

describe("records of single answers", () => {
  it("count by the response's id, and the total after them brings nothing new", () => {
    const counter = new TokenCounter("t");
    const first = counter.record(record("resp_1", usage(100, 10, 5), usage(100, 10, 5)));
    expect([first?.response, first?.tokens.inputTokens]).toEqual(["codex:resp_1", 90]);
    expect(counter.total(total(usage(100, 10, 5)))).toBeNull();
    // Killed and resumed, Codex goes on from the last total it wrote.
    expect(counter.record(record("resp_2", usage(50, 0, 5), usage(60, 0, 6)))?.tokens.inputTokens).toBe(50);
    expect(counter.total(total(usage(60, 0, 6)))).toBeNull();
  });

  it("of another thread are none of ours", () => {
    expect(new TokenCounter("t").record(record("resp_1", usage(1, 0, 1), usage(1, 0, 1), "other"))).toBeNull();
  });

  it("follow on totals of older versions in the same file, and those on them", () => {
    const counter = new TokenCounter("t");
    counter.total(total(usage(100, 0, 5)));
    expect(counter.record(record("resp_1", usage(20, 0, 1), usage(120, 0, 6)))?.tokens).toMatchObject(tokens(20, 0, 1));
    expect(counter.total(total(usage(150, 0, 8)))?.tokens).toMatchObject(tokens(30, 0, 2));
  });

  it("know cache writes and reasoning, which are parts of input and output", () => {
    const own = { input_tokens: 100, cached_input_tokens: 10, cache_write_input_tokens: 30, output_tokens: 50, reasoning_output_tokens: 20 };
    expect(new TokenCounter("t").record(record("r", own, own))?.tokens).toEqual({
      inputTokens: 60,
      cacheReadTokens: 10,
      cacheWriteTokens: 30,
      cacheWrite1hTokens: 0,
      outputTokens: 50,
      reasoningTokens: 20,
    });
  });
});

it("an answer that is worked out from running totals says so: they cannot be held against the count", () => {
  const counter = new TokenCounter("t");
  const usage = { input_tokens: 10, output_tokens: 2 };
  expect(counter.total({ info: { total_token_usage: usage } })).toMatchObject({ fromTotals: true });
  expect(new TokenCounter("t").record({ usage, response_id: "r", thread_id: "t" })).not.toHaveProperty("fromTotals");
});
