import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventList, loadedEvent } from "./events.ts";
import { logRows } from "./log.ts";
import { sampleEvent } from "./sample.ts";
import { timeline } from "./timeline.ts";
import type { AgentEvent } from "./types.ts";

const ids = (list: EventList) => list.items.map((event) => event.id);
const listOf = (events: readonly AgentEvent[]) => {
  const list = new EventList();
  list.add(events);
  return list.items;
};
const tool = (callId: string, isError = false) => ({ name: "Bash", callId, input: { command: "ls" }, isError });

describe("a list of events", () => {
  const five = [1, 2, 3, 4, 5].map((seq) => sampleEvent("a", seq));

  it("has each event once and in order, in any order of arrival", () => {
    fc.assert(
      fc.property(fc.array(fc.shuffledSubarray(five, { minLength: 1 }), { minLength: 1 }), (batches) => {
        const list = new EventList();
        for (const batch of [...batches, five]) list.add(batch);
        expect(ids(list)).toEqual(five.map((event) => event.id));
      }),
    );
  });

  it("sorts events of several agents by time and keeps the order of each", () => {
    const list = new EventList();
    list.add([sampleEvent("a", 1), sampleEvent("a", 4)]);
    expect(list.add([sampleEvent("b", 2), sampleEvent("b", 3, { at: null })])).toBe(true);
    expect(list.add([sampleEvent("b", 2)])).toBe(false);
    expect(ids(list).filter((id) => id.startsWith("b"))).toEqual(["b#2", "b#3"]);
    expect(ids(list).indexOf("b#2")).toBe(1);
  });

  it("truncates very long texts", () => {
    const kept = loadedEvent(
      sampleEvent("a", 1, {
        text: "x".repeat(50_000_000),
        tool: { ...tool("c"), input: { content: "y".repeat(100_000) } },
      }),
    );
    expect(kept).toMatchObject({ fullText: 50_000_000, tool: { input: null } });
    expect(kept.text?.length).toBe(8_000);
    expect(kept.inputHead?.length).toBe(30_000);
    expect(loadedEvent(sampleEvent("a", 1))).toMatchObject({ fullText: null, inputHead: null });
  });
});

describe("a large list of events", () => {
  it("keeps only the beginning of further texts", () => {
    const list = new EventList();
    for (let seq = 1; seq <= 3_500; seq += 1) list.add([sampleEvent("a", seq, { text: "x".repeat(9_000) })]);
    expect(list.items[0]?.text?.length).toBe(8_000);
    expect(list.items.at(-1)).toMatchObject({ fullText: 9_000 });
    expect(list.items.at(-1)?.text?.length).toBe(300);
  });
});

describe("a timeline", () => {
  it("shows a call, the agents it spawned and its result as one step", () => {
    const spawn = {
      uri: "b",
      agentId: "b",
      sessionId: "s",
      prompt: null,
      type: null,
      toolCallId: "c1",
      parent: "a",
      depth: 1,
      background: false,
    };
    const steps = timeline(
      listOf([
        sampleEvent("a", 1, { kind: "toolCall", tool: tool("c1") }),
        sampleEvent("a", 2, { kind: "spawn", spawn }),
        sampleEvent("a", 3, { kind: "toolCall", tool: tool("c2") }),
        sampleEvent("a", 4, { kind: "toolResult", tool: tool("c2", true) }),
        sampleEvent("a", 5, { kind: "toolResult", tool: tool("c1") }),
        sampleEvent("a", 6, { kind: "toolResult", tool: tool("c1") }),
        sampleEvent("a", 7, { kind: "toolResult", tool: tool("lost") }),
        sampleEvent("a", 8, { kind: "spawn", spawn: { ...spawn, toolCallId: null } }),
      ]),
    );
    expect(steps.map((s) => [s.event.seq, s.result?.seq ?? null, s.spawned.length, s.failed])).toEqual([
      [1, 5, 1, false],
      [3, 4, 0, true],
      [6, null, 0, false],
      [7, null, 0, false],
      [8, null, 0, false],
    ]);
  });
});

describe("the log", () => {
  const events = listOf([
    sampleEvent("r", 1),
    sampleEvent("a", 2),
    sampleEvent("a", 3, { kind: "toolCall", tool: tool("c") }),
    sampleEvent("a", 4, { kind: "toolResult", tool: tool("c", true), text: "no" }),
    sampleEvent("b", 5),
    sampleEvent("a", 6),
    sampleEvent("r", 7),
    sampleEvent("r", 8),
    sampleEvent("r", 9),
  ]);
  const rows = (hidden: readonly string[], open: readonly string[]) =>
    logRows(
      events,
      (uri) => !hidden.includes(uri),
      (uri) => uri === "r",
      (id) => open.includes(id),
      () => null,
    );

  it("groups consecutive events of a sub-agent, never those of the root", () => {
    expect(rows([], []).map((row) => row.id)).toEqual(["r#1", "group a#2", "b#5", "a#6", "r#7", "r#8", "r#9"]);
    expect(rows([], [])[1]).toMatchObject({
      is: "group",
      uri: "a",
      entries: { length: 3 },
      tools: 1,
      errors: 1,
      open: false,
      last: "text 2",
    });
  });

  it("opens a group", () => {
    expect(rows([], ["group a#2"]).map((row) => row.id)).toEqual([
      "r#1",
      "group a#2",
      "a#2",
      "a#3",
      "a#4",
      "b#5",
      "a#6",
      "r#7",
      "r#8",
      "r#9",
    ]);
  });

  it("joins neighbouring rows when an agent is hidden", () => {
    expect(rows(["b", "r"], [])).toMatchObject([{ is: "group", entries: { length: 4 } }]);
  });
});
