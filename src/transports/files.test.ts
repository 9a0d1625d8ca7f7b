import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { needsPosix } from "../../test/support/needs.ts";
import { continues, foldersLike, newFolders, noReads, readHead, readWhole, stampOf, walk } from "./files.ts";
import { type Line, positionAfter, readLines } from "./lines.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "retinue-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Copies the bytes, which are valid only until the next line is read. */
const kept = (lines: readonly Line[]) =>
  lines.map((line) => (line.is === "line" ? { ...line, bytes: Uint8Array.from(line.bytes) } : line));

async function linesOf(content: string | Uint8Array, isWhole = false) {
  const path = join(folder, "file.jsonl");
  writeFileSync(path, content);
  const counts = noReads();
  const lines: Line[] = [];
  for await (const some of readLines(path, counts, () => isWhole)) lines.push(...kept(some));
  return {
    counts,
    lines,
    shown: lines.map((line) => [line.number, line.is === "line" ? decode(line.bytes) : line.is]),
  };
}

describe("lines of a file", () => {
  it("are numbered from 1 and have no line ends", async () => {
    const { shown, counts } = await linesOf("one\ntwo\nthree\n");
    expect(shown).toEqual([
      [1, "one"],
      [2, "two"],
      [3, "three"],
    ]);
    expect(counts).toMatchObject({ files: 1, bytes: 14, lines: 3 });
  });

  it("keep their line numbers if blank lines are between them", async () => {
    expect((await linesOf("\n\none\n   \ntwo\n\n")).shown).toEqual([
      [3, "one"],
      [5, "two"],
    ]);
  });

  it("may end as on Windows: the carriage return is white space to JSON", async () => {
    const { lines } = await linesOf('{"a":1}\r\n\r\n{"b":2}\r\n');
    expect(lines.map((line) => [line.number, line.is === "line" && JSON.parse(decode(line.bytes))])).toEqual([
      [1, { a: 1 }],
      [3, { b: 2 }],
    ]);
  });

  it("are complete even if the file is read in pieces that split characters", async () => {
    const long = "ä€😀".repeat(400_000);
    const { shown, counts } = await linesOf(`short\n${long}\nlast\n`);
    expect(shown.map(([number]) => number)).toEqual([1, 2, 3]);
    expect(shown[1]?.[1] === long).toBe(true);
    expect(counts).toMatchObject({ files: 1, bytes: Buffer.byteLength(long) + 12, lines: 3 });
  });

  it("do not exist in an empty file", async () => {
    expect(await linesOf("")).toMatchObject({ shown: [], counts: { files: 1, bytes: 0, lines: 0 } });
  });

  it("exclude the null bytes of a crash, which are reported", async () => {
    const { lines, shown } = await linesOf("one\n\0\0\0\0\ntwo\n\0\0");
    expect(shown).toEqual([
      [1, "one"],
      [2, "zeroes"],
      [3, "two"],
      [4, "zeroes"],
    ]);
    expect(lines[1]).toEqual({ is: "zeroes", number: 2, length: 4, end: 9, ended: true });
  });

  it("continue after null bytes at the end of the file as if these had been read at once", async () => {
    const { lines } = await linesOf("one\n\0\0");
    const [, zeroes] = lines;
    const path = join(folder, "file.jsonl");
    writeFileSync(path, "one\n\0\0two\n");
    const rest: Line[] = [];
    for await (const some of readLines(path, noReads(), () => true, zeroes && positionAfter(zeroes)))
      rest.push(...kept(some));
    expect(rest).toMatchObject([{ is: "line", number: 2, offset: 6, end: 10 }]);
    expect((await linesOf("one\n\0\0two\n")).lines.at(-1)).toEqual(rest[0]);
  });

  it("are found after null bytes: records written after the crash are complete", async () => {
    expect((await linesOf("one\n\0\0\0two\0\n\0three", true)).shown).toEqual([
      [1, "one"],
      [2, "zeroes"],
      [2, "two"],
      [3, "zeroes"],
      [3, "three"],
    ]);
  });

  it("with null bytes inside are returned unchanged", async () => {
    expect((await linesOf("a\0b\n")).shown).toEqual([[1, "a\0b"]]);
  });

  it("include a last line without a line end if it is complete", async () => {
    expect((await linesOf("one\ntwo", true)).shown).toEqual([
      [1, "one"],
      [2, "two"],
    ]);
  });

  it("that are too long are reported, at any position, and not kept", async () => {
    const path = join(folder, "file.jsonl");
    const long = "x".repeat(3 << 20);
    writeFileSync(path, `one\n${long}\ntwo\n${long}`);
    const lines: Line[] = [];
    for await (const some of readLines(path, noReads(), () => true, undefined, { max: 1 << 20 }))
      lines.push(...kept(some));
    expect(lines.map((line) => (line.is === "line" ? decode(line.bytes) : line))).toEqual([
      "one",
      { is: "too-long", number: 2, length: long.length, end: long.length + 5 },
      "two",
      // The line may still be growing.
      { is: "unfinished", number: 4, length: long.length, end: long.length + 9 },
    ]);
  });

  it("may be as long as the limit, but not a byte longer", async () => {
    const path = join(folder, "file.jsonl");
    writeFileSync(path, "12345\n123456\n");
    const lines: Line[] = [];
    for await (const some of readLines(path, noReads(), () => true, undefined, { max: 5 })) lines.push(...kept(some));
    expect(lines.map((line) => line.is)).toEqual(["line", "too-long"]);
  });

  it("are not read from a pipe that replaced the file", async (context) => {
    needsPosix("pipes among files")(context);
    const path = join(folder, "file.jsonl");
    execFileSync("mkfifo", [path]);
    await expect(readLines(path, noReads(), () => true).next()).rejects.toThrow("it is no longer a file");
  });

  it("do not block the event loop", async () => {
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    await linesOf(`${"x".repeat(99)}\n`.repeat(300_000));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });

  it("report an incomplete last line with its length so far", async () => {
    const { lines } = await linesOf("one\nhalf of tw", false);
    expect(lines.at(-1)).toMatchObject({ is: "unfinished", number: 2, length: 10, end: 4 });
  });

  it("can be read from the end of any line, with the same result as from the start", async () => {
    const { lines } = await linesOf("one\n\nzwölf\nthree\nfour", true);
    expect(lines.map((line) => line.number)).toEqual([1, 3, 4, 5]);
    for (const [i, { end, number }] of lines.entries()) {
      const rest: Line[] = [];
      for await (const some of readLines(join(folder, "file.jsonl"), noReads(), () => true, {
        offset: end,
        lines: number,
      }))
        rest.push(...kept(some));
      expect(rest).toEqual(lines.slice(i + 1));
    }
  });
});

describe("files below a folder", () => {
  const put = (path: string) => {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), "12345");
  };
  const found = async (folders: readonly string[]) => {
    const errors: string[] = [];
    const paths: string[] = [];
    const others: string[] = [];
    const error = (at: string, { message }: Error) => errors.push(`${at}: ${message}`);
    for await (const files of walk(folder, folders, error, (at, is) => others.push(`${is} ${at}`)))
      paths.push(...files.paths);
    return { paths: paths.sort(), errors, others: others.sort() };
  };

  it("are all files at any depth, in the requested folders", async () => {
    for (const path of ["projects/a/x.jsonl", "projects/a/b/c/y.jsonl", "sessions/1.json", "elsewhere/z.jsonl"])
      put(path);
    expect(await found(["projects", "sessions"])).toMatchObject({
      paths: ["projects/a/b/c/y.jsonl", "projects/a/x.jsonl", "sessions/1.json"],
      errors: [],
    });
  });

  it("are none if the folder does not exist or is a file", async () => {
    put("sessions");
    expect(await found(["projects", "sessions"])).toEqual({ paths: [], errors: [], others: [] });
  });

  it("exclude those behind symbolic links, so that no cycle is followed", async () => {
    put("projects/a/x.jsonl");
    symlinkSync(join(folder, "projects"), join(folder, "projects/a/up"));
    symlinkSync(join(folder, "projects/a/x.jsonl"), join(folder, "projects/link.jsonl"));
    symlinkSync("nowhere", join(folder, "projects/dangling.jsonl"));
    expect(await found(["projects"])).toEqual({
      paths: ["projects/a/x.jsonl"],
      errors: [],
      others: ["folder projects/a", "link projects/a/up", "link projects/dangling.jsonl", "link projects/link.jsonl"],
    });
  });

  it("exclude pipes, which would block a reader forever", async (context) => {
    needsPosix("pipes among files")(context);
    mkdirSync(join(folder, "projects"));
    execFileSync("mkfifo", [join(folder, "projects/x.jsonl")]);
    expect(await found(["projects"])).toEqual({ paths: [], errors: [], others: ["pipe projects/x.jsonl"] });
  });

  it("are reported if a cycle of links is in their place", async () => {
    symlinkSync("sessions", join(folder, "projects"));
    symlinkSync("projects", join(folder, "sessions"));
    expect((await found(["projects"])).errors).toEqual([expect.stringContaining("ELOOP")]);
  });

  it("are not read as a whole if they are larger than any record", async () => {
    put("projects/x.json");
    expect(() => readWhole(join(folder, "projects/x.json"), noReads(), 4)).toThrow("5 bytes exceed the record limit");
  });

  it("are distinguished from files that replaced them", async (context) => {
    needsPosix("pipes among files")(context);
    put("projects/x.jsonl");
    symlinkSync("x.jsonl", join(folder, "projects/link.jsonl"));
    execFileSync("mkfifo", [join(folder, "projects/pipe.json")]);
    expect(stampOf(join(folder, "projects/x.jsonl"))).toMatchObject({ size: 5 });
    expect(() => stampOf(join(folder, "projects/link.jsonl"))).toThrow("it is no longer a file");
    expect(() => readWhole(join(folder, "projects/pipe.json"), noReads())).toThrow("it is no longer a file");
  });

  it("are listed once, even if two names lead to their folder", async () => {
    put("a/projects/x.jsonl");
    mkdirSync(join(folder, "b"));
    symlinkSync("../a/projects", join(folder, "b/projects"));
    const seen = new Set<string>();
    expect(await newFolders(join(folder, "a"), ["projects", "sessions"], seen)).toEqual(["projects", "sessions"]);
    expect(await newFolders(join(folder, "b"), ["projects", "sessions"], seen)).toEqual(["sessions"]);
  });

  it("can be read as a whole", async () => {
    put("projects/x.json");
    const path = join(folder, "projects/x.json");
    const counts = noReads();
    expect(decode(readWhole(path, counts))).toBe("12345");
    expect(counts).toMatchObject({ files: 1, bytes: 5, lines: 0 });
  });
});

describe("folders that match a pattern", () => {
  const named = (name: string) => join(folder, name);

  it("are those that exist, or the pattern itself if there are none", () => {
    expect(foldersLike(named("x-*"))).toEqual([named("x-*")]);
    for (const name of ["x-2", "x-1", "y-1"]) mkdirSync(named(name));
    writeFileSync(named("x-3"), "");
    symlinkSync(named("y-1"), named("x-4"));
    expect(foldersLike(named("x-*"))).toEqual([named("x-1"), named("x-2")]);
    expect(foldersLike(named("y-1"))).toEqual([named("y-1")]);
  });

  it("are only this user's own in a world-writable folder", ({ skip }) => {
    skip(process.getuid?.() !== 0, "only root can make folders of another user");
    chmodSync(folder, 0o1777);
    for (const name of ["x-1", "x-2", "x-*"]) mkdirSync(named(name));
    for (const name of ["x-2", "x-*"]) chownSync(named(name), 65_534, 65_534);
    expect(foldersLike(named("x-*"))).toEqual([named("x-1")]);
    rmSync(named("x-1"), { recursive: true });
    expect(foldersLike(named("x-*"))).toEqual([]);
    chmodSync(folder, 0o755);
    expect(foldersLike(named("x-*"))).toEqual([named("x-*"), named("x-2")]);
  });
});

describe("the head of a file", () => {
  it("is all of a small file, but not of a large one", async () => {
    const path = join(folder, "file");
    writeFileSync(path, "abc");
    expect(decode(await readHead(path))).toBe("abc");
    writeFileSync(path, "");
    expect((await readHead(path)).length).toBe(0);
    writeFileSync(path, Buffer.alloc(9 << 20, 120));
    expect((await readHead(path)).length).toBe(4 << 20);
  });
});

describe("whether a file continues another", () => {
  const both = (earlier: string | Uint8Array, later: string | Uint8Array) => {
    writeFileSync(join(folder, "earlier"), earlier);
    writeFileSync(join(folder, "later"), later);
    return continues(join(folder, "earlier"), join(folder, "later"));
  };
  it.each([
    ["", "", true],
    ["", "a", true],
    ["a", "a", true],
    ["ab", "abc", true],
    ["abc", "ab", false],
    ["ab", "ac", false],
    ["a", "", false],
  ])("%j, %j: %s", async (earlier, later, expected) => {
    expect(await both(earlier, later)).toBe(expected);
  });
  it("is determined for files that do not fit into memory", async () => {
    const large = Buffer.alloc((2 << 20) + 7, 120);
    const changed = Buffer.from(large);
    changed[(1 << 20) + 3] = 0;
    expect([await both(large, Buffer.concat([large, large])), await both(large, changed)]).toEqual([true, false]);
  });
});
