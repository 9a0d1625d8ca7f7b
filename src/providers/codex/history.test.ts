import { describe, expect, it } from "vitest";
import { History } from "./history.ts";
import type { Row } from "./rows.ts";

/** UUIDs of version 7, by the millisecond of their creation. */
const id = (ms: number) => `00000000-${ms.toString(16).padStart(4, "0")}-7000-8000-000000000000`;
const THREAD = id(100);
const row = (type: string, payload: object = {}, more: Partial<Row> = {}): Row => ({
  type,
  at: 0,
  ordinal: null,
  payload: payload as Row["payload"],
  ...more,
});
const turn = (ms: number, more?: Partial<Row>) => row("event_msg/task_started", { turn_id: id(ms) }, more);
const begun = (meta: object) => {
  const history = new History(THREAD);
  history.begin(row("session_meta", { id: THREAD, ...meta }));
  return history;
};
const own = (history: History, rows: readonly Row[]) => rows.map((r) => history.isOwn(r));

describe("the part of a rollout that is the thread's own", () => {
  it("is all of a thread without inherited history", () => {
    expect(own(begun({}), [row("compacted"), turn(101), row("compacted")])).toEqual([true, true, true]);
  });

  it("begins with the first turn that is not older than the thread", () => {
    const rows = [row("session_meta", { id: id(1) }), turn(2), row("compacted"), turn(100), row("compacted")];
    expect(own(begun({ forked_from_id: id(1) }), rows)).toEqual([false, false, false, true, true]);
    // If the first line does not state it, the ancestors' first lines do.
    expect(own(begun({}), rows)).toEqual([false, false, false, true, true]);
  });

  it("starts at the named ordinal, or earlier if that is after the end", () => {
    const at = (ordinal: number) => row("compacted", {}, { ordinal });
    expect(own(begun({ subagent_history_start_ordinal: 7 }), [at(6), at(7), at(8)])).toEqual([false, true, true]);
    expect(own(begun({ subagent_history_start_ordinal: 99 }), [at(6), turn(101, { ordinal: 7 }), at(8)])).toEqual([
      false,
      true,
      true,
    ]);
  });

  it("is all of a fork that stores its history elsewhere", () => {
    expect(own(begun({ forked_from_id: id(1), history_base: { thread_id: id(1) } }), [row("compacted")])).toEqual([
      true,
    ]);
  });

  it("is what is newer than the thread if turns have no ids", () => {
    const later = row("response_item/message", {}, { at: 5_000 });
    expect(own(begun({ forked_from_id: "x" }), [row("turn_context", {}, { at: 3 }), later])).toEqual([false, true]);
  });

  it("is recognised by the turns alone if the first line is missing", () => {
    expect(own(new History(THREAD), [turn(2), row("compacted"), turn(101)])).toEqual([false, false, true]);
  });

  it("continues from its saved state", () => {
    const first = begun({ forked_from_id: id(1) });
    own(first, [turn(2)]);
    const second = new History(THREAD, JSON.parse(JSON.stringify(first.save())));
    expect(own(second, [row("compacted"), turn(101), row("compacted")])).toEqual([false, true, true]);
  });
});
