import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashOf, NameTable } from "./name-table.ts";

/** Names are moved to a sorted list every few hundred names. */
const MANY = 20_000;

describe("flags of names", () => {
  it("match those of a map, however names and flags repeat", () => {
    const operation = fc.record({ name: fc.integer({ min: 0, max: 3_000 }), flag: fc.constantFrom(1, 2, 256, 32_768) });
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1_000, maxLength: 5_000 }), (operations) => {
        const [table, map] = [new NameTable(), new Map<string, number>()];
        for (const { name, flag } of operations) {
          const known = map.get(`n${name}`) ?? 0;
          if (table.add(`n${name}`, flag) !== ((known & flag) === 0)) throw new Error(`${name} was ${known}`);
          map.set(`n${name}`, known | flag);
        }
        expect(table.count).toBe(map.size);
        expect([...map].filter(([name, flags]) => table.get(hashOf(name)) !== flags)).toEqual([]);
        for (const flag of [1, 256])
          expect([...table.hashes(flag)].sort()).toEqual(
            [...map].flatMap(([name, flags]) => ((flags & flag) === 0 ? [] : [hashOf(name)])).sort(),
          );
      }),
      { numRuns: 20 },
    );
  });

  it("are found for every one of many names, and for no other", () => {
    const table = new NameTable();
    const numbers = Array.from({ length: MANY }, (_, i) => i);
    expect(numbers.filter((i) => !table.add(`name ${i}`, 1))).toEqual([]);
    expect(numbers.filter((i) => table.get(hashOf(`name ${i}`)) !== 1)).toEqual([]);
    expect(numbers.filter((i) => table.has(`other ${i}`, 1))).toEqual([]);
    expect(new Set(table.hashes(1)).size).toBe(MANY);
    expect(numbers.filter((i) => !table.add(`name ${i}`, 2))).toEqual([]);
    expect(numbers.filter((i) => table.get(hashOf(`name ${i}`)) !== 3)).toEqual([]);
    expect(table.count).toBe(MANY);
  });

  it("take less than ten bytes per name, and little for few names", () => {
    const table = new NameTable();
    table.add("one", 1);
    expect(table.bytes).toBeLessThan(200);
    for (let i = 0; i < MANY; i += 1) table.add(`name ${i}`, 1);
    expect(table.bytes / MANY).toBeLessThan(10);
    for (let i = MANY; i < 10 * MANY; i += 1) table.add(`name ${i}`, 1);
    expect(table.bytes / (10 * MANY)).toBeLessThan(10);
  });
});
