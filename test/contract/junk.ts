/** Records that no product wrote: noise, truncated records, and records with values of the wrong type. */
import fc from "fast-check";
import type { FixtureSource } from "./sources.ts";

/** A record and its file. */
class JunkRecord {
  readonly source: FixtureSource;
  readonly record: Uint8Array;

  constructor(source: FixtureSource, record: Uint8Array) {
    this.source = source;
    this.record = record;
  }

  /** Shown in failure messages. */
  [fc.toStringMethod](): string {
    return `${this.source.name} with ${new TextDecoder().decode(this.record)}`;
  }
}

/** Values of a wrong type; the names are properties that every plain object inherits. */
export const WRONG: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e300,
  2 ** 60,
  "",
  " ",
  "x",
  "constructor",
  "__proto__",
  "2026-99-99T99:99:99Z",
  [],
  {},
  [null],
  [[]],
  [{}],
  { type: null },
  { a: { b: [] } },
];

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

export function junkRecords(sources: readonly FixtureSource[]): fc.Arbitrary<JunkRecord> {
  const samples = telling(sources);
  const sample = fc.constantFrom(...samples);
  const noise = fc
    .tuple(sample, fc.uint8Array({ maxLength: 200 }))
    .map(([{ source }, record]) => new JunkRecord(source, record));
  const otherJson = fc
    .tuple(sample, fc.jsonValue())
    .map(([{ source }, value]) => new JunkRecord(source, bytesOf(value)));
  const cutOff = fc
    .tuple(sample, fc.double({ min: 0, max: 1, noNaN: true }))
    .map(([{ source, record }, part]) => new JunkRecord(source, record.subarray(0, Math.floor(part * record.length))));
  const misplaced = fc.tuple(sample, sample).map(([{ source }, { record }]) => new JunkRecord(source, record));
  const changes = fc.array(
    fc.record({ path: fc.array(fc.nat(), { minLength: 1, maxLength: 6 }), to: fc.constantFrom(...WRONG) }),
    {
      minLength: 1,
      maxLength: 3,
    },
  );
  const mutated = fc.tuple(sample, changes).map(([{ source, record }, list]) => {
    const value: unknown = JSON.parse(new TextDecoder().decode(record));
    return new JunkRecord(source, bytesOf(list.reduce((changed, { path, to }) => replaceAt(changed, path, to), value)));
  });
  return fc.oneof({ arbitrary: mutated, weight: 6 }, cutOff, misplaced, noise, otherJson);
}

/** One or two records of every shape: thousands of similar ones would crowd out the rare ones. */
export function telling(sources: readonly FixtureSource[]): JunkRecord[] {
  const taken = new Map<string, JunkRecord[]>();
  for (const source of sources) {
    for (const record of source.records) {
      const value = jsonIn(record);
      if (value === null) continue;
      const inside = Object.values(value).map((part) =>
        typeof part === "object" && part !== null && "type" in part ? part.type : "",
      );
      const shape = `${source.stream.shape} ${String(value.type)} ${Object.keys(value).sort().join(" ")} ${inside.join(" ")}`;
      const list = taken.get(shape) ?? [];
      if (list.length < 2) taken.set(shape, [...list, new JunkRecord(source, record)]);
    }
  }
  return [...taken.values()].flat();
}

/** Null for the few files that are not JSON. */
function jsonIn(record: Uint8Array): { type?: unknown } | null {
  try {
    return JSON.parse(new TextDecoder().decode(record)) as { type?: unknown };
  } catch {
    // Not JSON.
    return null;
  }
}

/** Follows the given numbers down into the value as far as possible, and sets `to` there. */
export function replaceAt(value: unknown, [step, ...rest]: readonly number[], to: unknown): unknown {
  if (step === undefined || typeof value !== "object" || value === null) return to;
  const keys = Object.keys(value);
  const key = keys[step % Math.max(1, keys.length)];
  if (key === undefined) return to;
  const inside = replaceAt((value as Record<string, unknown>)[key], rest, to);
  return Array.isArray(value) ? value.with(Number(key), inside) : { ...value, [key]: inside };
}

/** The record with each of its short texts, such as ids, in turn empty, blank and missing. */
export function* withoutEachText(record: Uint8Array): Generator<Uint8Array> {
  const value = jsonIn(record);
  for (const path of value === null ? [] : shortTexts(value, []))
    for (const to of ["", " ", undefined]) yield bytesOf(replaceAt(value, path, to));
}

const LONGEST_ID = 80;

/** The positions of short texts, as `replaceAt` takes them. */
function shortTexts(value: unknown, path: readonly number[]): (readonly number[])[] {
  if (typeof value === "string") return value.length <= LONGEST_ID ? [path] : [];
  return typeof value !== "object" || value === null
    ? []
    : Object.values(value).flatMap((inside, i) => shortTexts(inside, [...path, i]));
}
