/** Turns valid input into invalid input: bytes, texts and JSON values. */
import type { Random } from "../../scripts/bench/random.ts";
import { replaceAt, WRONG } from "../contract/junk.ts";
import { MUTATIONS } from "../support/bad-input/mutations.ts";

/** Texts that are difficult for parsers. */
const TOKENS: readonly string[] = [
  ..."{}[]\"',:\\/\n\r\t\0 %#?&=+-.;|<>$@!~^*()",
  "\r\n",
  "\\u0000",
  "\\ud800",
  "\u2028",
  "\ufeff",
  "\u202e",
  "\u001b[2J",
  "\ud83d\ude00",
  "null",
  "true",
  "-0",
  "1e308",
  "1e999",
  "9007199254740993",
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "toString",
  '{"__proto__":{"polluted":1}}',
  "../../etc/passwd",
  "data: ",
  "data:",
  "event: x\n",
  ":\n\n",
  "[DONE]",
  "://",
  "latest",
  "token=",
  "eyJ-",
  "-----BEGIN PRIVATE KEY-----",
  "2026-11-15T00:00:00Z",
];

const MAX_BYTES = 48 << 10;
/** Occasionally a large input, so that work that grows faster than the input is detected. */
const LARGE_BYTES = 384 << 10;
const LARGE_SHARE = 0.002;

export const token = (random: Random): string => random.of(TOKENS);

export function noise(random: Random, max = 60): Buffer {
  return Buffer.from(Array.from({ length: random.below(max) }, () => random.below(256)));
}

/** A text of tokens, keywords of the target, and single characters. */
export function words(random: Random, own: readonly string[] = [], max = 12): string {
  let text = "";
  for (let left = random.below(max + 1); left > 0; left -= 1) text += word(random, own);
  return text;
}

function word(random: Random, own: readonly string[]): string {
  if (own.length > 0 && random.chance(0.6)) return random.of(own);
  return random.chance(0.7)
    ? token(random)
    : String.fromCodePoint(random.chance(0.5) ? 32 + random.below(95) : random.below(0xd800));
}

/** Changes some bytes of a sample. `own` are texts that have a meaning for the target. */
export function mutated(sample: Buffer, random: Random, own: readonly string[] = []): Buffer {
  let bytes = sample;
  for (let times = 1 + random.below(4); times > 0; times -= 1)
    bytes = changed(bytes, random, own).subarray(0, MAX_BYTES);
  return random.chance(LARGE_SHARE) ? repeated(bytes, random, LARGE_BYTES) : bytes;
}

function changed(bytes: Buffer, random: Random, own: readonly string[]): Buffer {
  const [from, to] = [random.below(bytes.length + 1), random.below(bytes.length + 1)].sort((a, b) => a - b) as [
    number,
    number,
  ];
  const replaced = (by: Uint8Array, end = to) => Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(end)]);
  switch (random.below(8)) {
    case 0:
      return replaced(Buffer.from(word(random, own)), from);
    case 1:
      return replaced(Buffer.from(word(random, own)), Math.min(bytes.length, from + 1 + random.below(6)));
    case 2:
      return replaced(new Uint8Array(), Math.min(to, from + 1 + random.below(40)));
    case 3:
      return bytes.subarray(0, to);
    case 4:
      return replaced(noise(random, 8), from);
    case 5:
      return replaced(Buffer.concat([bytes.subarray(from, to), bytes.subarray(from, to)]));
    case 6:
      return replaced(repeated(bytes.subarray(from, Math.min(to, from + 12)), random, 2_000), from);
    default:
      return bytes.length === 0 ? noise(random) : random.of(MUTATIONS).change(bytes, random);
  }
}

function repeated(piece: Buffer, random: Random, max: number): Buffer {
  if (piece.length === 0) return Buffer.from(token(random));
  return Buffer.concat(
    Array.from({ length: Math.max(1, Math.floor((random.next() * max) / piece.length)) }, () => piece),
  );
}

/** JSON of the right structure with an error in it, as bytes. */
export function mutatedJson(value: unknown, random: Random): Buffer {
  let result = value;
  for (let times = 1 + random.below(3); times > 0; times -= 1) {
    const path = Array.from({ length: 1 + random.below(6) }, () => random.below(1 << 16));
    result = replaceAt(result, path, wrongValue(random));
  }
  const text = JSON.stringify(result) ?? "null";
  return Buffer.from(random.chance(0.1) ? text.replace(/"[a-zA-Z_]+":/, '"__proto__":') : text);
}

function wrongValue(random: Random): unknown {
  switch (random.below(8)) {
    case 0:
      return words(random);
    case 1:
      return (random.next() - 0.5) * 10 ** random.below(40);
    case 2:
      return JSON.parse(`${"[".repeat(60)}${"]".repeat(60)}`);
    case 3:
      return JSON.parse('{"__proto__":{"type":"user"},"constructor":{"prototype":{"polluted":true}}}');
    default:
      return random.of(WRONG);
  }
}
