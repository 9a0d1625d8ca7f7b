import { expect, it } from "vitest";
import { readRequest } from "../../providers/proxy/read-request.ts";
import { Budgets } from "./budgets.ts";

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
