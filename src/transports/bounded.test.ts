import { describe, expect, it } from "vitest";
import { readBody, readInput } from "./bounded.ts";

describe("the body of a response", () => {
  /** Counts the bytes that are read from it. */
  function endless(chunk: number) {
    const seen = { bytes: 0, isCancelled: false };
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        seen.bytes += chunk;
        controller.enqueue(new Uint8Array(chunk));
      },
      cancel() {
        seen.isCancelled = true;
      },
    });
    return { seen, body };
  }

  it("that does not end is abandoned at the limit", async () => {
    const { seen, body } = endless(1_000);
    const { bytes, isWhole } = await readBody(body, 10_500);
    expect([bytes.length, isWhole, seen.isCancelled]).toEqual([10_500, false, true]);
    expect(seen.bytes).toBeLessThanOrEqual(12_000);
  });

  it("is complete up to the limit", async () => {
    expect(await readBody(new Response("x".repeat(100)).body, 100)).toEqual({
      bytes: Buffer.from("x".repeat(100)),
      isWhole: true,
    });
    expect(await readBody(new Response("x".repeat(101)).body, 100)).toMatchObject({ isWhole: false });
    expect(await readBody(null, 100)).toEqual({ bytes: Buffer.alloc(0), isWhole: true });
  });
});

describe("an input", () => {
  /** Returns a text in pieces, and records which buffers were filled. */
  function given(text: string, piece: number) {
    const bytes = Buffer.from(text);
    const buffers = new Set<ArrayBufferLike>();
    let at = 0;
    const read = (into: Buffer) => {
      buffers.add(into.buffer);
      const got = bytes.copy(into, 0, at, at + Math.min(piece, into.length));
      at += got;
      return got;
    };
    return { read, buffers, rest: () => bytes.length - at };
  }

  it("is read to its end, including characters split between pieces", () => {
    expect(readInput(1_000, given("ä".repeat(300), 7).read)).toBe("ä".repeat(300));
    expect(readInput(1_000, () => 0)).toBe("");
  });

  it("that is too long is still read to its end, into the same buffer, and dropped", () => {
    const { read, buffers, rest } = given("x".repeat(100_000), 100);
    expect([readInput(1_000, read), rest()]).toEqual([null, 0]);
    expect(buffers.size).toBeLessThanOrEqual(12);
  });
});
