import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, zstdCompressSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { MAX_RECORD, MAX_UNPACK_RATIO, TooLarge } from "../core/tools/limits.ts";
import { noReads } from "./files.ts";
import { readLines } from "./lines.ts";
import { unpacked } from "./packed.ts";

const LINES = Array.from({ length: 20_000 }, (_, i) => `{"line":${i + 1},"text":"${"x".repeat(i % 97)}"}`);

function packedFile(bytes: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), "retinue-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "file.jsonl.zst");
  writeFileSync(path, bytes);
  return path;
}

async function read(path: string, from = { offset: 0, lines: 0 }) {
  const found: { text: string; number: number; offset: number }[] = [];
  for await (const lines of readLines(path, noReads(), () => true, from, { packed: "zstd" }))
    for (const line of lines)
      if (line.is === "line")
        found.push({ text: Buffer.from(line.bytes).toString(), number: line.number, offset: line.offset });
  return found;
}

describe("a packed file", () => {
  const whole = zstdCompressSync(Buffer.from(`${LINES.join("\n")}\n`));

  it("has the lines that were packed", async () => {
    const found = await read(packedFile(whole));
    expect(found.map((line) => line.text)).toEqual(LINES);
  });

  it("can be read from any of its lines on", async () => {
    const path = packedFile(whole);
    const at = (await read(path))[12_345];
    expect(at).toBeDefined();
    const rest = await read(path, { offset: at?.offset ?? 0, lines: (at?.number ?? 1) - 1 });
    expect({ first: rest[0], count: rest.length }).toEqual({ first: at, count: LINES.length - 12_345 });
  });

  it("that expands without end is abandoned at a multiple of its size", async () => {
    const bomb = Buffer.concat(Array.from({ length: 16 }, () => zstdCompressSync(Buffer.alloc(16 << 20))));
    let bytes = 0;
    const reading = async () => {
      for await (const chunk of unpacked(packedFile(bomb), 0)) bytes += chunk.length;
    };
    await expect(reading()).rejects.toThrow(TooLarge);
    expect(bytes).toBeLessThanOrEqual(MAX_RECORD + MAX_UNPACK_RATIO * bomb.length);
    expect(bytes).toBeGreaterThan(MAX_RECORD);
  });

  it("throws if it is in another format", async () => {
    await expect(read(packedFile(Buffer.from("not packed at all\n")))).rejects.toThrow();
  });

  it("throws wherever it is truncated, though Node.js 22 does not", async () => {
    for (const end of [3, 5, 12, whole.length >> 1, whole.length - 1])
      await expect(read(packedFile(whole.subarray(0, end))), `cut off at ${end}`).rejects.toThrow(
        "unexpected end of file",
      );
  });

  it("is complete with a checksum, without a size, and with a skippable frame after it", async () => {
    const text = Buffer.from(`${"2".repeat(300_000)}\n`);
    const checked = zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    const unsized = zstdCompressSync(text, { params: { [constants.ZSTD_c_contentSizeFlag]: 0 } });
    const passedOver = Buffer.concat([unsized, Buffer.from("502a4d1803000000616263", "hex")]);
    for (const bytes of [checked, unsized, passedOver])
      expect((await read(packedFile(bytes))).map((line) => line.text.length)).toEqual([300_000]);
    for (const bytes of [checked, passedOver])
      await expect(read(packedFile(bytes.subarray(0, -2)))).rejects.toThrow("unexpected end of file");
  });
});
