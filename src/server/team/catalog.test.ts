import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Reader } from "../../app/team/store.ts";
import { TeamCatalog } from "./catalog.ts";
import type { Feed } from "./feed.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const FOLLOW = { threads: true, trees: [], events: [], logs: [], spans: [], cards: false };

function opened(until: AbortSignal, heads: () => Promise<Map<string, number>>, isAllowed = async () => true) {
  const feed = { heads, newestHeads: heads, headOf: () => 0, onAccess: () => {} } as unknown as Feed;
  const recheck = { everyMs: 1_000, isAllowed };
  return new TeamCatalog({} as Reader, feed, ["ann"], recheck).changes(FOLLOW, null, until);
}

describe("the rights of a stream's viewer are checked", () => {
  it("until the stream ends", async () => {
    const until = new AbortController();
    await opened(until.signal, async () => new Map());
    expect(vi.getTimerCount()).toBe(1);
    until.abort();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("until they are gone", async () => {
    await opened(
      new AbortController().signal,
      async () => new Map(),
      async () => false,
    );
    await vi.advanceTimersByTimeAsync(1_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("never if the client was gone before, or the server was stopping", async () => {
    await opened(AbortSignal.abort(), async () => new Map());
    expect(vi.getTimerCount()).toBe(0);
  });

  it("no longer if the stream could not begin", async () => {
    const away = opened(new AbortController().signal, () => Promise.reject(new Error("away")));
    await expect(away).rejects.toThrow("away");
    expect(vi.getTimerCount()).toBe(0);
  });
});
