import { describe, expect, it } from "vitest";
import { MAX_OTLP_DEPTH, MAX_OTLP_FIELDS, TooLarge } from "../../core/tools/limits.ts";
import { attributesOf, decodeOtlp, itemsIn, nanoTime, parseOtlp } from "./otlp.ts";

const varint = (n: bigint): number[] => (n < 128n ? [Number(n)] : [Number(n & 127n) | 128, ...varint(n >> 7n)]);
const field = (number: number, type: number, bytes: readonly number[]) => [
  ...varint(BigInt((number << 3) | type)),
  ...bytes,
];
const block = (number: number, bytes: readonly number[]) =>
  field(number, 2, [...varint(BigInt(bytes.length)), ...bytes]);
const text = (number: number, words: string) => block(number, [...new TextEncoder().encode(words)]);
const fixed = (number: number, value: bigint) =>
  field(number, 1, [...new Uint8Array(new BigUint64Array([value]).buffer)]);
const attribute = (key: string, value: readonly number[]) => block(9, [...text(1, key), ...block(2, value)]);

const SPAN = [
  ...block(1, [0xab, 0x01]),
  ...block(2, [0x0f]),
  ...text(5, "claude_code.llm_request"),
  ...fixed(7, 1794778490000000000n),
  ...attribute("agent_id", text(1, "a1ü")),
  ...attribute("input_tokens", field(3, 0, varint(300n))),
  ...attribute("negative", field(3, 0, varint((1n << 64n) - 5n))),
  ...attribute("success", field(2, 0, [1])),
  ...attribute("ratio", field(4, 1, [...new Uint8Array(new Float64Array([0.5]).buffer)])),
  // Fields of later versions are skipped, whatever they are.
  ...field(900, 0, varint(1n << 40n)),
  ...field(901, 5, [1, 2, 3, 4]),
];
const TRACES = Uint8Array.from(
  block(1, [
    ...block(1, block(1, [...text(1, "service.name"), ...block(2, text(1, "claude-code"))])),
    ...block(2, [...text(3, "schema"), ...block(2, SPAN)]),
  ]),
);

describe("a protobuf request", () => {
  it("is decoded to the same value as OTLP's JSON form", () => {
    const [found] = [...itemsIn(decodeOtlp("traces", TRACES))];
    expect(found?.resource).toEqual({ "service.name": "claude-code" });
    expect(found?.item).toMatchObject({
      traceId: "ab01",
      spanId: "0f",
      name: "claude_code.llm_request",
      startTimeUnixNano: "1794778490000000000",
    });
    expect(attributesOf(found?.item ?? null)).toEqual({
      agent_id: "a1ü",
      input_tokens: 300,
      negative: -5,
      success: true,
      ratio: 0.5,
    });
    expect(nanoTime(found?.item.startTimeUnixNano)).toBe(1794778490000);
  });

  it("that is truncated anywhere throws, and reads nothing beyond its end", () => {
    for (let end = 1; end < TRACES.length; end += 1)
      expect(() => decodeOtlp("traces", TRACES.subarray(0, end))).toThrow();
  });

  it("of unrelated bytes throws or yields little", () => {
    expect(() => decodeOtlp("logs", new TextEncoder().encode('{"resourceLogs":[]}'))).toThrow();
    expect(decodeOtlp("logs", new Uint8Array())).toEqual({});
  });
});

describe("a request made to be large", () => {
  /** Counts the list elements that are read during an action. */
  function stepsOf(work: () => void): number {
    const original = Array.prototype[Symbol.iterator];
    let steps = 0;
    Array.prototype[Symbol.iterator] = function* (this: unknown[]) {
      for (let i = 0; i < this.length; i += 1) {
        steps += 1;
        yield this[i];
      }
    } as typeof original;
    try {
      work();
    } finally {
      Array.prototype[Symbol.iterator] = original;
    }
    return steps;
  }
  const empty = (count: number) => new Uint8Array(2 * count).map((_, i) => (i % 2 === 0 ? 0x0a : 0));

  it("takes work in proportion to its length", () => {
    const [some, twice] = [1_000, 2_000].map((count) => stepsOf(() => decodeOtlp("traces", empty(count))));
    expect(twice).toBeLessThanOrEqual(2 * (some ?? 0) + 10);
    expect(decodeOtlp("traces", empty(3))).toEqual({ resourceSpans: [{}, {}, {}] });
  });

  it("has a limit on the number of fields, including those that are skipped", () => {
    expect(() => decodeOtlp("traces", empty(MAX_OTLP_FIELDS + 1))).toThrow(TooLarge);
    expect(() =>
      decodeOtlp(
        "traces",
        new Uint8Array(2 * MAX_OTLP_FIELDS + 2).map((_, i) => (i % 2 === 0 ? 0x78 : 1)),
      ),
    ).toThrow(TooLarge);
    expect(() => parseOtlp(`{"resourceSpans":[${"{},".repeat(MAX_OTLP_FIELDS)}{}]}`)).toThrow(TooLarge);
  });

  it("has a limit on the nesting depth", () => {
    // A span's attribute whose value is a list in a list in a list.
    const nested = (levels: number): number[] => (levels === 0 ? [] : block(5, block(1, nested(levels - 1))));
    const request = (levels: number) =>
      Uint8Array.from(block(1, block(2, block(2, attribute("deep", nested(levels))))));
    expect(() => decodeOtlp("traces", request(40))).not.toThrow();
    expect(() => decodeOtlp("traces", request(MAX_OTLP_DEPTH))).toThrow(/levels/);
    expect(() => parseOtlp(`{"a":${"[".repeat(5_000)}${"]".repeat(5_000)}}`)).toThrow(/levels/);
    expect(() => parseOtlp("[".repeat(20_000_000))).toThrow(/levels/);
  });

  it("may have long byte values, but no long ids", () => {
    const long = Uint8Array.from({ length: 200_001 }, (_, i) => i % 256);
    const value = (bytes: Uint8Array) => [0x3a, ...varint(BigInt(bytes.length)), ...bytes];
    const log = decodeOtlp("logs", Uint8Array.from(block(1, block(2, block(2, block(5, value(long)))))));
    expect(log).toMatchObject({
      resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { bytesValue: Buffer.from(long).toString("base64") } }] }] }],
    });
    expect(() =>
      decodeOtlp("traces", Uint8Array.from(block(1, block(2, block(2, block(1, [...long.subarray(0, 99)])))))),
    ).toThrow(/id of 99 bytes/);
  });
});

describe("times", () => {
  it.each([
    ["1794778490123000000", 1794778490123],
    [1794778490123000000, 1794778490123],
    ["0", null],
    ["never", null],
    [null, null],
  ])("%j is %j", (value, expected) => {
    expect(nanoTime(value)).toBe(expected);
  });
});
