import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Ledger, type LedgerLine, type LedgerNotice, readLedger, type TreeSeen } from "./ledger.ts";
import type { LimitSet } from "./limits.ts";

const deny = (max: number) => ({ max, action: "deny" as const });
type Line = LedgerLine extends infer One ? (One extends LedgerLine ? Omit<One, "at"> : never) : never;
const spawn = (call: string, more: object = {}): Line =>
  ({ is: "spawn", call, by: null, type: "x", description: null, callerDepth: null, process: null, ...more }) as Line;
const notice = (line: LedgerNotice): Line => line;
const ended = (agent: string | null, call: string | null = null) => notice({ is: "ended", agent, call, type: "x" });
const started = (agent: string) => notice({ is: "started", agent, type: "x" });

const AGENT = { parent: null, name: "n", type: "x", running: true, startedAt: null, costUsd: null, tokens: null };

function ledger(lines: readonly Line[], limits: LimitSet, tree: TreeSeen | null = null) {
  const timed = lines.map((line, i) => ({ at: i, ...line }) as LedgerLine);
  return new Ledger(timed, { thread: limits, byType: {} }, tree);
}
const allowed = (lines: readonly Line[], limits: LimitSet, tree: TreeSeen | null = null) => {
  const read = ledger(lines, limits, tree);
  const calls = new Set(lines.flatMap((line) => (line.is === "spawn" ? [line.call] : [])));
  return [...calls].filter((call) => read.verdictOf(call)?.action === "allow");
};

describe("the number of agents", () => {
  it("is exact: each spawn is decided from those before it, and a repeated call is one", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.integer({ min: 0, max: 12 }).map((n) => `c${n}`),
          { maxLength: 40 },
        ),
        fc.integer({ min: 0, max: 6 }),
        (calls, max) => {
          const distinct = [...new Set(calls)];
          expect(
            allowed(
              calls.map((call) => spawn(call)),
              { agents: deny(max) },
            ),
          ).toEqual(distinct.slice(0, max));
        },
      ),
    );
  });

  it("does not change a decision that was made under other limits", () => {
    const decided = { is: "decided", call: "b", via: "hook", action: "allow", exceeded: null } as Line;
    expect(allowed([spawn("a"), spawn("b"), decided, spawn("c")], { agents: deny(1) })).toEqual(["a", "b"]);
  });

  it("includes agents that only the tree knows, each once", () => {
    const known = { parent: null, name: "n", type: "x", running: false, startedAt: null, costUsd: null, tokens: null };
    const tree = {
      costUsd: null,
      tokens: null,
      agents: [
        { ...known, id: "before", call: "c0" },
        { ...known, id: "agent-a", call: "a" },
      ],
    };
    expect(allowed([spawn("a"), spawn("b"), spawn("c")], { agents: deny(3) }, tree)).toEqual(["a", "b"]);
  });
});

it("a tree that shows the agents of the ledger changes no decision about them", () => {
  const known = { parent: null, name: "n", type: "x", running: true, startedAt: null, costUsd: null, tokens: null };
  const tree = {
    costUsd: null,
    tokens: null,
    agents: ["a", "b", "c"].map((call) => ({ ...known, id: `of ${call}`, call })),
  };
  const lines = ["a", "b", "c", "d"].map((call) => spawn(call));
  expect(allowed(lines, { agents: deny(3) }, tree)).toEqual(["a", "b", "c"]);
  expect(allowed(lines, { concurrent: deny(3) }, tree)).toEqual(["a", "b", "c"]);
});

describe("the number of running agents", () => {
  const LIMIT = { concurrent: deny(2) };

  it("falls when an agent ends, whichever id the end names", () => {
    const full = [spawn("a"), spawn("b")];
    expect(allowed([...full, spawn("c")], LIMIT)).toEqual(["a", "b"]);
    expect(allowed([...full, ended(null, "a"), spawn("c")], LIMIT)).toEqual(["a", "b", "c"]);
    expect(allowed([...full, started("1"), ended("1"), spawn("c"), spawn("d")], LIMIT)).toEqual(["a", "b", "c"]);
  });

  it("counts an end once, though it is reported for the agent and for its call", () => {
    const lines = [spawn("a"), spawn("b"), started("1"), ended("1"), ended("1", "b"), spawn("c"), spawn("d")];
    expect(allowed(lines, LIMIT)).toEqual(["a", "b", "c"]);
    const background = [spawn("a"), notice({ is: "bound", call: "a", agent: "1" }), ended("1"), ended("1")];
    expect(allowed([...background, spawn("b"), spawn("c"), spawn("d")], LIMIT)).toEqual(["a", "b", "c"]);
  });

  it("rises when an agent is set to work again", () => {
    const lines = [spawn("a"), notice({ is: "bound", call: "a", agent: "1" }), ended("1"), started("1")];
    expect(allowed([...lines, spawn("b"), spawn("c")], LIMIT)).toEqual(["a", "b"]);
  });

  it("is that of the background agents when the thread waits for a person", () => {
    const lines = [spawn("a"), spawn("b"), notice({ is: "bound", call: "b", agent: "2" })];
    const idle = notice({ is: "idle", running: ["2"] });
    expect(allowed([...lines, idle, spawn("c"), spawn("d")], LIMIT)).toEqual(["a", "b", "c"]);
  });

  it("falls with the process and with the session", () => {
    const of = (process: string) => ({ process });
    expect(allowed([spawn("a", of("1")), spawn("b", of("1")), spawn("c", of("2"))], LIMIT)).toEqual(["a", "b", "c"]);
    expect(allowed([spawn("a"), spawn("b"), notice({ is: "closed" }), spawn("c")], LIMIT)).toEqual(["a", "b", "c"]);
  });

  it("counts no agent below one that has ended", () => {
    const lines = [spawn("a"), notice({ is: "bound", call: "a", agent: "1" }), spawn("b", { by: "1" }), ended("1")];
    expect(allowed([...lines, spawn("c"), spawn("d"), spawn("e")], LIMIT)).toEqual(["a", "b", "c", "d"]);
  });
});

describe("the depth", () => {
  const LIMIT = { depth: deny(2) };

  it("is that of the calling agent and one more", () => {
    const below = (callerDepth: number) => spawn(`at${callerDepth}`, { by: "1", callerDepth });
    expect(allowed([spawn("a"), below(1), below(2)], LIMIT)).toEqual(["a", "at1"]);
  });

  it("follows from the calls if the agent's records do not state it", () => {
    const lines = [spawn("a"), started("1"), spawn("b", { by: "1" }), notice({ is: "bound", call: "a", agent: "1" })];
    expect(allowed([...lines, started("2"), spawn("c", { by: "2" })], LIMIT)).toEqual(["a", "b"]);
  });
});

it("a spawn that was not refused stays allowed under a smaller limit and a larger usage", () => {
  const lines = ["a", "b", "c"].map((call, i) => ({ at: i * 60_000, ...spawn(call) }) as LedgerLine);
  const read = new Ledger(lines, { thread: { agents: deny(1) }, byType: {} }, null);
  expect(["a", "b", "c"].map((call) => read.verdictOf(call)?.action)).toEqual(["allow", "allow", "deny"]);
  expect(read.used(180_000, null).agents).toBe(2);
});

it("minutes count from the last prompt of a person", () => {
  const minute = (n: number, line: Line) => ({ at: n * 60_000, ...line }) as LedgerLine;
  const prompted = notice({ is: "prompted" });
  const last = (...lines: LedgerLine[]) =>
    new Ledger(lines, { thread: { minutes: deny(10) }, byType: {} }, null).verdictOf("b")?.action;
  expect(last(minute(0, spawn("a")), minute(5, spawn("b")))).toBe("allow");
  expect(last(minute(0, spawn("a")), minute(20, spawn("b")))).toBe("deny");
  expect(last(minute(0, spawn("a")), minute(15, prompted), minute(20, spawn("b")))).toBe("allow");
});

describe("if the clock is set back", () => {
  const minute = (n: number, line: Line) => ({ at: n * 60_000, ...line }) as LedgerLine;
  const prompted = notice({ is: "prompted" });
  const read = (...lines: LedgerLine[]) => new Ledger(lines, { thread: { minutes: deny(10) }, byType: {} }, null);
  const reached = [minute(0, prompted), minute(12, spawn("a"))];

  it("a time that was reached stays reached, and goes on", () => {
    expect(read(...reached, minute(1, spawn("b"))).verdictOf("b")?.action).toBe("deny");
    expect(read(...reached).used(60_000, null).minutes).toBe(12);
    expect(read(...reached, minute(1, started("1"))).used(4 * 60_000, null).minutes).toBe(15);
  });

  it("a new prompt begins anew", () => {
    expect(read(...reached, minute(1, prompted), minute(5, spawn("b"))).verdictOf("b")?.action).toBe("allow");
    expect(read(...reached, minute(1, prompted), minute(11, spawn("b"))).verdictOf("b")?.action).toBe("deny");
  });

  it("an agent has worked as long as before, and one that began later only since then", () => {
    const tree = (startedAt: number) => ({
      costUsd: null,
      tokens: null,
      agents: [{ ...AGENT, id: "1", call: "b", startedAt: startedAt * 60_000 }],
    });
    const minutesOf = (seen: TreeSeen, ...lines: LedgerLine[]) =>
      new Ledger(lines, { thread: {}, byType: {} }, seen).used(3 * 60_000, "1").chain[0]?.minutes;
    expect(minutesOf(tree(5), minute(4, spawn("b")), minute(20, spawn("c")), minute(1, spawn("d")))).toBe(17);
    expect(minutesOf(tree(1), minute(20, spawn("a")), minute(1, spawn("b")))).toBe(2);
  });
});

it("cost and tokens are those of the tree, for the thread and for the calling agent", () => {
  const agent = { id: "1", parent: null, call: "a", name: "Explorer", type: "x", running: true, startedAt: 0 };
  const tree = { costUsd: 3, tokens: 900, agents: [{ ...agent, costUsd: 2, tokens: 800 }] };
  expect(allowed([spawn("b")], { tokens: deny(900) }, tree)).toEqual([]);
  expect(allowed([spawn("b")], { tokens: deny(901), cost_usd: deny(4) }, tree)).toEqual(["b"]);
  const lines = [{ at: 0, ...spawn("b", { by: "1", callerDepth: 1 }) }] as LedgerLine[];
  const read = new Ledger(lines, { thread: {}, byType: { x: { cost_usd: deny(2) } } }, tree);
  expect(read.verdictOf("b")?.exceeded?.text).toContain("Explorer has used $2.00");
});

it("skips lines that cannot be read", () => {
  expect(readLedger('\n{"at":1,"is":"closed"}\n\n{"at":2,"is":"clo\n{"is":"closed"}\nnull\n7\n')).toEqual([
    { at: 1, is: "closed" },
  ]);
});
