import { hash } from "../../core/tools/hash.ts";

/**
 * A position of the live stream on a team server: the number of the last shipment of each owner that the viewer may
 * see. Valid on every server of the database, as long as the viewer may see the same owners. The sum at the end orders
 * the positions of one viewer by age.
 *
 * Every message has one, and so have many responses, in a header. So the owners are not named: their numbers are
 * packed in the order of their names, in about three characters each.
 */
export function formatPosition(seqs: ReadonlyMap<string, number>): string {
  const owners = [...seqs.keys()].sort();
  const numbers = owners.map((owner) => seqs.get(owner) ?? 0);
  return `${nameOf(owners)}.${Buffer.from(numbers.flatMap(bytesOf)).toString("base64url")}-${sumOf(numbers)}`;
}

/** Null if it is not a position of a viewer who may see these owners. */
export function parsePosition(text: string, owners: readonly string[]): Map<string, number> | null {
  const [, name, packed = "", sum] = /^(\w+)\.([\w-]*)-(\d+)$/.exec(text) ?? [];
  const sorted = owners.toSorted();
  const numbers = numbersIn(Buffer.from(packed, "base64url"));
  if (name !== nameOf(sorted) || numbers.length !== sorted.length || sum !== String(sumOf(numbers))) return null;
  return new Map(sorted.map((owner, i) => [owner, numbers[i] ?? 0]));
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((total, seq) => total + seq, 0);

/** Stands for a list of owners. */
const nameOf = (sorted: readonly string[]) => hash(sorted.join(",")).toString(36);

/** Seven bits in each byte, the lowest first; all but the last byte have the highest bit. */
function bytesOf(number: number): number[] {
  const bytes: number[] = [];
  let left = number;
  for (; left > 0x7f; left = Math.floor(left / 0x80)) bytes.push(0x80 + (left % 0x80));
  return [...bytes, left];
}

function numbersIn(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let [number, unit] = [0, 1];
  for (const byte of bytes) {
    number += (byte % 0x80) * unit;
    unit *= 0x80;
    if (byte >= 0x80) continue;
    numbers.push(number);
    [number, unit] = [0, 1];
  }
  return numbers;
}
