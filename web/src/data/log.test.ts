import { describe, expect, it } from "vitest";
import { EventList } from "./events.ts";
import { indexOfRow, isRowOpen, type LogRow, logRows, toggled } from "./log.ts";
import { sampleEvent } from "./sample.ts";
import { type CallOf, inputWithoutPrompt, promptsOf } from "./spawns.ts";
import type { AgentEvent } from "./types.ts";

const call = (uri: string, seq: number, callId: string, input: unknown = {}) =>
  sampleEvent(uri, seq, { kind: "toolCall", text: null, tool: { name: "Agent", callId, input, isError: false } });
const result = (uri: string, seq: number, callId: string, isError = false) =>
  sampleEvent(uri, seq, { kind: "toolResult", tool: { name: "Agent", callId, input: null, isError } });
const spawn = (uri: string, seq: number, child: string, toolCallId: string | null, prompt: string | null = "do it") =>
  sampleEvent(uri, seq, {
    kind: "spawn",
    text: null,
    spawn: {
      uri: child,
      agentId: child,
      sessionId: "s",
      prompt,
      type: null,
      toolCallId,
      parent: uri,
      depth: 1,
      background: false,
    },
  });
const prompted = (uri: string, seq: number, text = "do it") => sampleEvent(uri, seq, { kind: "user", text });

const rowsOf = (events: readonly AgentEvent[], hidden: readonly string[] = [], callOf: CallOf = () => null) =>
  logRows(
    inList(events),
    (uri) => !hidden.includes(uri),
    (uri) => uri === "r",
    () => false,
    callOf,
  );
const inList = (events: readonly AgentEvent[]) => {
  const list = new EventList();
  for (const event of events) list.add([event]);
  return list.items;
};
/** Rows as text: a spawn with the ids of its parts. */
const asText = (rows: readonly LogRow[]) =>
  rows.map((row) => {
    if (row.is !== "spawn") return row.id;
    const { event, call, prompt } = row.spawn;
    return `${row.id}: ${[event, call, prompt].map((part) => part?.id ?? "-").join(" ")}`;
  });
/** The rows after each event that arrives. */
const live = (events: readonly AgentEvent[]) => events.map((_, n) => asText(rowsOf(events.slice(0, n + 1))));
function spawnIn(rows: readonly LogRow[]) {
  const found = rows.find((row) => row.is === "spawn");
  if (found === undefined) throw new Error("no row of a spawn");
  return found.spawn;
}

describe("a spawn in the log", () => {
  it("is one row at the position of its first event, which the others join as they arrive", () => {
    const events = [
      call("r", 1, "c"),
      sampleEvent("r", 2),
      spawn("r", 3, "a", "c"),
      prompted("a", 4),
      sampleEvent("a", 5),
      result("r", 6, "c"),
    ];
    expect(live(events)).toEqual([
      ["r#1"],
      ["r#1", "r#2"],
      ["r#1: r#3 r#1 -", "r#2"],
      ["r#1: r#3 r#1 a#4", "r#2"],
      ["r#1: r#3 r#1 a#4", "r#2", "a#5"],
      ["r#1: r#3 r#1 a#4", "r#2", "a#5", "r#6"],
    ]);
  });

  it("is the same row in whatever order its events arrive", () => {
    const [first, second, third] = [call("r", 1, "c"), spawn("r", 2, "a", "c"), prompted("a", 3)];
    for (const order of [
      [first, second, third],
      [first, third, second],
      [second, first, third],
      [second, third, first],
      [third, first, second],
      [third, second, first],
    ])
      expect(asText(rowsOf(order))).toEqual(["r#1: r#2 r#1 a#3"]);
  });

  it("needs no call, and a prompt needs no spawn", () => {
    expect(live([spawn("r", 1, "a", null), prompted("a", 2)])).toEqual([["r#1: r#1 - -"], ["r#1: r#1 - a#2"]]);
    expect(live([spawn("r", 1, "a", "unseen"), prompted("a", 2)])).toEqual([["r#1: r#1 - -"], ["r#1: r#1 - a#2"]]);
    expect(live([prompted("a", 1), spawn("r", 2, "a", null)])).toEqual([["a#1"], ["a#1: r#2 - a#1"]]);
    // Not even in a group.
    expect(asText(rowsOf([prompted("a", 1), sampleEvent("a", 2), sampleEvent("a", 3), sampleEvent("a", 4)]))).toEqual([
      "a#1",
      "group a#2",
    ]);
  });

  it("is a row for each agent, if several are spawned in one response or by one call", () => {
    const response = [
      call("r", 1, "c1"),
      call("r", 2, "c2"),
      spawn("r", 3, "a", "c1"),
      spawn("r", 4, "b", "c2"),
      prompted("b", 5),
      prompted("a", 6),
    ];
    expect(asText(rowsOf(response))).toEqual(["r#1: r#3 r#1 a#6", "r#2: r#4 r#2 b#5"]);
    const single = [
      call("r", 1, "c"),
      spawn("r", 2, "a", "c"),
      spawn("r", 3, "b", "c"),
      prompted("a", 4),
      prompted("b", 5),
    ];
    expect(asText(rowsOf(single))).toEqual(["r#1: r#2 r#1 a#4", "r#3: r#3 - b#5"]);
  });

  it("is one row while the child is known only by its call, and afterwards", () => {
    const placeholder = spawn("r", 2, "c", "c");
    const events = [call("r", 1, "c"), placeholder, prompted("a", 3), sampleEvent("a", 4), spawn("r", 5, "a", "c")];
    const callOf: CallOf = (uri) => (uri === "a" ? { parent: "r", toolCallId: "c" } : null);
    const steps = events.map((_, n) => rowsOf(events.slice(0, n + 1), [], callOf));
    expect(steps.map(asText)).toEqual([
      ["r#1"],
      ["r#1: r#2 r#1 -"],
      ["r#1: r#2 r#1 a#3"],
      ["r#1: r#2 r#1 a#3", "a#4"],
      ["r#1: r#5 r#1 a#3", "a#4"],
    ]);
    expect(steps.slice(1).map((rows) => spawnIn(rows).child)).toEqual(["c", "a", "a", "a"]);
    expect(indexOfRow(rowsOf(events), placeholder.id)).toBe(0);
    // If the record does not name the call either, the prompt is a row of its own until the event arrives.
    expect(asText(rowsOf(events.slice(0, 3)))).toEqual(["r#1: r#2 r#1 -", "a#3"]);
  });

  it("does not include a call of another agent with the same id", () => {
    const events = [call("r", 1, "c"), call("x", 2, "c"), spawn("x", 3, "a", "c"), prompted("a", 4)];
    expect(asText(rowsOf(events))).toEqual(["r#1", "x#2: x#3 x#2 a#4"]);
  });

  it("includes only the first prompt", () => {
    const again = [
      call("r", 1, "c"),
      spawn("r", 2, "a", "c"),
      prompted("a", 3),
      sampleEvent("a", 4),
      prompted("a", 5, "more"),
    ];
    expect(asText(rowsOf(again))).toEqual(["r#1: r#2 r#1 a#3", "a#4", "a#5"]);
    const late = [call("r", 1, "c"), spawn("r", 2, "a", "c"), sampleEvent("a", 3), prompted("a", 4, "more")];
    expect(asText(rowsOf(late))).toEqual(["r#1: r#2 r#1 -", "a#3", "a#4"]);
  });

  it("is an ordinary call if no agent was spawned", () => {
    expect(asText(rowsOf([call("r", 1, "c"), result("r", 2, "c", true)]))).toEqual(["r#1", "r#2"]);
    const refused = rowsOf(
      [call("r", 1, "c"), spawn("r", 2, "a", "c"), sampleEvent("a", 1, { kind: "status" }), result("r", 3, "c", true)],
      ["a"],
    );
    expect(refused).toMatchObject([
      { is: "entry", id: "r#1", refused: [{ id: "r#2" }] },
      { is: "entry", id: "r#3" },
    ]);
    // Some products have no other id for an agent than that of its call.
    const sameId = [call("r", 1, "c"), spawn("r", 2, "c", "c"), prompted("c", 3), result("r", 4, "c", true)];
    expect(asText(rowsOf(sameId))).toEqual(["r#1: r#2 r#1 c#3", "r#4"]);
    // An agent that began and failed was spawned.
    expect(
      asText(rowsOf([call("r", 1, "c"), spawn("r", 2, "a", "c"), prompted("a", 3), result("r", 4, "c", true)])),
    ).toEqual(["r#1: r#2 r#1 a#3", "r#4"]);
  });

  it("includes only events of shown agents", () => {
    const events = [
      call("r", 1, "c"),
      spawn("r", 2, "a", "c"),
      prompted("a", 3),
      sampleEvent("a", 4),
      sampleEvent("a", 5),
      sampleEvent("a", 6),
    ];
    expect(asText(rowsOf(events, ["a"]))).toEqual(["r#1: r#2 r#1 -"]);
    expect(asText(rowsOf(events, ["r"]))).toEqual(["a#3", "group a#4"]);
    expect(rowsOf(events, ["r", "a"])).toEqual([]);
  });

  it("is never grouped, and does not change the group before it", () => {
    const before = [sampleEvent("a", 1), sampleEvent("a", 2), call("a", 3, "c")];
    const events = [...before, spawn("a", 4, "b", "c"), prompted("b", 5), sampleEvent("a", 6)];
    expect(live(events).slice(2)).toEqual([
      ["group a#1"],
      ["group a#1", "a#3: a#4 a#3 -"],
      ["group a#1", "a#3: a#4 a#3 b#5"],
      ["group a#1", "a#3: a#4 a#3 b#5", "a#6"],
    ]);
  });

  it("stays open and selected while its events arrive, whichever of them was opened", () => {
    const [prompt, spawned, called] = [prompted("a", 3), spawn("r", 2, "a", "c"), call("r", 1, "c")];
    const [alone] = rowsOf([prompt]);
    const opened = toggled(new Set(["other"]), alone as LogRow);
    const whole = rowsOf([prompt, spawned, called]);
    expect(isRowOpen(whole[0] as LogRow, opened)).toBe(true);
    expect(indexOfRow(whole, "a#3")).toBe(0);
    expect(indexOfRow(whole, null)).toBe(-1);
    expect([...toggled(opened, whole[0] as LogRow)]).toEqual(["other"]);
  });
});

describe("the prompt of a spawn", () => {
  const input = { description: "short", prompt: "do it", background: true };
  const events = (received: string) => [call("r", 1, "c", input), spawn("r", 2, "a", "c"), prompted("a", 3, received)];

  it("is shown once if the child received it as sent, or with text around it", () => {
    for (const received of ["do it", "Task: do it\n"])
      expect(promptsOf(spawnIn(rowsOf(events(received))))).toMatchObject({ sent: null, received: { text: received } });
  });

  it("is shown as sent and as received if these differ", () => {
    expect(promptsOf(spawnIn(rowsOf(events("something else"))))).toMatchObject({
      sent: "do it",
      received: { text: "something else" },
    });
  });

  it("is shown as sent while the child has not received it", () => {
    expect(promptsOf(spawnIn(rowsOf(events("do it").slice(0, 2))))).toEqual({ sent: "do it", received: null });
  });

  it("is not repeated in the input of the call", () => {
    const spawned = spawnIn(rowsOf(events("do it")));
    expect(inputWithoutPrompt(input, spawned)).toEqual({ description: "short", background: true });
    expect(inputWithoutPrompt({ prompt: "do it" }, spawned)).toBe(null);
    expect(inputWithoutPrompt(["do it"], spawned)).toEqual(["do it"]);
  });
});
