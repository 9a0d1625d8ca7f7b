import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Observation } from "../../core/observation.ts";
import { StoreFault } from "../fault.ts";
import { DICTIONARY } from "./dictionary.ts";

/** Not worth the time below this. */
const SMALL_TEXT = 400;
/** How everything that is compressed begins, and no JSON. */
const COMPRESSED = 0x28;

export function packJson(value: unknown): Uint8Array {
  const text = Buffer.from(JSON.stringify(value));
  // Told how much will come, it prepares for no more: a third less time for a small piece.
  return text.length < SMALL_TEXT ? text : zstdCompressSync(text, { dictionary: DICTIONARY, pledgedSrcSize: text.length });
}

export function unpackJson(packed: Uint8Array | undefined): unknown {
  return orDamaged(() => {
    if (packed === undefined) throw new Error("a packed value is missing");
    const text = packed[0] === COMPRESSED ? zstdDecompressSync(packed, { dictionary: DICTIONARY }) : Buffer.from(packed);
    return JSON.parse(text.toString("utf8"));
  });
}

/** What we packed ourselves can be unpacked, unless its bytes were damaged. */
function orDamaged<T>(unpacked: () => T): T {
  try {
    return unpacked();
  } catch (error) {
    throw error instanceof StoreFault ? error : new StoreFault("damaged", error);
  }
}

/** Facts with the same fields: a name for each, and for each its values, one a fact; a value that all of them have stands there alone. */
interface Table {
  readonly fields: readonly string[];
  readonly values: readonly (readonly unknown[])[];
  readonly facts: number;
}

/** Facts of one file, as small as they get, in no order: field by field they are alike, and their ids repeat the file's path. */
export function pack(observations: readonly Observation[], path: string): Uint8Array {
  return packJson([...Map.groupBy(observations, (o) => Object.keys(o).join(" ")).values()].map((same) => tableOf(same, path)));
}

function tableOf(facts: readonly Observation[], path: string): Table {
  const fields = Object.keys(facts[0] ?? {});
  const values = fields.map((field) => {
    const column = facts.map((o) => (o as unknown as Record<string, unknown>)[field]);
    if (field === "id") return column.map((id) => ((id as string).startsWith(path) ? (id as string).slice(path.length) : `!${id}`));
    return typeof column[0] !== "object" && column.every((value) => value === column[0]) ? column.slice(0, 1) : column;
  });
  return { fields, values, facts: facts.length };
}

export function unpack(packed: Uint8Array | undefined, path: string): Observation[] {
  return orDamaged(() => (unpackJson(packed) as Table[]).flatMap((table) => factsIn(table, path)));
}

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
