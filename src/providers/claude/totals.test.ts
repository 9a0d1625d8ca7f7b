import { describe, expect, it } from "vitest";
import {
  agentFile,
  agentWriter,
  mainWriter,
  OTHER_SESSION,
  read,
  SESSION,
  THREAD_FILE,
  text,
  toolUse,
} from "../../../test/support/claude-records.ts";
import * as key from "./keys.ts";

const CALL = "toolu_0123456789abcdef";
const USAGE = {
  inputTokens: 705,
  outputTokens: 255,
  thinkingTokens: 12,
  cacheReadInputTokens: 17_415,
  cacheCreationInputTokens: 618,
  cacheCreationEphemeral5mInputTokens: 140,
  cacheCreationEphemeral1hInputTokens: 478,
  webSearchRequests: 0,
  costUSD: 0.015927,
};
const costState = (more: object = {}) => ({
  type: "cost-state",
  sessionId: SESSION,
  totalCostUSD: 0.015927,
  totalDuration: 1_063,
  startTime: 1_794_778_454_202,
  modelUsage: { "claude-opus-5-5": USAGE },
  hasUnknownModelCost: false,
  ...more,
});

const totals = (record: object, path = THREAD_FILE) => {
  const first = path === THREAD_FILE ? mainWriter().user("Begin.") : agentWriter("a0b1").user("Begin.");
  return read({ [path]: [first, record] }).observations.filter((o) => o.type === "total-stated");
};
const traces = (...records: readonly unknown[]) =>
  read({ [THREAD_FILE]: records }).observations.flatMap((o) => (o.type === "model-call-missing" ? [o] : []));

describe("cost-state", () => {
  it("is the usage of the session so far", () => {
    expect(totals(costState())).toMatchObject([
      {
        began: 1_794_778_454_202,
        activeMs: 1_063,
        costUsd: 0.015927,
        byModel: [
          {
            model: "claude-opus-5-5",
            amounts: {
              inputTokens: 705,
              outputTokens: 255,
              cacheReadTokens: 17_415,
              cacheWriteTokens: 618,
              cacheWrite1hTokens: 478,
            },
          },
        ],
      },
    ]);
  });

  it("names the model as its responses do", () => {
    expect(totals(costState({ modelUsage: { "claude-opus-5-5[1m]": USAGE } }))).toMatchObject([
      { byModel: [{ model: "claude-opus-5-5" }] },
    ]);
  });

  it("does not contain the lifetime of cache writes before 2.1.325", () => {
    const { cacheCreationEphemeral1hInputTokens: _, ...older } = USAGE;
    expect(totals(costState({ modelUsage: { m: older } }))).toMatchObject([
      { byModel: [{ amounts: { cacheWriteTokens: 618, cacheWrite1hTokens: null } }] },
    ]);
  });

  it("has no cost if a model has no known price", () => {
    expect(totals(costState({ hasUnknownModelCost: true }))).toMatchObject([{ costUsd: null }]);
  });

  it.each([
    ["of another session", costState({ sessionId: OTHER_SESSION }), THREAD_FILE],
    ["in an agent's file", costState(), agentFile("a0b1")],
    ["without models", costState({ modelUsage: null }), THREAD_FILE],
  ])("is ignored: %s", (_why, record, path) => {
    expect(totals(record, path)).toEqual([]);
  });
});

describe("a model call without a record is detected", () => {
  const asked = (tool: string, isError = false) => {
    const main = mainWriter();
    return [
      main.assistant([toolUse(CALL, tool)], { stop_reason: "tool_use" }),
      main.result(CALL, "Found.", {}, isError),
    ];
  };

  it("in a compaction, which can be copied and counts once", () => {
    const boundary = mainWriter().write({
      type: "system",
      subtype: "compact_boundary",
      content: "Conversation compacted",
    });
    expect(traces(boundary)).toMatchObject([
      { what: "compaction", on: "own", one: true, keys: [key.record(SESSION, String(boundary.uuid))] },
    ]);
  });

  it.each([
    ["WebSearch", "web search", "own"],
    ["WebFetch", "web page", "any"],
  ])("in the result of %s", (tool, what, on) => {
    expect(traces(...asked(tool))).toMatchObject([{ what, on, one: false }]);
    expect(traces(...asked(tool, true))).toEqual([]);
  });

  it("in a title, once for each title", () => {
    const titled = (aiTitle: string) => ({ type: "ai-title", aiTitle, sessionId: SESSION });
    expect(traces(mainWriter().user("Begin."), titled("One"), titled("One"), titled("Two")).map((t) => t.what)).toEqual(
      ["title", "title"],
    );
  });

  it("in no other tool's result", () => {
    expect(traces(...asked("Bash"))).toEqual([]);
  });
});

describe("a response", () => {
  it.each([
    ["end_turn", true],
    [null, false],
  ])("has ended if its row has a stop reason: %s", (stop_reason, ended) => {
    const { observations } = read({ [THREAD_FILE]: [mainWriter().assistant([text("Done.")], { stop_reason })] });
    expect(observations.filter((o) => o.type === "model-call")).toMatchObject([{ ended }]);
  });
});
