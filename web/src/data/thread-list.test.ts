import { describe, expect, it } from "vitest";
import { sampleAgent } from "./sample.ts";
import { type ThreadFilters, threadRows } from "./thread-list.ts";

const NOW = new Date(2026, 10, 16, 12).getTime();
const hoursAgo = (hours: number) => new Date(NOW - hours * 3_600_000).toISOString();
const counts = (byStatus: Record<string, number>) => ({
  messages: 0,
  toolCalls: 0,
  toolErrors: 0,
  refused: 0,
  spawned: 0,
  descendants: 0,
  byStatus,
});
const threads = [
  sampleAgent("old", null, { lastActivityAt: hoursAgo(24 * 40), cwd: "/x" }),
  sampleAgent("morning", null, { lastActivityAt: hoursAgo(3), status: "errored", provider: "other" }),
  sampleAgent("now", null, { lastActivityAt: hoursAgo(0) }),
  sampleAgent("yesterday", null, { lastActivityAt: hoursAgo(20) }),
  sampleAgent("child at work", null, { lastActivityAt: hoursAgo(30), counts: counts({ running: 1, errored: 1 }) }),
  sampleAgent("timeless", null),
];
const NONE: ThreadFilters = { owner: null, provider: null, project: null, status: null, since: null };
const shown = (filters: Partial<ThreadFilters>) =>
  threadRows(threads, { ...NONE, ...filters }, NOW).map((row) =>
    row.is === "heading" ? `# ${row.text} ${row.count}` : row.id.trim(),
  );

describe("the list of threads", () => {
  it("has running threads first, then the newest", () => {
    expect(shown({})).toEqual([
      "# Running now 1",
      "child at work",
      "# Today 2",
      "now",
      "morning",
      "# Yesterday 1",
      "yesterday",
      "# October 2026 1",
      "old",
      "# Unknown time 1",
      "timeless",
    ]);
  });

  it("has times of a wrong clock apart from today", () => {
    const wrong = [
      sampleAgent("in an hour", null, { lastActivityAt: hoursAgo(-1) }),
      sampleAgent("tomorrow", null, { lastActivityAt: hoursAgo(-12) }),
      sampleAgent("far", null, { lastActivityAt: "2050-01-01T00:00:00.000Z" }),
      sampleAgent("running", null, { lastActivityAt: "9999-12-31T00:00:00.000Z", status: "running" }),
      sampleAgent("long ago", null, { lastActivityAt: "0001-06-01T00:00:00.000Z" }),
    ];
    expect(threadRows(wrong, NONE, NOW).map((row) => (row.is === "heading" ? `# ${row.text}` : row.id.trim()))).toEqual(
      [
        "# Running now",
        "running",
        "# In the future",
        "far",
        "tomorrow",
        "# Today",
        "in an hour",
        expect.stringMatching(/^# June /),
        "long ago",
      ],
    );
  });

  it("is filtered by product, project, status and time", () => {
    expect(shown({ provider: "other" })).toEqual(["# Today 1", "morning"]);
    expect(shown({ project: "/x" })).toEqual(["# October 2026 1", "old"]);
    expect(shown({ status: "running" })).toEqual(["# Running now 1", "child at work"]);
    expect(shown({ status: "errored" })).toEqual(["# Running now 1", "child at work", "# Today 1", "morning"]);
    expect(shown({ since: "1d" })).not.toContain("child at work");
    expect(shown({ since: "2w" })).toContain("child at work");
    expect(shown({ since: "1h" })).toEqual(["# Today 1", "now"]);
  });
});
