import { calcPrice } from "@pydantic/genai-prices";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordKey } from "../../core/facts/ids.ts";
import type { ModelCall } from "../../core/link/gather.ts";
import { listPrice } from "./prices.ts";

const at = Date.parse("2026-11-15");
const call = (model: string, tokens: Partial<ModelCall["tokens"]>): ModelCall => ({
  response: recordKey("claude", "r"),
  rows: null,
  at,
  model,
  tokens: {
    inputTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
    ...tokens,
  },
  counted: true,
  end: "finished",
});

describe("public prices", () => {
  it("are the price list's own, call after call, for flat and tiered models alike", () => {
    const count = fc.nat(400_000);
    fc.assert(
      fc.property(
        fc.constantFrom("claude-opus-5-5", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-sonnet-4-20250514"),
        count,
        count,
        count,
        count,
        (model, input, output, read, write) => {
          const oneHour = Math.floor(write / 3);
          const ours = listPrice(
            call(model, {
              inputTokens: input,
              outputTokens: output,
              cacheReadTokens: read,
              cacheWriteTokens: write,
              cacheWrite1hTokens: oneHour,
            }),
            "claude",
          );
          const usage = {
            input_tokens: input + read + write,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: write,
            cache_write_1h_tokens: oneHour,
          };
          expect(ours).toBeCloseTo(
            calcPrice(usage, model, { providerId: "anthropic", timestamp: new Date(at) })?.total_price ?? Number.NaN,
            9,
          );
        },
      ),
      { numRuns: 200 },
    );
  });
  it("are the same to the last digit, whichever call of a day is priced first", () => {
    const [a, b] = [
      call("claude-opus-5-5", { inputTokens: 139, outputTokens: 47, cacheReadTokens: 3703, cacheWriteTokens: 26 }),
      call("claude-opus-5-5", { inputTokens: 7 }),
    ];
    const other = (c: ModelCall) => ({ ...c, at: at + 86_400_000 });
    const first = listPrice(other(a), "claude");
    listPrice(b, "claude");
    expect(listPrice(a, "claude")).toBe(first);
  });
  it("are unknown for unlisted models, on every lookup", () => {
    expect([1, 2].map(() => listPrice(call("no-such-model", { inputTokens: 1 }), "claude"))).toEqual([null, null]);
  });
});

describe("the cost of a model call", () => {
  const tokens = { inputTokens: 1000, outputTokens: 100, reasoningTokens: 50 };

  it("is the product's own figure if stated, and unknown if too little is recorded", () => {
    expect(listPrice({ ...call("nobody-knows-it", tokens), costUsd: 0.25 }, "pi")).toBe(0.25);
    expect(listPrice({ ...call("claude-sonnet-4-5", tokens), costUsd: null }, "copilot")).toBeNull();
  });

  it("is on the list of the vendor that it names", () => {
    const asked = { ...call("claude-sonnet-4-5", tokens), vendor: "anthropic" };
    expect(listPrice(asked, "copilot")).toBe(listPrice(call("claude-sonnet-4-5", tokens), "claude"));
    expect(listPrice({ ...call("nobody-knows-it", tokens), vendor: "nobody" }, "copilot")).toBeNull();
  });

  it("includes reasoning tokens if they are counted in addition to the output", () => {
    const thought = listPrice(call("gemini-2.5-pro", tokens), "gemini") ?? 0;
    expect(thought).toBeCloseTo((1000 * 1.25 + 150 * 10) / 1e6, 9);
    expect(listPrice(call("gemini-2.5-pro", { ...tokens, reasoningTokens: 0 }), "gemini")).toBeLessThan(thought);
  });
});

describe("the cost of a request", () => {
  const million = (model: string, more: Partial<ModelCall> = {}) =>
    listPrice({ ...call(model, { inputTokens: 100_000, outputTokens: 10_000 }), ...more }, "claude");

  it("in fast mode is a multiple of the standard price, and unknown if the multiple is unknown", () => {
    expect(million("claude-opus-5-5", { fast: true })).toBeCloseTo(2 * (million("claude-opus-5-5") ?? 0), 9);
    expect(million("claude-opus-4-6", { fast: true })).toBeCloseTo(6 * (million("claude-opus-4-6") ?? 0), 9);
    expect(million("claude-opus-5-5", { fast: true })).toBeCloseTo(0.8 + 0.4, 9);
    expect(million("claude-haiku-4-5", { fast: true })).toBeNull();
  });

  it("depends on the size of that request, not on the sum, if the model has a price for long requests", () => {
    const of = (inputTokens: number) => listPrice(call("claude-sonnet-4-5", { inputTokens }), "claude") ?? 0;
    expect(2 * of(150_000)).toBeCloseTo(0.9, 9);
    expect(of(300_000)).toBeCloseTo(1.8, 9);
  });
});
