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
  const client = { id: "t", recheck: { everyMs: 1_000, isAllowed }, seen: () => {} };
  return new TeamCatalog({} as Reader, feed, ["ann"], client).changes(FOLLOW, null, until);
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

describe("findings and files of whole trees", () => {
  it("are computed for two requests at once, because they need all events in memory", async () => {
    const uri = "claude://a";
    let [now, most] = [0, 0];
    const reader = {
      agentsAt: async () => [{ owner: "ann", thread: uri, uri }],
      agents: async () => new Map([[uri, { place: 0, record: { uri, parent: null, usage: {}, counts: {} } }]]),
      events: async () => {
        now += 1;
        most = Math.max(most, now);
        await new Promise((resolve) => setTimeout(resolve, 10));
        now -= 1;
        return [];
      },
      lists: async () => new Map(),
      details: async () => new Map(),
    } as unknown as Reader;
    const answers = Array.from({ length: 9 }, () => new TeamCatalog(reader, {} as Feed, ["ann"]).detail(uri, "files"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 9 }, () => []));
    expect(most).toBe(2);
  });
});
