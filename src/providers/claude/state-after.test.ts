import { describe, expect, it } from "vitest";
import { mainWriter, text, toolUse } from "../../../test/support/claude-records.ts";
import { readRow } from "./rows.ts";
import { stateAfter } from "./state-after.ts";

const { user, result, assistant, write } = mainWriter();
const call = toolUse("toolu_1", "Bash");

describe("the state of an agent after a record", () => {
  it.each([
    ["an answer that ends the turn", assistant([text("Done.")]), "answered", true],
    [
      "an answer that was cut at the limit",
      assistant([text("And then")], { stop_reason: "max_tokens" }),
      "answered",
      true,
    ],
    ["an answer that calls a tool", assistant([text("Let me see."), call], { stop_reason: "tool_use" }), "open", true],
    [
      "one row of a response whose tool call is in another row",
      assistant([text("Let me see.")], { stop_reason: "tool_use" }),
      "open",
      true,
    ],
    ["a call in a version that records no reason", assistant([call], { stop_reason: null }), "open", true],
    ["words in a version that records no reason", assistant([text("Done.")], { stop_reason: null }), "answered", false],
    [
      "thinking in a version that records no reason",
      assistant([{ type: "thinking", thinking: "Hm." }], { stop_reason: null }),
      "open",
      true,
    ],
    [
      "an API error",
      assistant(
        [text("API Error: 500")],
        { model: "<synthetic>", stop_reason: "stop_sequence" },
        { isApiErrorMessage: true },
      ),
      "failed",
      true,
    ],
    ["an answer broken off", assistant([text("I w")], {}, { isAbortedMidStream: true }), "interrupted", true],
    ["a prompt", user("Do it."), "open", true],
    ["a tool's result", result("toolu_1", "a.txt"), "open", true],
    ["a tool's result that ends the turn", result("toolu_1", "handed over", { toolEndsTurn: true }), "answered", true],
    ["an interruption", user("[Request interrupted by user]"), "interrupted", true],
  ])("%s", (_what, json, state, certain) => {
    expect(stateAfter(readRow(json))).toEqual({ state, certain });
  });

  it.each([
    ["an answer that the product made up", assistant([text("No response requested.")], { model: "<synthetic>" })],
    ["a command that asks the model nothing", user("<command-name>/clear</command-name>")],
    ["a note for the model", user("Caveat: …", { isMeta: true })],
    ["the summary of a compaction", user("This session is being continued …", { isCompactSummary: true })],
    ["a system record", write({ type: "system", subtype: "turn_duration" })],
  ])("is unchanged by %s", (_what, json) => {
    expect(stateAfter(readRow(json))).toBeNull();
  });
});
