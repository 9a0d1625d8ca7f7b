import { describe, expect, it } from "vitest";
import type { AgentEvent, EventKind } from "../../core/views/event.ts";
import type { Step, Story } from "../../core/views/story.ts";
import { turnsOf } from "./turns.ts";

/** `kind[:call]` or `kind:call:tool`, one per step, one second apart. */
function storyOf(...words: readonly string[]): Story {
  const steps = words.map((word, i): Step => {
    const [kind = "", call = null, tool = null] = word.split(":");
    const event = {
      kind: kind as EventKind,
      at: new Date(i * 1_000).toISOString(),
      text: word,
      tool: tool === null ? null : { name: "t", callId: tool, input: null, isError: false },
    };
    return {
      event: event as AgentEvent,
      key: String(i),
      call: call === "" ? null : call,
      reports: [],
      isProvisional: false,
    };
  });
  return { record: { uri: "toy://t", startedAt: null }, steps, calls: [], children: [] } as unknown as Story;
}
const split = (...words: readonly string[]) =>
  turnsOf(storyOf(...words)).map(({ steps }) => steps.map(({ event }) => event.text).join(" "));

describe("turns", () => {
  it("start with a message of a person", () => {
    expect(split("user", "assistant:1", "user", "assistant:2")).toEqual(["user assistant:1", "user assistant:2"]);
  });
  it("start with a notification that is processed when the agent is idle, but not with one during work", () => {
    expect(split("user", "assistant:1", "note", "assistant:2")).toEqual(["user assistant:1", "note assistant:2"]);
    expect(split("user", "toolCall:1:a", "note", "toolResult::a", "assistant:2")).toEqual([
      "user toolCall:1:a note toolResult::a assistant:2",
    ]);
    expect(split("user", "assistant:1", "note")).toEqual(["user assistant:1"]);
  });
  it("keep simultaneous messages and responses of several records together", () => {
    expect(split("user", "user", "reasoning:1", "assistant:1", "toolCall:1:a", "toolResult::a", "assistant:2")).toEqual(
      ["user user reasoning:1 assistant:1 toolCall:1:a toolResult::a assistant:2"],
    );
  });
  it("keep results with their calls, whatever is in between", () => {
    expect(split("user", "toolCall:1:a", "user", "toolResult::a", "assistant:2")).toEqual([
      "user toolCall:1:a toolResult::a",
      "user assistant:2",
    ]);
  });
  it("are one turn if there are no records", () => {
    expect(split()).toEqual([""]);
    expect(turnsOf(storyOf())[0]).toMatchObject({ key: "toy://t", start: 0 });
  });
});
