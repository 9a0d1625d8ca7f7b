/** A fuzz target: a reader of external text, and the properties that must hold for any text. */
import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import type { Random } from "../../scripts/bench/random.ts";

export interface Target {
  readonly name: string;
  /** Its share of all inputs, relative to the other targets: slow ones get fewer. */
  readonly weight: number;
  /** Loads samples, starts servers. */
  open(): Promise<Opened> | Opened;
}

export interface Opened {
  /** Returns the same input for the same numbers. */
  generate(random: Random): Buffer;
  /** Throws if a property does not hold. Depends only on the input. */
  check(input: Buffer): void | Promise<void>;
  close?(): Promise<void>;
}

export function require(holds: boolean, property: string, details?: unknown): asserts holds {
  if (!holds)
    throw new AssertionError({ message: details === undefined ? property : `${property}: ${shown(details)}` });
}

export function requireSame(actual: unknown, expected: unknown, property: string): void {
  if (!isDeepStrictEqual(actual, expected))
    throw new AssertionError({ message: `${property}\n  got  ${shown(actual)}\n  not  ${shown(expected)}` });
}

const shown = (value: unknown) => (JSON.stringify(value) ?? String(value)).slice(0, 600);

const PLAIN = new Set<unknown>([Object.prototype, Array.prototype, null]);

/** Only values that can be written as JSON, and no object with a prototype from the input. */
export function requirePlain(value: unknown, what: string): void {
  const left: unknown[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === "number") require(Number.isFinite(one), `${what}: a number that JSON has not`);
    else if (typeof one === "object" && one !== null) {
      require(PLAIN.has(Object.getPrototypeOf(one)), `${what}: an object with a prototype of its own`);
      for (const inside of Object.values(one)) if (inside !== undefined) left.push(inside);
    } else
      require(one === undefined ||
        one === null ||
        typeof one === "string" ||
        typeof one === "boolean", `${what}: a ${typeof one}`);
  }
}

/** Object.prototype is unchanged. */
export function requireUnpolluted(): void {
  for (const prototype of [Object.prototype, Array.prototype, Function.prototype, String.prototype])
    require(Object.keys(prototype).length === 0, "prototype pollution", Object.keys(prototype));
}

/** Replaces randomness in a check: depends only on the input. */
export function numberOf(input: Uint8Array): number {
  let sum = 2166136261;
  for (const byte of input) sum = Math.imul(sum ^ byte, 16777619) >>> 0;
  return sum;
}

/** A value split at positions that depend on the seed: empty pieces, single characters and large ones. */
export function cutUp<T extends { readonly length: number; slice(start: number, end?: number): T }>(
  whole: T,
  seed: number,
): T[] {
  const pieces: T[] = [];
  let state = seed | 1;
  for (let at = 0; at < whole.length; ) {
    state = Math.imul(state ^ (state >>> 15), 2246822519) >>> 0;
    const size = state % 5 === 0 ? 0 : state % 5 === 1 ? 1 : 1 + ((state >>> 8) % Math.max(8, whole.length >>> 2));
    pieces.push(whole.slice(at, at + size));
    at += size;
  }
  return pieces;
}
