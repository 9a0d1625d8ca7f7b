import { expect, it } from "vitest";
import { GrowingFiles } from "./growing-files.ts";

/** Files with a size each, a clock, and the number of times that a stamp was taken. */
function setUp() {
  const sizes = new Map<string, number | null>();
  const state = { now: 0, stamps: 0 };
  const growing = new GrowingFiles(
    (path) => {
      state.stamps += 1;
      const size = sizes.get(path) ?? 0;
      return sizes.get(path) === null ? null : String(size);
    },
    () => state.now,
  );
  /** Polls when it is due, for this long; returns when a change was found. */
  const polledFor = (ms: number) => {
    const found: number[] = [];
    for (const end = state.now + ms; growing.size > 0 && growing.nextPollAt <= end; ) {
      state.now = growing.nextPollAt;
      if (growing.poll(new Set()).length > 0) found.push(state.now);
    }
    state.now += Math.max(0, ms - (state.now % ms));
    return found;
  };
  return { sizes, state, growing, polledFor };
}

it("a file whose changes are notified is not polled between two of them", () => {
  const { state, growing } = setUp();
  for (let i = 0; i < 20; i += 1) {
    growing.notified("a");
    growing.reading(["a"]);
    growing.changed(["a"]);
    state.now += 370;
    expect(growing.nextPollAt).toBeGreaterThan(state.now);
  }
  expect(state.stamps).toBe(20);
});

it("a silent file is polled less and less often, and then no more", () => {
  const { state, growing, polledFor } = setUp();
  growing.notified("a");
  growing.reading(["a"]);
  expect(polledFor(10_000)).toEqual([]);
  expect(growing.size).toBe(0);
  expect(state.stamps).toBeLessThan(6);
});

it("changes that are not notified are found, soon after the first of them", () => {
  const { sizes, state, growing } = setUp();
  growing.notified("a");
  growing.reading(["a"]);
  const delays: number[] = [];
  for (let size = 1; size <= 5; size += 1) {
    const written = state.now + 10;
    sizes.set("a", size);
    state.now = Math.max(written, growing.nextPollAt);
    expect(growing.poll(new Set())).toEqual(["a"]);
    delays.push(state.now - written);
    growing.reading(["a"]);
    growing.changed(["a"]);
  }
  expect(delays[0]).toBeLessThanOrEqual(400);
  for (const delay of delays.slice(1)) expect(delay).toBeLessThanOrEqual(100);
});

it("a file that is notified all the time does not postpone the poll of others", () => {
  const { sizes, state, growing } = setUp();
  growing.notified("silent");
  growing.reading(["silent"]);
  sizes.set("silent", 1);
  for (let i = 0; i < 50 && growing.nextPollAt > state.now; i += 1) {
    growing.notified("loud");
    growing.reading(["loud"]);
    state.now += 20;
  }
  expect(state.now).toBeLessThanOrEqual(420);
  expect(growing.poll(new Set(["loud"]))).toEqual(["silent"]);
});

it("a file whose state cannot be determined is read again", () => {
  const { sizes, growing } = setUp();
  sizes.set("a", null);
  growing.notified("a");
  growing.reading(["a"]);
  expect(growing.poll(new Set())).toEqual(["a"]);
});
