import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Observation } from "../../core/observation.ts";

/** Facts with the same fields: a name for each, and for each its values, one a fact; a value that all of them have stands there alone. */
interface Table {
  readonly fields: readonly string[];
  readonly values: readonly (readonly unknown[])[];
  readonly facts: number;
}

/** Facts of one file, as small as they get, in no order: field by field they are alike, and their ids repeat the file's path. */
export function pack(observations: readonly Observation[], path: string): Uint8Array {
  return zstdCompressSync(JSON.stringify([...Map.groupBy(observations, (o) => Object.keys(o).join(" ")).values()].map((same) => tableOf(same, path))));
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

export function unpack(packed: Uint8Array, path: string): Observation[] {
  const tables = JSON.parse(zstdDecompressSync(packed).toString("utf8")) as Table[];
  return tables.flatMap(({ fields, values, facts }) =>
    Array.from({ length: facts }, (_, i) => {
      const fact: Record<string, unknown> = {};
      for (const [f, field] of fields.entries()) {
        const column = values[f] ?? [];
        fact[field] = column.length === 1 ? column[0] : column[i];
      }
      const id = fact.id as string;
      fact.id = id.startsWith("!") ? id.slice(1) : path + id;
      return fact as unknown as Observation;
    }),
  );
}

/** 53 bits, so that it is exact as a number here and as an integer there. Not for secrets. */
export function hash(text: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
