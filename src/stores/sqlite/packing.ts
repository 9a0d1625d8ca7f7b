import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { FactColumns, type SavedColumns } from "../../core/facts/fact-columns.ts";
import type { Observation } from "../../core/facts/observation.ts";
import { StoreFault } from "../fault.ts";
import { DICTIONARY } from "./dictionary.ts";

/** Shorter texts are not compressed. */
const SMALL_TEXT = 400;
/** Begins compressed data. JSON never begins with it. */
const COMPRESSED = 0x28;
/** Begins a reference into a pack. Neither JSON nor compressed data begins with it. */
export const REFERENCE = 0x40;

/**
 * With the dictionary, this level is faster than the default one and makes the index no larger. With the checksum,
 * damaged bytes are not unpacked to other facts.
 */
const FAST = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 };

export const packJson = (value: unknown): Uint8Array => packBytes(Buffer.from(JSON.stringify(value)));

export function packBytes(text: Uint8Array): Uint8Array {
  // With the size known in advance, zstd allocates less: a third less time for a small text.
  return text.length < SMALL_TEXT
    ? text
    : zstdCompressSync(text, { dictionary: DICTIONARY, pledgedSrcSize: text.length, params: FAST });
}

/** Longer values are compressed even if they are replaced soon. */
const SMALL_VALUE = 4 << 10;

/** For a value that the next append replaces or merges: to compress it would take longer than to write it. */
export function packShortLived(value: unknown): Uint8Array {
  const text = Buffer.from(JSON.stringify(value));
  return text.length < SMALL_VALUE ? text : packBytes(text);
}

export const unpackJson = (packed: Uint8Array | undefined): unknown => jsonIn(unpackBytes(packed));

export const jsonIn = (text: Buffer): unknown => orDamaged(() => JSON.parse(text.toString("utf8")));

export function unpackBytes(packed: Uint8Array | undefined): Buffer {
  return orDamaged(() => {
    if (packed === undefined) throw new Error("a packed value is missing");
    return packed[0] === COMPRESSED ? zstdDecompressSync(packed, { dictionary: DICTIONARY }) : Buffer.from(packed);
  });
}

/** Throws only if the bytes are damaged. */
function orDamaged<T>(unpacked: () => T): T {
  try {
    return unpacked();
  } catch (error) {
    throw error instanceof StoreFault ? error : new StoreFault("damaged", error);
  }
}

/**
 * Facts with the same fields, by column: the field names, and for each field one value per fact, or a single value if
 * all are equal.
 */
interface Table {
  readonly fields: readonly string[];
  readonly values: readonly (readonly unknown[])[];
  readonly facts: number;
}

/**
 * Converts the facts of one file to columns, which compress better. The order is not kept. Ids are stored without the
 * file's path, which they repeat.
 */
function tablesOf(observations: readonly Observation[], path: string): unknown {
  const groups: { readonly fields: readonly string[]; readonly facts: Fields[] }[] = [];
  const byType = new Map<string, typeof groups>();
  for (const fact of observations as readonly unknown[] as readonly Fields[]) {
    const known = byType.get(fact.type as string) ?? [];
    if (known.length === 0) byType.set(fact.type as string, known);
    let group = known.find(({ fields }) => hasFields(fact, fields));
    if (group === undefined) {
      group = { fields: Object.keys(fact), facts: [] };
      known.push(group);
      groups.push(group);
    }
    group.facts.push(fact);
  }
  return groups.map(
    ({ fields, facts }) =>
      ({ fields, values: fields.map((field) => columnOf(facts, field, path)), facts: facts.length }) satisfies Table,
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** Exactly these fields in this order. */
function hasFields(fact: Fields, fields: readonly string[]): boolean {
  let i = 0;
  for (const field in fact) {
    if (fields[i] !== field) return false;
    i += 1;
  }
  return i === fields.length;
}

function columnOf(facts: readonly Fields[], field: string, path: string): unknown[] {
  const column: unknown[] = [];
  if (field === "id") {
    for (const { id } of facts)
      column.push((id as string).startsWith(path) ? (id as string).slice(path.length) : `!${id}`);
    return column;
  }
  const first = facts[0]?.[field];
  let isSame = typeof first !== "object";
  for (const fact of facts) {
    const value = fact[field];
    isSame &&= value === first;
    column.push(value);
  }
  return isSame ? [first] : column;
}

/** The facts of a file as JSON: bulk facts in columns, the others in tables. */
export const savedFacts = (facts: FactColumns): unknown => [facts.save(), tablesOf(facts.rare, facts.path)];

/** Whether packed bytes are JSON: neither compressed nor a reference into a pack. */
export const isPlain = ([first]: Uint8Array): boolean => first !== COMPRESSED && first !== REFERENCE;

/** The facts that `savedFacts` returned. */
export const factsOf = (saved: unknown, path: string): Observation[] =>
  orDamaged(() => {
    const [columns, tables] = saved as [SavedColumns | null, Table[]];
    return [...tables.flatMap((table) => factsIn(table, path)), ...new FactColumns(path, columns)];
  });

function factsIn({ fields, values, facts }: Table, path: string): Observation[] {
  return Array.from({ length: facts }, (_, i) => {
    const fact: Record<string, unknown> = {};
    for (const [f, field] of fields.entries()) {
      const column = values[f] ?? [];
      fact[field] = column.length === 1 ? column[0] : column[i];
    }
    const id = fact.id as string;
    fact.id = id.startsWith("!") ? id.slice(1) : path + id;
    return fact as unknown as Observation;
  });
}
