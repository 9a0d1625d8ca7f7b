import { expect, it } from "vitest";
import { readRequest } from "../../providers/proxy/read-request.ts";
import { Budgets } from "./budgets.ts";

const HEAD = {
  method: "POST",
  path: "/v1/messages",
  headers: ["x-claude-code-session-id", "11111111-2222-4333-8444-555555555555"],
  upstream: "https://api.anthropic.com",
};

/** A session whose only answer costs 4 dollars at the standard price, and may spend 6. */
function isRefusedAfter(usage: { readonly speed?: string }): boolean {
  const budgets = new Budgets({ usd: 6 }, new Map());
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

it("an answer in fast mode takes from a budget what it costs there", () => {
  expect([isRefusedAfter({}), isRefusedAfter({ speed: "standard" }), isRefusedAfter({ speed: "fast" })]).toEqual([
    false,
    false,
    true,
  ]);
});
