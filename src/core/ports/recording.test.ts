import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRecorded, recordedAlready, recordedLine, recordedNote } from "./recording.ts";

const read = (line: string) => readRecorded(new TextEncoder().encode(line));

describe("a recorded line", () => {
  it("is one line, and returns any input unchanged", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "grapheme" }),
          fc.json(),
          fc.json().map((text) => `${text}\n`),
        ),
        fc.nat(),
        (input, at) => {
          const line = recordedLine(input, at);
          expect(line.indexOf("\n")).toBe(line.length - 1);
          const back = read(line);
          if (back !== null && "raw" in back) expect(back).toEqual({ at, raw: JSON.parse(input) });
          else expect(back).toEqual({ at, text: input });
        },
      ),
    );
  });

  it("keeps JSON byte by byte", () => {
    expect(recordedLine('{"a":1.0,"b":"\\u00e9","c":12345678901234567890}', 7)).toBe(
      '{"at":7,"raw":{"a":1.0,"b":"\\u00e9","c":12345678901234567890}}\n',
    );
    expect(recordedLine('{"a":\n 1}', 7)).toBe('{"at":7,"raw":{"a":  1}}\n');
  });

  it("may be a note that retinue wrote", () => {
    expect(read(recordedNote({ is: "began", pid: 3 }, 9))).toEqual({ at: 9, note: { is: "began", pid: 3 } });
  });

  it("of another format is null", () => {
    for (const junk of [
      "",
      "null",
      "[]",
      '{"at":1}',
      '{"at":"1","raw":1}',
      '{"at":1,"raw":',
      '{"at":1,"note":3}',
      '{"raw":1}',
    ])
      expect(read(junk)).toBeNull();
  });
});

describe("lines that were recorded before a kill", () => {
  const recording = recordedLine('{"n":1}', 1) + recordedLine("words", 2) + recordedLine('{"n":2}', 3);

  it.each([
    [["x"], 0],
    [[], 0],
    [['{"n":2}'], 1],
    [["words", '{"n":2}', '{"n":3}'], 2],
    [['{"n":1}', "words"], 0],
    [['{"n":1}', "words", '{"n":2}'], 3],
  ] as const)("%j: %d", (lines, count) => expect(recordedAlready(recording, lines)).toBe(count));
});
