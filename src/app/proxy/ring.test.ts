import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Ring } from "./ring.ts";

const filled = (length: number, value: number) => new Uint8Array(length).fill(value);

describe("a ring", () => {
  it("returns every chunk that was written, in any sequence of reads and writes", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.record({ put: fc.integer({ min: 1, max: 40 }) }),
            fc.record({ read: fc.integer({ min: 1, max: 4 }) }),
          ),
        ),
        (steps) => {
          const ring = new Ring(100);
          const waiting: { readonly start: number; readonly chunk: Uint8Array; readonly end: number }[] = [];
          for (const [i, step] of steps.entries()) {
            if ("put" in step) {
              const chunk = filled(step.put, i % 256);
              const start = ring.put(chunk);
              if (start !== null) waiting.push({ start, chunk, end: ring.written });
              else expect(waiting.length).toBeGreaterThan(0);
            } else {
              for (const { start, chunk, end } of waiting.splice(0, step.read)) {
                expect([...new Uint8Array(ring.memory, start, chunk.length)]).toEqual([...chunk]);
                ring.release(chunk.length, end);
              }
            }
            expect(ring.waiting).toBe(waiting.reduce((sum, { chunk }) => sum + chunk.length, 0));
          }
        },
      ),
    );
  });

  it("stores long chunks aligned like their source, where copies into shared memory are fast, and short ones without gaps", () => {
    const ring = new Ring(1 << 20);
    const read = new Uint8Array(1 << 16).map((_, i) => i % 251);
    const chunks = [0, 3, 5, 8, 13, 4_001].map((from) => read.subarray(from, from + 1_500 + from));
    for (const chunk of chunks) {
      const start = ring.put(chunk) ?? -1;
      expect(start % 8).toBe(chunk.byteOffset % 8);
      expect(new Uint8Array(ring.memory, start, chunk.length)).toEqual(new Uint8Array(chunk));
    }
    expect(ring.waiting).toBe(chunks.reduce((sum, { length }) => sum + length, 0));
    const first = ring.put(read.subarray(1, 100)) ?? -1;
    expect(ring.put(read.subarray(2, 50))).toBe(first + 99);
  });

  it("rejects a chunk that does not fit, and accepts it again after a read", () => {
    const ring = new Ring(100);
    expect([
      ring.put(filled(60, 1)),
      ring.put(filled(60, 2)),
      ring.put(filled(40, 3)),
      ring.put(filled(1, 4)),
      ring.put(filled(101, 5)),
    ]).toEqual([0, null, 60, null, null]);
    ring.release(60, 60);
    expect(ring.put(filled(60, 6))).toBe(0);
    ring.clear();
    expect([ring.waiting, ring.put(filled(100, 7))]).toEqual([0, 0]);
  });

  it("uses little memory while few chunks are waiting", () => {
    const ring = new Ring(64 << 20);
    const places: number[] = [];
    const sent: { readonly length: number; readonly end: number }[] = [];
    for (let i = 0; i < 10_000; i += 1) {
      places.push(ring.put(filled(30_000, 1)) ?? -1);
      sent.push({ length: 30_000, end: ring.written });
      // The reader is always some chunks behind.
      const read = sent.length > 20 ? sent.shift() : undefined;
      if (read !== undefined) ring.release(read.length, read.end);
    }
    expect(Math.min(...places)).toBe(0);
    expect(Math.max(...places)).toBeLessThan(6 << 20);
  });
});
