import { describe, expect, it } from "vitest";
import { TokenCounter } from "./tokens.ts";

const usage = (input: number, cached: number, output: number) => ({
  input_tokens: input,
  cached_input_tokens: cached,
  output_tokens: output,
});
const total = (all: object, last: object = all) => ({ info: { total_token_usage: all, last_token_usage: last } });
const record = (id: string, own: object, all: object, thread = "t") => ({
  response_id: id,
  thread_id: thread,
  usage: own,
  thread_token_usage: all,
});
const tokens = (inputTokens: number, cacheReadTokens: number, outputTokens: number) => ({
  inputTokens,
  cacheReadTokens,
  outputTokens,
});

describe("running totals", () => {
  it("count the increase since the last total, however often they are written", () => {
    const counter = new TokenCounter("t");
    expect(counter.total(total(usage(100, 10, 5)))?.tokens).toMatchObject(tokens(90, 10, 5));
    expect(counter.total(total(usage(100, 10, 5)))).toBeNull();
    expect(counter.total(total(usage(150, 30, 9), usage(9_999, 0, 0)))?.tokens).toMatchObject(tokens(30, 20, 4));
    expect(counter.total({ info: null })).toBeNull();
  });

  it("continue from the inherited total", () => {
    const counter = new TokenCounter("t");
    counter.inherit(total(usage(1_000, 0, 50)));
    expect(counter.total(total(usage(1_000, 0, 50)))).toBeNull();
    expect(counter.total(total(usage(1_100, 0, 60)))?.tokens).toMatchObject(tokens(100, 0, 10));
  });

  it("restart if the total equals the last response, and otherwise repeat an old one", () => {
    const counter = new TokenCounter("t");
    counter.total(total(usage(1_000, 0, 50)));
    expect(counter.total(total(usage(400, 0, 20), usage(10, 0, 1)))).toBeNull();
    expect(counter.total(total(usage(40, 0, 2)))?.tokens).toMatchObject(tokens(40, 0, 2));
  });
});

describe("usage records of single responses", () => {
  it("count by the response's id, and the total after them adds nothing", () => {
    const counter = new TokenCounter("t");
    const first = counter.record(record("resp_1", usage(100, 10, 5), usage(100, 10, 5)));
    expect([first?.response, first?.tokens.inputTokens]).toEqual(["codex:resp_1", 90]);
    expect(counter.total(total(usage(100, 10, 5)))).toBeNull();
    // After a kill and a resume, Codex continues from the last total it wrote.
    expect(counter.record(record("resp_2", usage(50, 0, 5), usage(60, 0, 6)))?.tokens.inputTokens).toBe(50);
    expect(counter.total(total(usage(60, 0, 6)))).toBeNull();
  });

  it("of another thread are ignored", () => {
    expect(new TokenCounter("t").record(record("resp_1", usage(1, 0, 1), usage(1, 0, 1), "other"))).toBeNull();
  });

  it("can follow totals of older versions in the same file, and the other way round", () => {
    const counter = new TokenCounter("t");
    counter.total(total(usage(100, 0, 5)));
    expect(counter.record(record("resp_1", usage(20, 0, 1), usage(120, 0, 6)))?.tokens).toMatchObject(tokens(20, 0, 1));
    expect(counter.total(total(usage(150, 0, 8)))?.tokens).toMatchObject(tokens(30, 0, 2));
  });

  it("contain cache writes and reasoning, which are parts of input and output", () => {
    const own = {
      input_tokens: 100,
      cached_input_tokens: 10,
      cache_write_input_tokens: 30,
      output_tokens: 50,
      reasoning_output_tokens: 20,
    };
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

describe("totals to compare with", () => {
  const [first, second, third] = [usage(100, 10, 5), usage(50, 0, 6), usage(70, 0, 7)];
  const stated = (found: ReturnType<TokenCounter["totalInCount"]>) => {
    const amounts = found?.byModel[0]?.amounts;
    return amounts === undefined ? null : [amounts.inputTokens, amounts.cacheReadTokens, amounts.outputTokens];
  };
  /** As when a rollout is read: each row is counted, and then asked for a total. */
  const reading = (counter: TokenCounter) => ({
    record: (id: string, own: object, all: object) => {
      counter.record(record(id, own, all));
      return stated(counter.totalInRecord(record(id, own, all), false));
    },
    count: (all: object) => {
      counter.total(total(all));
      return stated(counter.totalInCount(total(all), false));
    },
  });

  it("are in each record, and stated again only if the count after it differs", () => {
    const read = reading(new TokenCounter("t"));
    expect(read.record("r1", first, usage(100, 10, 5))).toEqual([90, 10, 5]);
    expect(read.count(usage(100, 10, 5))).toBeNull();
    expect(read.record("r2", { ...second, input_tokens: 51 }, usage(150, 10, 11))).toEqual([140, 10, 11]);
    expect(read.count(usage(152, 10, 11))).toEqual([142, 10, 11]);
  });

  it.each([
    ["goes on", usage(220, 10, 18)],
    ["goes on from the last count", usage(170, 10, 12)],
  ])(
    "keep a response that was not counted yet when the process was killed, if the total in the records %s",
    (_how, afterwards) => {
      const counter = new TokenCounter("t");
      const read = reading(counter);
      read.record("r1", first, usage(100, 10, 5));
      read.count(usage(100, 10, 5));
      expect(read.record("r2", second, usage(150, 10, 11))).toEqual([140, 10, 11]);
      counter.resumed();
      const resumed = reading(new TokenCounter("t", JSON.parse(JSON.stringify(counter.save()))));
      const inRecord = resumed.record("r3", third, afterwards);
      expect(resumed.count(usage(170, 10, 12)) ?? inRecord).toEqual([210, 10, 18]);
    },
  );

  it("do not exist before there are records; later ones include what was counted until then", () => {
    const read = reading(new TokenCounter("t"));
    expect(read.count(usage(100, 10, 5))).toBeNull();
    expect(read.record("r2", second, usage(150, 10, 11))).toEqual([140, 10, 11]);
  });

  it("of another thread are ignored", () => {
    expect(new TokenCounter("t").totalInRecord(record("r1", first, first, "other"), false)).toBeNull();
  });
});

it("a model call derived from running totals is marked as such, because it cannot be compared with them", () => {
  const counter = new TokenCounter("t");
  const usage = { input_tokens: 10, output_tokens: 2 };
  expect(counter.total({ info: { total_token_usage: usage } })).toMatchObject({ fromTotals: true });
  expect(new TokenCounter("t").record({ usage, response_id: "r", thread_id: "t" })).not.toHaveProperty("fromTotals");
});
