import { describe, expect, it } from "vitest";
import { decide, type LimitSet, type Limits, limitsFor, type Used, usesOf } from "./limits.ts";

const deny = (max: number) => ({ max, action: "deny" as const });
const warn = (max: number) => ({ max, action: "warn" as const });
const NOTHING: Used = {
  agents: 0,
  running: 0,
  costUsd: 0,
  tokens: 0,
  minutes: 0,
  ofType: () => ({ agents: 0, running: 0 }),
  chain: [],
};
const used = (more: Partial<Used>): Used => ({ ...NOTHING, ...more });
const inThread = (thread: LimitSet, byType: Record<string, LimitSet> = {}) => ({ thread, byType });
const spawn = (type: string | null = "Explore", depth = 1) => ({ is: "spawn", type, depth }) as const;
const CALL = { is: "call" } as const;

describe("a spawn", () => {
  it.each([
    ["agents", { agents: deny(3) }, { agents: 2 }, "allow"],
    ["agents", { agents: deny(3) }, { agents: 3 }, "deny"],
    ["agents", { agents: deny(0) }, {}, "deny"],
    ["agents", { agents: warn(3) }, { agents: 3 }, "warn"],
    ["concurrent", { concurrent: deny(2) }, { running: 1, agents: 9 }, "allow"],
    ["concurrent", { concurrent: deny(2) }, { running: 2 }, "deny"],
    ["cost_usd", { cost_usd: deny(5) }, { costUsd: 4.99 }, "allow"],
    ["cost_usd", { cost_usd: deny(5) }, { costUsd: 5 }, "deny"],
    ["tokens", { tokens: deny(1000) }, { tokens: 1000 }, "deny"],
    ["minutes", { minutes: deny(10) }, { minutes: 11 }, "deny"],
    ["tokens", { tokens: deny(1000) }, { tokens: null }, "allow"],
  ])("%s %j with %j used: %s", (limit, limits, more, action) => {
    const verdict = decide(inThread(limits), used(more), spawn());
    expect(verdict.action).toBe(action);
    if (action !== "allow") expect(verdict.exceeded?.limit).toBe(limit);
  });

  it("may be as deep as the limit", () => {
    const limits = inThread({ depth: deny(2) });
    expect(decide(limits, NOTHING, spawn("x", 2)).action).toBe("allow");
    expect(decide(limits, NOTHING, spawn("x", 3)).action).toBe("deny");
  });

  it("is denied by any limit, though another one only warns", () => {
    const verdict = decide(inThread({ agents: warn(1), depth: deny(1) }), used({ agents: 5 }), spawn("x", 2));
    expect([verdict.action, verdict.exceeded?.limit]).toEqual(["deny", "depth"]);
  });

  it("tells the model why, and what it may do instead", () => {
    const text = (limits: LimitSet, more: Partial<Used>, depth = 1) =>
      decide(inThread(limits), used(more), spawn("x", depth)).exceeded?.text;
    expect(text({ agents: deny(3) }, { agents: 3 })).toBe(
      "retinue: this agent was not started, because this thread already has 3 agents, and its limit is 3. Do this part yourself, or use the results of the agents that have run. Trying again has the same result.",
    );
    expect(text({ concurrent: deny(1) }, { running: 1 })).toBe(
      "retinue: this agent was not started, because 1 agent of this thread is running, and at most 1 may run at once. Wait until one of them has ended and start it then, or do this part yourself.",
    );
    expect(text({ depth: deny(2) }, {}, 3)).toContain("it would be at depth 3, and agents may be at most at depth 2");
    expect(text({ cost_usd: deny(5) }, { costUsd: 5.25 })).toContain(
      "this thread has used $5.25, and its limit is $5.00",
    );
    expect(text({ minutes: warn(30) }, { minutes: 45 })).toBe(
      "retinue: a limit is exceeded: this thread has used 45 m, and its limit is 30 m. Finish with what you have, and report what is left to do.",
    );
  });
});

describe("limits by type", () => {
  const ofType = (type: string) => (type === "Explore" ? { agents: 2, running: 1 } : { agents: 0, running: 0 });

  it("count the agents of that type", () => {
    const limits = inThread({}, { Explore: { agents: deny(2) } });
    expect(decide(limits, used({ agents: 9, ofType }), spawn("Explore")).exceeded?.whose).toBe("Explore");
    expect(decide(limits, used({ agents: 9, ofType }), spawn("Plan")).action).toBe("allow");
  });

  it("apply to each agent of any type with *, and a named type takes precedence", () => {
    const limits = inThread({}, { "*": { tokens: deny(100) }, Plan: { tokens: deny(1000) } });
    const agent = (type: string) => ({ name: `agent ${type}`, type, costUsd: null, tokens: 500, minutes: 0 });
    expect(decide(limits, used({ chain: [agent("Explore")] }), CALL).exceeded?.whose).toBe("agent Explore");
    expect(decide(limits, used({ chain: [agent("Plan")] }), CALL).action).toBe("allow");
    // An agent above it counts what is below it.
    expect(decide(limits, used({ chain: [agent("Plan"), agent("Explore")] }), CALL).action).toBe("deny");
  });
});

describe("a model call", () => {
  it("is denied by what was spent, not by the number of agents", () => {
    const limits = inThread({ agents: deny(0), concurrent: deny(0), depth: deny(0), cost_usd: deny(1) });
    expect(decide(limits, used({ agents: 5, running: 5 }), CALL).action).toBe("allow");
    expect(decide(limits, used({ costUsd: 2 }), CALL).exceeded?.text).toContain("this call was not made");
  });
});

describe("the limits of a thread", () => {
  const limits: Limits = {
    agents: deny(1),
    depth: deny(9),
    by_product: { toy: { agents: deny(2) } },
    by_project: { "/home/dev/shop": { agents: deny(3) }, "~/shop/web": { agents: deny(4) }, api: { agents: deny(5) } },
  };
  const at = (product: string, cwd: string | null) => limitsFor(limits, { product, cwd, home: "/home/dev" }).thread;

  it.each([
    ["other", null, 1],
    ["toy", null, 2],
    ["toy", "/home/dev/other", 2],
    ["toy", "/home/dev/shop", 3],
    ["toy", "/home/dev/shop/lib/x", 3],
    ["toy", "/home/dev/shopping", 2],
    ["toy", "/home/dev/shop/web/src", 4],
    ["other", "/srv/api", 5],
    ["constructor", null, 1],
  ])("of %s in %s: %d agents", (product, cwd, max) => {
    expect(at(product, cwd)).toEqual({ agents: deny(max), depth: deny(9) });
  });
});

it("says how much of each limit is used", () => {
  const limits = inThread({ agents: deny(3), depth: warn(2), tokens: deny(10) }, { Explore: { agents: deny(1) } });
  const now = used({ agents: 2, tokens: null, ofType: () => ({ agents: 1, running: 0 }) });
  expect(usesOf(limits, now, 1)).toEqual([
    { limit: "agents", whose: null, max: 3, action: "deny", used: 2 },
    { limit: "depth", whose: null, max: 2, action: "warn", used: 1 },
    { limit: "tokens", whose: null, max: 10, action: "deny", used: null },
    { limit: "agents", whose: "Explore", max: 1, action: "deny", used: 1 },
  ]);
});
