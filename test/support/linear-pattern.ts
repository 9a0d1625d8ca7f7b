/**
 * Checks that a regular expression can be matched without backtracking over an unbounded run, so that its time is
 * linear in the text.
 */

interface Part {
  readonly alternatives: readonly (readonly Part[])[];
  readonly min: number;
  readonly max: number;
  /** `(?=`, `(?!`, `(?<=`, `(?<!`. */
  readonly isLook: boolean;
}

/** Errors in a pattern; empty if there are none. */
export function backtracking(source: string): string[] {
  const faults: string[] = [];
  const [alternatives] = parse(source, 0);
  for (const parts of alternatives) inspect(parts, true, faults);
  return faults;
}

/** Nothing mandatory may follow an unbounded run: a match that fails there would be retried with every shorter run. */
function inspect(parts: readonly Part[], isOptionalBehind: boolean, faults: string[]): void {
  let isOptional = isOptionalBehind;
  for (const part of parts.toReversed()) {
    const isOpen = part.max === Number.POSITIVE_INFINITY;
    if (isOpen && !isOptional) faults.push("something must follow an unbounded run");
    if (isOpen && part.alternatives.flat().some(({ max }) => max > 1))
      faults.push("a repetition inside an unbounded one");
    for (const inner of part.alternatives) inspect(inner, part.isLook || isOptional, faults);
    isOptional &&= part.min === 0;
  }
}

function parse(source: string, from: number): readonly [Part[][], number] {
  const alternatives: Part[][] = [[]];
  let at = from;
  while (at < source.length && source[at] !== ")") {
    if (source[at] === "|") {
      alternatives.push([]);
      at++;
      continue;
    }
    const [inner, isLook, behind] = atom(source, at);
    const quantifier = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(source.slice(behind, behind + 16));
    at = behind + (quantifier?.[0].length ?? 0);
    alternatives.at(-1)?.push({ alternatives: inner, isLook, ...timesOf(quantifier) });
  }
  return [alternatives, at];
}

function atom(source: string, at: number): readonly [Part[][], boolean, number] {
  if (source[at] === "(") {
    const open = /^\((?:\?(?:[:=!]|<[=!]))?/.exec(source.slice(at))?.[0] ?? "(";
    const [inner, end] = parse(source, at + open.length);
    return [inner, /[=!]$/.test(open), end + 1];
  }
  if (source[at] === "[") return [[], false, at + (/^\[(?:\\.|[^\]])*\]/.exec(source.slice(at))?.[0].length ?? 1)];
  return [[], source[at] === "^" || source[at] === "$", at + (source[at] === "\\" ? 2 : 1)];
}

function timesOf(quantifier: RegExpExecArray | null): { readonly min: number; readonly max: number } {
  if (quantifier === null) return { min: 1, max: 1 };
  const [, sign, least = "", comma, most] = quantifier;
  if (sign !== undefined) return { min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Number.POSITIVE_INFINITY };
  return {
    min: Number(least),
    max: comma === "" ? Number(least) : most === "" ? Number.POSITIVE_INFINITY : Number(most),
  };
}
