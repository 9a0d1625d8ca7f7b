import { assignments } from "./secret-assignments.ts";
import { CUT_KEY, GENERIC_KEY, GENERIC_MARK, KEY_BEGINS, KNOWN_KEY, MARKED_KEYS } from "./secret-keys.ts";
import { isPlain, isRandom, secretKind } from "./secret-names.ts";
import { PHRASE, PHRASES } from "./secret-phrases.ts";
import { insertedValues, tableCells } from "./secret-tables.ts";
import { entitiesDecoded, percentDecoded, type Span, unescaped, type View, without } from "./text-view.ts";

/** Finds secrets in texts, in linear time, because texts are untrusted. Detection rates are in docs/redaction.md. */

export const SECRET = "[redacted]";

/** Whether a key, header or variable has the name of a secret. */
export function isSecretName(name: string): boolean {
  const kind = secretKind(name);
  return kind !== null && kind !== "weak";
}

/** Whether such a name and value are a secret. */
export function isSecretPair(name: string, value: string): boolean {
  return isSecretName(name) || (secretKind(name) === "weak" && isRandom(value));
}

/** Replaces everything that looks like a secret. */
export function withoutSecrets(text: string): string {
  let rest = text;
  // Text next to a secret may look like one after that is removed.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const next = cutOut(rest, secretsIn(rest));
    if (next === rest) break;
    rest = next;
  }
  return rest;
}

const MAX_ROUNDS = 5;

/** Consecutive texts: a key may be split over them. */
export function withoutSplitSecrets(texts: readonly string[]): string[] {
  const spans = knownKeys(texts.join(""));
  let at = 0;
  return texts.map((text) => {
    const [begin, end] = [at, at + text.length];
    at = end;
    const own = spans.flatMap((span) =>
      span.end > begin && span.start < end ? [{ start: Math.max(0, span.start - begin), end: span.end - begin }] : [],
    );
    return withoutSecrets(cutOut(text, own));
  });
}

function cutOut(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let kept = "";
  let at = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (end <= at) continue;
    // Overlapping and adjacent secrets are merged.
    if (start > at || at === 0) kept += text.slice(at, Math.max(at, start)) + SECRET;
    at = end;
  }
  return kept + text.slice(at);
}

/** Characters without width, and codes that set colours of a terminal. */
const INVISIBLE =
  /(?:(?:\u001b|\\(?:033|e))\[|\u009b)[0-9;?]{0,20}[A-Za-z]|[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]/g;
const PERCENT = /%[2-7][0-9A-Fa-f]/g;
/** Escapes in a JSON string inside a text; in a nested one they are escaped again. */
const ESCAPE = /\\(?:[nrt"'/\\]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})/g;
/** Characters of HTML, and full-width forms of ASCII characters. */
const ENTITY = /&(?:quot|apos|amp|lt|gt|#\d{2,3}|#x[0-9a-fA-F]{2});|[\uff01-\uff5e]/g;
const ENCODINGS = [
  [ESCAPE, unescaped],
  [PERCENT, percentDecoded],
  [ENTITY, entitiesDecoded],
] as const;
/** Between two parts of one text: a string concatenation, or a line continuation. */
const JOINT = /\\{0,3}["'`]\s{0,20}[+,.]?\s{0,20}\\{0,3}["'`]|\\\r?\n\s{0,20}/g;
const MAX_DEPTH = 2;
/** Minimum length of a name, sign and value. */
const MIN_LENGTH = 5;

function secretsIn(text: string, depth = 0): Span[] {
  const spans: Span[] = [];
  if (text.length < MIN_LENGTH) return spans;
  const mayHoldKey = KEY_BEGINS.test(text);
  if (mayHoldKey) {
    found(text, KNOWN_KEY, spans, PLAIN);
    wrappedKeys(text, spans);
  }
  otherKeys(text, spans);
  cutKeys(text, depth, spans);
  privateKeys(text, spans);
  privateKeyEnds(text, spans);
  if (PHRASE.test(text))
    for (const { mark, pattern, accepts } of PHRASES)
      if (mark.test(text)) found(text, pattern, spans, REFERENCE, accepts);
  assignments(text, spans);
  tableCells(text, spans);
  insertedValues(text, spans);
  encoded(text, depth, spans);
  if (depth < MAX_DEPTH) {
    const find = (plain: string) => secretsIn(plain, depth + 1);
    if (text.search(INVISIBLE) >= 0) through(without(text, INVISIBLE), find, spans);
    for (const [pattern, decoded] of ENCODINGS)
      for (const line of linesWith(text, pattern)) through(decoded(line.text, pattern), find, spans, line.start);
    if (mayHoldKey) through(without(text, JOINT), knownKeys, spans);
  }
  return spans;
}

function through(view: View, find: (text: string) => readonly Span[], spans: Span[], offset = 0): void {
  for (const { start, end } of find(view.text))
    spans.push({ start: offset + view.at(start), end: offset + view.at(end) });
}

/** Lines with a match of a global pattern; others need not be searched again. */
function* linesWith(text: string, pattern: RegExp): Generator<{ readonly text: string; readonly start: number }> {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const start = text.lastIndexOf("\n", match.index) + 1;
    const stop = text.indexOf("\n", match.index);
    const end = stop < 0 ? text.length : stop;
    yield { text: text.slice(start, end), start };
    pattern.lastIndex = end;
  }
}

/** Adds group 2 of every match, after its group 1; the whole match if there are no groups. */
function found(
  text: string,
  pattern: RegExp,
  spans: Span[],
  isNone: RegExp,
  accepts: (secret: string) => boolean = () => true,
): void {
  for (const match of matches(text, pattern)) {
    const [whole, before = "", secret = whole] = match;
    const start = match.index + before.length;
    if (secret !== "" && !isNone.test(secret) && accepts(secret)) spans.push({ start, end: start + secret.length });
  }
}

/** Like `matchAll`, which copies the pattern each time: most texts are short. */
function* matches(text: string, pattern: RegExp): Generator<RegExpExecArray> {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const next = pattern.lastIndex;
    yield match;
    // The pattern may have been used on another text since.
    pattern.lastIndex = next;
  }
}

/** Plain words are not keys. */
const PLAIN = /^(?:[a-z_-]+|[A-Z]+[_-][A-Z_-]+)$/;
/** A variable or placeholder instead of a secret. */
const REFERENCE = /^(?:["'\\]?\$|[<{%]|\*+$|\.+$|x{3,}$|\[redacted\]|(?:pass(?:word)?|token|secret|your[\w-]*)["']?$)/i;
/** A signed or encrypted token. Text with the same prefix is consumed and dropped, so that it is not scanned twice. */
const SIGNED = /(?<![A-Za-z0-9])eyJ[\w-]{10,}(?:\.[\w-]+){0,4}/g;

function knownKeys(text: string): Span[] {
  const spans: Span[] = [];
  found(text, KNOWN_KEY, spans, PLAIN);
  otherKeys(text, spans);
  return spans;
}

/** A part of a key looks random, unlike those of a name. */
function isKeyBody(key: string): boolean {
  return key
    .split(/[_.-]/)
    .some(
      (part) =>
        (part.length >= 16 && (isRandom(part) || (/^[0-9a-f]{24,}$/.test(part) && /[a-f]/.test(part)))) ||
        (part.length >= 8 && /\d/.test(part) && /[a-z]/.test(part) && /[A-Z]/.test(part) && !isPlain(part)),
    );
}

/** Keys without a prefix, and tokens. */
function otherKeys(text: string, spans: Span[]): void {
  for (const { mark, pattern } of MARKED_KEYS) if (mark.test(text)) found(text, pattern, spans, PLAIN);
  if (GENERIC_MARK.test(text)) found(text, GENERIC_KEY, spans, PLAIN, isKeyBody);
  if (!text.includes("eyJ")) return;
  for (const { 0: token, index } of matches(text, SIGNED))
    if (/\.[\w-]{10}/.test(token)) spans.push({ start: index, end: index + token.length });
}

/** By code: 1 for the ASCII characters of a class. */
function charactersOf(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => Number(pattern.test(String.fromCharCode(code))));
}

const ELLIPSIS = /…|\.{3}/g;
const MAX_CUT = 300;
const MIN_CUT = 7;
const MIXED = /\d|[a-z][A-Z]|[A-Z]{4}/;

/**
 * Keys of which only the beginning is left, because a product or retinue cut the text off: at its end, or before an
 * ellipsis.
 */
function cutKeys(text: string, depth: number, spans: Span[]): void {
  let from = 0;
  const cutAt = (end: number) => {
    const key = keyBefore(text, end, from, MIXED);
    if (key !== null && MIXED.test(key.slice(2)) && !PLAIN.test(key)) spans.push({ start: end - key.length, end });
  };
  if (text.includes("…") || text.includes("..."))
    for (const { 0: dots, index } of matches(text, ELLIPSIS)) {
      cutAt(index);
      from = index + dots.length;
    }
  // A line of a decoded text ends without being cut off.
  if (depth === 0) cutAt(text.length);
}

const KEY_CHARACTER = charactersOf(/[\w+/=~|:.-]/);

/** The key, or its beginning, that ends there. `mark`: what it contains, in any case. */
function keyBefore(text: string, end: number, from: number, mark: RegExp): string | null {
  const least = Math.max(from, end - MAX_CUT);
  let start = end;
  while (start > least && KEY_CHARACTER[text.charCodeAt(start - 1)] === 1) start--;
  if (end - start < MIN_CUT) return null;
  const word = text.slice(start, end);
  return mark.test(word) ? (CUT_KEY.exec(word)?.[0] ?? null) : null;
}

/** All prefixes of keys but a few end so, or are in capitals. */
const PREFIX_END = /[_.-]|[A-Z]{2}/;
const LINE_BREAK = /\r?\n[ \t]{0,20}/g;
const NEXT_PART = /[\w+/=~|:.-]{4,300}/y;
const ENDS_LINE = /["'`,;]{0,3}[ \t]{0,8}(?:[\r\n]|$)/y;

/** Keys that a terminal or a mail broke at the end of a line. */
function wrappedKeys(text: string, spans: Span[]): void {
  let from = 0;
  for (const { 0: wrap, index } of matches(text, LINE_BREAK)) {
    const key = keyBefore(text, index, from, PREFIX_END);
    from = index + wrap.length;
    NEXT_PART.lastIndex = from;
    const rest = key === null ? undefined : NEXT_PART.exec(text)?.[0];
    if (key === null || rest === undefined || isPlain(rest)) continue;
    ENDS_LINE.lastIndex = from + rest.length;
    // If the first part is a whole key, the next line may begin with anything else.
    const isPart = isKnownKey(key)
      ? isRandom(rest) && ENDS_LINE.test(text)
      : MIXED.test(rest) && isKnownKey(key + rest);
    if (isPart) spans.push({ start: index - key.length, end: from + rest.length });
  }
}

function isKnownKey(text: string): boolean {
  KNOWN_KEY.lastIndex = 0;
  return KNOWN_KEY.test(text);
}

/** Followed by a line break, literal or escaped: a program that only mentions the first line contains no key. */
const BEGIN = /-----BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----(?=\s|\\{1,3}[nr])/g;
const MAX_BLOCK = 20_000;
/** A truncated block is secret up to the first character that cannot be part of one. */
const REST_OF_BLOCK = /[^"'`<>{}]*/y;

function privateKeys(text: string, spans: Span[]): void {
  if (!text.includes("-----BEGIN ")) return;
  let [end, done] = [-1, 0];
  for (const { 0: begin, index } of matches(text, BEGIN)) {
    if (index < done) continue;
    const from = index + begin.length;
    // Searched once, not for every begin marker.
    if (end < from) end = (text.indexOf("-----END ", from) + 1 || text.length + 1) - 1;
    REST_OF_BLOCK.lastIndex = from;
    const close = text.indexOf("-----", end + 9);
    done =
      end - from <= MAX_BLOCK && end < text.length
        ? close < 0
          ? text.length
          : close + 5
        : from + (REST_OF_BLOCK.exec(text)?.[0].length ?? 0);
    spans.push({ start: index, end: done });
  }
}

const END = /-----END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----/g;
const BLOCK_LINE = /^[A-Za-z0-9+/]{1,100}={0,2}$/;
const MAX_LINE = 120;

/** Private keys without their first line: the lines of Base64 before the last one. */
function privateKeyEnds(text: string, spans: Span[]): void {
  if (!text.includes("-----END ")) return;
  let from = 0;
  for (const { 0: last, index } of matches(text, END)) {
    let [start, longest] = [index, 0];
    while (start > from && text[start - 1] === "\n") {
      const begin = Math.max(from, start - MAX_LINE);
      const above = text.slice(begin, start - 1);
      const line = above.slice(above.lastIndexOf("\n") + 1);
      const content = line.trim();
      const isWhole = line.length < above.length || begin === from;
      // Only the last line of a key is short.
      if (!isWhole || !BLOCK_LINE.test(content) || (start < index && content.length < BASE64_LINE)) break;
      longest = Math.max(longest, content.length);
      start -= line.length + 1;
    }
    if (longest >= BASE64_RUN) spans.push({ start, end: index + last.length });
    from = index + last.length;
  }
}

const BASE64_RUN = 24;
/** Minimum length of a further line of a run, and how many there may be. */
const BASE64_LINE = 20;
const BASE64_LINES = 2_000;
const BASE64_CHARACTER = charactersOf(/[A-Za-z0-9+/_-]/);

/**
 * Whether a text contains a run that `base64Runs` returns. Checks the last character of a possible run first, so that
 * for most texts a few characters are enough.
 */
export function hasBase64Run(text: string): boolean {
  // The run begins at `start` or later; all characters from there up to `known` belong to it.
  for (let [start, known] = [0, 0]; start + BASE64_RUN <= text.length; ) {
    let at = start + BASE64_RUN - 1;
    while (at >= known && BASE64_CHARACTER[text.charCodeAt(at)] === 1) at -= 1;
    if (at < known) return true;
    [known, start] = [start + BASE64_RUN, at + 1];
  }
  return false;
}

/**
 * Runs of Base64 over one or several lines. Not a regular expression: V8 fails if one character class matches tens of
 * millions of characters.
 */
export function* base64Runs(text: string): Generator<{ readonly start: number; readonly end: number }> {
  const isPart = (at: number) => BASE64_CHARACTER[text.charCodeAt(at)] === 1;
  const endFrom = (start: number) => {
    let at = start;
    while (isPart(at)) at += 1;
    return at;
  };
  for (let start = 0; start + BASE64_RUN <= text.length; ) {
    let end = endFrom(start);
    if (end - start < BASE64_RUN || text[start - 1] === "=") {
      start = end + 1;
      continue;
    }
    for (let lines = 0; lines < BASE64_LINES; lines += 1) {
      const next = end + (text.startsWith("\r\n", end) ? 2 : 1);
      const done = text[next - 1] === "\n" ? endFrom(next) : next;
      if (done - next < BASE64_LINE) break;
      end = done;
    }
    for (let padding = 0; padding < 2 && text[end] === "="; padding += 1) end += 1;
    yield { start, end };
    start = end;
  }
}

const PRINTABLE = /^[\t\n\r\x20-\x7e]*$/;

/** Base64 of a text that contains a secret. */
function encoded(text: string, depth: number, spans: Span[]): void {
  if (depth >= MAX_DEPTH || !hasBase64Run(text)) return;
  for (const { start, end } of base64Runs(text)) {
    const run = text.slice(start, end);
    if (!PRINTABLE.test(fromBase64(run.slice(0, 32)))) continue;
    const plain = fromBase64(run);
    if (PRINTABLE.test(plain) && secretsIn(plain, depth + 1).length > 0) spans.push({ start, end });
  }
}

function fromBase64(run: string): string {
  const plain = run
    .replace(/[\r\n=]/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  // A single last character does not encode a whole byte.
  return atob(plain.length % 4 === 1 ? plain.slice(0, -1) : plain);
}
