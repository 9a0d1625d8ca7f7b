/** Ways to damage files: crashes, full disks, editors, bad transfers. Each changes the bytes of one file. */
import type { Random } from "../../../scripts/bench/random.ts";

export interface Mutation {
  readonly name: string;
  /** Names of the files that it applies to. */
  readonly files: RegExp;
  /** False if every record is still readable afterwards, so that there is nothing to report. */
  readonly loses: boolean;
  /** Common kinds of damage are tried on every recording, the others on some. */
  readonly often?: true;
  readonly change: (bytes: Buffer, random: Random) => Buffer;
}

const LINES = /\.jsonl$/;
const DOCUMENTS = /\.json$/;
const ANY = /\.jsonl?$/;
const NEWLINE = Buffer.from("\n");

const linesOf = (bytes: Buffer) => bytes.toString("latin1").split("\n");
const joined = (lines: readonly string[]) => Buffer.from(lines.join("\n"), "latin1");
const eachLine = (bytes: Buffer, change: (line: string) => string) =>
  joined(linesOf(bytes).map((line) => (line === "" ? line : change(line))));

/** In latin1, one character per byte, so that no other byte changes. */
const JUNK: readonly ((line: string, random: Random) => string)[] = [
  (line, random) => line.slice(0, random.below(line.length)),
  (line, random) => line.slice(random.below(line.length)),
  (line) => [...line].reverse().join(""),
  (line) => `// ${line}`,
  (line) => line.replaceAll('"', "'"),
  (line) => line.replaceAll("}", ""),
  () => "{",
  () => "}",
  () => "null",
  () => "42",
  () => '"a text"',
  () => "[]",
  () => "{}",
  () => '{"type":"user"}',
  () => '{"type":"assistant","message":null}',
  () => '{"type":"constructor","__proto__":{"type":"user"}}',
  () => "<html><body>502 Bad Gateway</body></html>",
  () => "<<<<<<< HEAD",
  (_, random) =>
    String.fromCharCode(...Array.from({ length: 1 + random.below(200) }, () => random.below(256))).replaceAll(
      "\n",
      " ",
    ),
  () => "\u001b[31m\u0007",
];

function shuffled<T>(things: readonly T[], random: Random): T[] {
  const left = [...things];
  for (let i = left.length - 1; i > 0; i -= 1) {
    const j = random.below(i + 1);
    [left[i], left[j]] = [left[j] as T, left[i] as T];
  }
  return left;
}

function torn(lines: readonly string[], random: Random): string[] {
  const kept: string[] = [];
  for (const line of lines) {
    const last = kept.at(-1) ?? "";
    if (last !== "" && line !== "" && random.chance(0.2))
      kept[kept.length - 1] = last.slice(0, random.below(last.length)) + line;
    else kept.push(line);
  }
  return kept;
}

function overwritten(bytes: Buffer, random: Random, times: number, what: (random: Random) => Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let i = 0; i < times; i += 1) what(random).copy(copy, random.below(copy.length));
  return copy;
}

function inserted(bytes: Buffer, random: Random, what: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), what, bytes.subarray(at)]);
}

const pretty = (line: string) => {
  try {
    return Buffer.from(JSON.stringify(JSON.parse(Buffer.from(line, "latin1").toString()), null, 2)).toString("latin1");
  } catch {
    // Not JSON.
    return line;
  }
};

export const MUTATIONS: readonly Mutation[] = [
  {
    name: "bytes cut off the end",
    files: ANY,
    loses: true,
    often: true,
    change: (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  },
  {
    name: "lines in any order",
    files: LINES,
    loses: false,
    often: true,
    change: (bytes, random) =>
      Buffer.concat([
        joined(
          shuffled(
            linesOf(bytes).filter((l) => l !== ""),
            random,
          ),
        ),
        NEWLINE,
      ]),
  },
  {
    name: "lines that are junk",
    files: LINES,
    loses: true,
    often: true,
    change: (bytes, random) => eachLine(bytes, (line) => (random.chance(0.3) ? random.of(JUNK)(line, random) : line)),
  },
  {
    name: "nothing but junk",
    files: ANY,
    loses: true,
    change: (bytes, random) => eachLine(bytes, (line) => random.of(JUNK)(line, random)),
  },
  {
    name: "lines that are there twice",
    files: LINES,
    loses: false,
    change: (bytes) => eachLine(bytes, (line) => `${line}\n${line}`),
  },
  {
    name: "bytes that are no UTF-8",
    files: ANY,
    loses: true,
    change: (bytes, random) =>
      overwritten(bytes, random, 20, (r) => Buffer.from(r.of(["ff", "c3", "e282", "eda080", "f8"]), "hex")),
  },
  {
    name: "NUL bytes inside",
    files: ANY,
    loses: true,
    change: (bytes, random) => inserted(inserted(bytes, random, Buffer.alloc(1)), random, Buffer.alloc(7)),
  },
  {
    name: "blocks of zeroes, as a crash leaves them",
    files: LINES,
    loses: true,
    change: (bytes, random) => overwritten(bytes, random, 2, (r) => Buffer.alloc(1 + r.below(4_096))),
  },
  {
    name: "records written behind one that was cut off",
    files: LINES,
    loses: true,
    change: (bytes, random) => joined(torn(linesOf(bytes), random)),
  },
  {
    name: "comments",
    files: ANY,
    loses: true,
    change: (bytes) =>
      Buffer.concat([Buffer.from("// a comment\n"), eachLine(bytes, (line) => `${line}\n/* another */`)]),
  },
  { name: "pretty-printed lines", files: LINES, loses: true, change: (bytes) => eachLine(bytes, pretty) },
  {
    name: "pretty-printed documents",
    files: DOCUMENTS,
    loses: false,
    change: (bytes) => Buffer.from(pretty(bytes.toString("latin1")), "latin1"),
  },
  {
    name: "a byte order mark and the line ends of Windows",
    files: ANY,
    loses: false,
    change: (bytes) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), eachLine(bytes, (line) => `${line}\r`)]),
  },
  { name: "UTF-16", files: ANY, loses: true, change: (bytes) => Buffer.from(bytes.toString(), "utf16le") },
  { name: "nothing at all", files: ANY, loses: true, change: () => Buffer.alloc(0) },
  { name: "blank lines only", files: ANY, loses: true, change: () => Buffer.from("\n \n\t\n\n") },
];
