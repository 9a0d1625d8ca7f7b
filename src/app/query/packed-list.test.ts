import { expect, it } from "vitest";
import { PackedList } from "./packed-list.ts";

const entry = (i: number) => ({
  number: i,
  text: `entry ${i} \u{1f600}`,
  call: { name: "Read", id: `toolu_${i}` },
  no: null,
});

it("returns what was pushed, in any order, while it grows", () => {
  const list = new PackedList<ReturnType<typeof entry>>();
  for (let i = 0; i < 1_000; i += 1) {
    list.push(entry(i));
    expect(list.length).toBe(i + 1);
    expect([list.get(i), list.get(i >> 1)]).toEqual([entry(i), entry(i >> 1)]);
  }
  expect(list.get(1_000)).toBeUndefined();
  expect([...list.values()]).toEqual(Array.from({ length: 1_000 }, (_, i) => entry(i)));
  expect([...list.values(500, 503)].map(({ number }) => number)).toEqual([500, 501, 502]);
  expect(list.packedBytes / list.length).toBeLessThan(40);
});
