import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SseReader } from "./sse.ts";

const read = (pieces: readonly string[], max?: number) => {
  const reader = new SseReader(max);
  return pieces.flatMap((piece) => [...reader.push(piece)]);
};

describe("server-sent events", () => {
  const events = ": hello\n\nevent: a\ndata: one\n\ndata:two\ndata:  three\n\nid: 4\n\ndata: five\n\ndata: never ends";

  it.each(["\n", "\r\n", "\r"])("are the same however they are split, with lines that end in %j", (end) => {
    const text = events.replaceAll("\n", end);
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((to, i) => text.slice(places[i], to));
        expect(read(pieces)).toEqual(["one", "two\n three", "five"]);
      }),
    );
  });

  it("that are too long are left out, but not those after them", () => {
    const long = `data: ${"x".repeat(200)}\n`;
    expect(read(["data: a\n\n", long, "\n", "data: b\n\n"], 100)).toEqual(["a", "b"]);
    expect(read([...`data: a\n\n${long}\ndata: b\n\n`], 100)).toEqual(["a", "b"]);
    expect(read(["data: xxxx\n".repeat(100), "\n", "data: b\n\n"], 100)).toEqual(["b"]);
    // Ignored lines take no memory.
    expect(read([": still here\n".repeat(100), "data: b\n\n"], 100)).toEqual(["b"]);
  });
});
