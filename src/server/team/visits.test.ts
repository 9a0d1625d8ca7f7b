import { expect, it } from "vitest";
import { noteOwners, type Seen, type Visit, Visits } from "./visits.ts";

const visit = (subject: string): Visit => ({ token: "t", owner: "ann", action: "tree", subject, threadOwner: "bob" });

it("logs a visit again after ten minutes, and at once if it could not be written", async () => {
  let now = 0;
  let isAway = false;
  const written: (string | null)[] = [];
  const errors: unknown[] = [];
  const visits = new Visits(
    async ({ subject }) => {
      if (isAway) throw new Error("away");
      written.push(subject);
    },
    (error) => errors.push(error),
    () => now,
  );
  visits.note(visit("a"));
  visits.note(visit("a"));
  now += 599_999;
  visits.note(visit("a"));
  expect(written).toEqual(["a"]);
  now += 1;
  visits.note(visit("a"));
  expect(written).toEqual(["a", "a"]);
  isAway = true;
  visits.note(visit("b"));
  await expect.poll(() => errors).toHaveLength(1);
  isAway = false;
  visits.note(visit("b"));
  expect(written).toEqual(["a", "a", "b"]);
});

it("a list is noted for each of its owners, or once if there are many", () => {
  const notesOf = (count: number) => {
    const notes: Seen[] = [];
    const shown = Array.from({ length: 2 * count }, (_, n) => ({ owner: `o${n % count}` }));
    expect(noteOwners(shown, (seen) => notes.push(seen))).toHaveLength(count);
    return notes;
  };
  expect(notesOf(0)).toEqual([]);
  expect(notesOf(2)).toEqual([
    { owner: "o0", thread: null },
    { owner: "o1", thread: null },
  ]);
  expect(notesOf(11)).toEqual([null]);
});

it("remembers a limited number of visits", () => {
  let count = 0;
  const visits = new Visits(
    async () => {
      count += 1;
    },
    () => {},
    () => 0,
  );
  for (let n = 0; n <= 10_000; n += 1) visits.note(visit(`${n}`));
  visits.note(visit("10000"));
  expect(count).toBe(10_001);
  visits.note(visit("0"));
  expect(count).toBe(10_002);
});
