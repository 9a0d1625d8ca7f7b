import { describe, expect, it } from "vitest";
import type { Limits } from "../../core/guard/limits.ts";
import { readRequest } from "../../providers/proxy/read-request.ts";
import { Budgets, type ExceededLimit } from "./budgets.ts";

const HEAD = {
  method: "POST",
  path: "/v1/messages",
  headers: ["x-claude-code-session-id", "11111111-2222-4333-8444-555555555555"],
  upstream: "https://api.anthropic.com",
};

/** A session with one response that costs 4 dollars at the standard price, and a budget of 6. */
function isRefusedAfter(usage: { readonly speed?: string }): boolean {
  const budgets = new Budgets({ budgets: { usd: 6 }, prices: new Map() });
  const request = "r1";
  budgets.count(readRequest({ ...HEAD, request, windowMs: null, process: null }, null, 0, null).row);
  budgets.count({ is: "opened", request, response: "msg_1", model: "claude-opus-5-5", usage: null });
  budgets.count({
    is: "ended",
    request,
    how: "finished",
    error: null,
    status: 200,
    stop: "end_turn",
    usage: { input_tokens: 1_000_000, output_tokens: 0, ...usage },
    firstTokenMs: null,
    durationMs: 1,
    bytes: 1,
  });
  return budgets.refuses(HEAD) !== null;
}

it("a response in fast mode is charged to a budget at the price of fast mode", () => {
  expect([isRefusedAfter({}), isRefusedAfter({ speed: "standard" }), isRefusedAfter({ speed: "fast" })]).toEqual([
    false,
    false,
    true,
  ]);
});

describe("limits", () => {
  const deny = (max: number) => ({ max, action: "deny" as const });
  const headOf = (agent: string | null, parent: string | null = null) => ({
    ...HEAD,
    headers: [
      ...HEAD.headers,
      ...(agent === null ? [] : ["x-claude-code-agent-id", agent]),
      ...(parent === null ? [] : ["x-claude-code-parent-agent-id", parent]),
    ],
  });
  const messageIn = (refusal: { readonly body: string } | null) =>
    refusal === null ? null : (JSON.parse(refusal.body) as { error: { message: string } }).error.message;

  function guarded(limits: Limits) {
    const exceeded: ExceededLimit[] = [];
    const budgets = new Budgets({ budgets: {}, limits, prices: new Map(), onExceeded: (one) => exceeded.push(one) });
    let requests = 0;
    /** A request that gets a response with these output tokens. */
    const answered = (head: ReturnType<typeof headOf>, output: number, stop = "end_turn") => {
      requests += 1;
      const request = `r${requests}`;
      budgets.count(readRequest({ ...head, request, windowMs: null, process: null }, null, 0, null).row);
      budgets.count({
        is: "ended",
        request,
        how: "finished",
        error: null,
        status: 200,
        stop,
        usage: { input_tokens: 0, output_tokens: output },
        firstTokenMs: null,
        durationMs: 1,
        bytes: 1,
      });
    };
    return { budgets, exceeded, answered };
  }

  it("admit exactly three of ten agents that begin at the same moment, and repeat the refusal", () => {
    const { budgets, exceeded } = guarded({ agents: deny(3) });
    const agents = Array.from({ length: 10 }, (_, i) => `a${i}`);
    const first = agents.map((agent) => budgets.refuses(headOf(agent)) === null);
    expect(first).toEqual(agents.map((_, i) => i < 3));
    expect(agents.map((agent) => budgets.refuses(headOf(agent)) === null)).toEqual(first);
    expect(messageIn(budgets.refuses(headOf("a9")))).toMatch(/this thread already has 3 agents, and its limit is 3/);
    expect(budgets.refuses(headOf(null))).toBeNull();
    // Each is reported once.
    expect(exceeded.map(({ agent }) => agent)).toEqual(agents.slice(3));
  });

  it("refuse an agent that is too deep, by the parents that requests name", () => {
    const { budgets } = guarded({ depth: deny(2) });
    expect(budgets.refuses(headOf("a"))).toBeNull();
    expect(budgets.refuses(headOf("b", "a"))).toBeNull();
    expect(messageIn(budgets.refuses(headOf("c", "b")))).toMatch(/it would be at depth 3/);
  });

  it("admit another agent when one has ended", () => {
    const { budgets, answered } = guarded({ concurrent: deny(1) });
    expect(budgets.refuses(headOf("a"))).toBeNull();
    answered(headOf("a"), 1, "tool_use");
    expect(budgets.refuses(headOf("b"))?.status).toBe(403);
    expect(budgets.refuses(headOf("a"))).toBeNull();
    answered(headOf("a"), 1);
    expect(budgets.refuses(headOf("b"))).toBeNull();
  });

  it("count what is below an agent, and stop it and those below it", () => {
    const { budgets, answered } = guarded({ by_type: { "*": { tokens: deny(100) } } });
    for (const head of [headOf("a"), headOf("b", "a"), headOf("other")]) expect(budgets.refuses(head)).toBeNull();
    answered(headOf("a"), 40);
    answered(headOf("b", "a"), 70);
    expect(messageIn(budgets.refuses(headOf("b", "a")))).toMatch(
      /agent a has used 110 tokens, and its limit is 100 tokens/,
    );
    expect(budgets.refuses(headOf("a"))?.status).toBe(403);
    expect([headOf("other"), headOf(null)].map((head) => budgets.refuses(head))).toEqual([null, null]);
  });

  it("only report a warning", () => {
    const { budgets, exceeded } = guarded({ agents: { max: 0, action: "warn" } });
    expect(budgets.refuses(headOf("a"))).toBeNull();
    expect(exceeded.map(({ verdict }) => verdict.action)).toEqual(["warn"]);
  });

  it("count minutes from the first request after a pause", () => {
    const { budgets } = guarded({ minutes: deny(8) });
    const at = (minutes: number) => budgets.refuses(headOf(null), minutes * 60_000) === null;
    expect([at(0), at(7), at(9), at(25), at(30)]).toEqual([true, true, false, true, true]);
    // The clock is set back.
    expect([at(34), at(3), at(4)]).toEqual([false, false, false]);
  });
});
