import { lowerBound } from "../tools/collections.ts";

/** From `start` up to, but not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A transformed text that maps its positions to the original. */
export interface View {
  readonly text: string;
  at(index: number): number;
}

/** The text without the matches of the global pattern. */
export const without = (text: string, pattern: RegExp): View => rewritten(text, pattern, () => "");

export const percentDecoded = (text: string, pattern: RegExp): View =>
  rewritten(text, pattern, (found) => codePoint(found.slice(1)));

export const unescaped = (text: string, pattern: RegExp): View =>
  rewritten(text, pattern, (found) =>
    found[1] === "u" || found[1] === "x" ? codePoint(found.slice(2)) : (LETTERS[found[1] ?? ""] ?? found.slice(1)),
  );

/** The text with entities of HTML and full-width characters decoded. */
export const entitiesDecoded = (text: string, pattern: RegExp): View =>
  rewritten(text, pattern, (found) => {
    if (found[0] !== "&") return String.fromCharCode(found.charCodeAt(0) - 0xfee0);
    const name = found.slice(1, -1);
    if (name.startsWith("#x")) return codePoint(name.slice(2));
    return name.startsWith("#") ? String.fromCharCode(Number(name.slice(1))) : (ENTITIES[name] ?? found);
  });

const ENTITIES: Readonly<Record<string, string>> = { quot: '"', apos: "'", amp: "&", lt: "<", gt: ">" };
const LETTERS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
const codePoint = (hex: string) => String.fromCharCode(Number.parseInt(hex, 16));

function rewritten(text: string, pattern: RegExp, replace: (found: string) => string): View {
  const pieces: string[] = [];
  /** Starts of pieces, in the transformed and the original text. */
  const here: number[] = [];
  const there: number[] = [];
  let [length, at] = [0, 0];
  const add = (piece: string, from: number) => {
    if (piece === "") return;
    pieces.push(piece);
    here.push(length);
    there.push(from);
    length += piece.length;
  };
  // `matchAll` starts at the pattern's lastIndex.
  pattern.lastIndex = 0;
  for (const { 0: found, index } of text.matchAll(pattern)) {
    add(text.slice(at, index), at);
    add(replace(found), index);
    at = index + found.length;
  }
  add(text.slice(at), at);
  here.push(length);
  there.push(text.length);
  return {
    text: pieces.join(""),
    at(index) {
      const piece = lowerBound(here, (start) => start <= index) - 1;
      return (there[piece] ?? 0) + index - (here[piece] ?? 0);
    },
  };
}
