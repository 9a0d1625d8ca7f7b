import { describe, expect, it } from "vitest";
import { type Card, inStage, mayMove, neighbour, noticesOf, STAGES } from "./board.ts";

const card = (id: string, more: Partial<Card> = {}): Card => ({
  id,
  title: `Card ${id}`,
  stage: "working",
  waiting: [],
  progress: null,
  threads: [],
  inferred: [],
  agents: { total: 1, running: 1 },
  createdAt: "2026-01-01T00:00:00.000Z",
  lastActivityAt: null,
  ...more,
});
const waiting = [{ uri: "x://a/b", agent: "explore", for: "answer", says: "question: which?", since: null }];

describe("a stage", () => {
  it("shows waiting cards first, then the newest", () => {
    const cards = [
      card("old", { lastActivityAt: "2026-01-02T00:00:00.000Z" }),
      card("done", { stage: "done" }),
      card("new", { lastActivityAt: "2026-01-03T00:00:00.000Z" }),
      card("waits", { waiting }),
    ];
    expect(inStage(cards, "working").map(({ id }) => id)).toEqual(["waits", "new", "old"]);
  });

  it("can be changed by hand only to queue a card again", () => {
    const moves = STAGES.flatMap((stage) =>
      STAGES.filter((to) => mayMove(card("a", { stage }), to)).map((to) => `${stage} ${to}`),
    );
    expect(moves).toEqual(["done queued", "failed queued"]);
  });
});

describe("a notification", () => {
  it("is shown once when an agent begins to wait", () => {
    const [one] = noticesOf(card("a"), card("a", { waiting }));
    expect(one?.text).toBe("explore waits for an answer: question: which?");
    expect(noticesOf(card("a", { waiting }), card("a", { waiting }))).toEqual([]);
  });

  it("is shown when a card ends, but not for earlier changes", () => {
    expect(noticesOf(card("a"), card("a", { stage: "failed" }))).toEqual([
      { card: "a", title: "Card a", text: "has failed" },
    ]);
    expect(noticesOf(undefined, card("a", { stage: "done", waiting }))).toEqual([]);
    expect(noticesOf(card("a", { stage: "queued" }), card("a"))).toEqual([]);
  });
});

describe("keyboard navigation", () => {
  const columns = [[], ["a", "b", "c"], [], ["d"]];
  it.each([
    [null, { x: 0, y: 1 }, "a"],
    ["a", { x: 0, y: 1 }, "b"],
    ["c", { x: 0, y: 1 }, "c"],
    ["c", { x: 1, y: 0 }, "d"],
    ["d", { x: 1, y: 0 }, "d"],
    ["d", { x: -1, y: 0 }, "a"],
    ["gone", { x: 1, y: 0 }, "a"],
  ])("from %s by %j", (id, step, to) => {
    expect(neighbour(columns, id, step)).toBe(to);
  });
});
