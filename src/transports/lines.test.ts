import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { recordsIn } from "../providers/kit/lines.ts";
import { noReads } from "./files.ts";
import { type Line, type LinePosition, positionAfter, readLines } from "./lines.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "retinue-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const isWhole = (line: Uint8Array) => line.at(-1) === 0x7d;

async function read(text: string, from?: LinePosition) {
  const path = join(folder, "file.jsonl");
  writeFileSync(path, text);
  const lines: Line[] = [];
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  for await (const some of readLines(path, noReads(), isWhole, from, { split: recordsIn })) lines.push(...some);
  const shown = lines.map((line) =>
    line.is === "line"
      ? [line.number, line.offset, decode(line.bytes), line.isBehind ?? false]
      : [line.number, line.end, line.is],
  );
  const last = lines.at(-1);
  return { shown, after: last === undefined ? from : positionAfter(last) };
}

it("several records of a line have its number, each with its byte range", async () => {
  const { shown } = await read('{"a":1}\n{"b":2} {"c":3}{"d":4}\n{"e":5}\n');
  expect(shown).toEqual([
    [1, 0, '{"a":1}', false],
    [2, 8, '{"b":2}', false],
    [2, 16, '{"c":3}', true],
    [2, 23, '{"d":4}', true],
    [3, 31, '{"e":5}', false],
  ]);
});

it("a line that grows record by record yields the same as one that is read at once", async () => {
  const whole = '{"a":1}\n{"b":2}{"c":3}\n{"d":4}\n';
  const atOnce = (await read(whole)).shown;
  for (let cut = 1; cut < whole.length; cut += 1) {
    const first = await read(whole.slice(0, cut));
    const rest = await read(whole, first.after);
    expect([...first.shown.filter((line) => line[2] !== "unfinished"), ...rest.shown], `cut at ${cut}`).toEqual(atOnce);
  }
});

it("a complete record before one that is still being written is returned at once", async () => {
  const { shown, after } = await read('{"a":1}{"b"');
  expect(shown).toEqual([
    [1, 0, '{"a":1}', false],
    [1, 7, "unfinished"],
  ]);
  expect((await read('{"a":1}{"b":2}\n{"c":3}\n', after)).shown).toEqual([
    [1, 7, '{"b":2}', true],
    [2, 15, '{"c":3}', false],
  ]);
});

it("reading continues within a line over the limit, whose beginning is not read again", async () => {
  const path = join(folder, "long.jsonl");
  writeFileSync(path, `{"a":1}\n${"x".repeat(3 << 20)}`);
  const passed = { bytes: 0 };
  const limits = { max: 1_000, passed };
  const counts = noReads();
  const readOn = async (from?: LinePosition) => {
    const lines: Line[] = [];
    for await (const some of readLines(path, counts, isWhole, from, limits)) lines.push(...some);
    return lines;
  };
  const [first, unfinished] = await readOn();
  expect([first?.is, unfinished]).toEqual(["line", { is: "unfinished", number: 2, length: 3 << 20, end: 8 }]);
  expect(passed.bytes).toBe(3 << 20);
  appendFileSync(path, 'y\n{"b":2}\n');
  const before = counts.bytes;
  const [long, next] = await readOn({ offset: 8, lines: 1 });
  expect(counts.bytes - before).toBe(10);
  expect(long).toEqual({ is: "too-long", number: 2, length: (3 << 20) + 1, end: 8 + (3 << 20) + 2 });
  expect(next).toMatchObject({ is: "line", number: 3 });
  expect(passed.bytes).toBe(0);
});
