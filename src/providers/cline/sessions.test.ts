import { describe, expect, it } from "vitest";
import { SessionRow } from "./sessions.ts";

const endOf = (row: object) => {
  const record = new TextEncoder().encode(JSON.stringify({ pid: 1, started_at: "2026-11-17T15:41:43.065Z", ...row }));
  const found = new SessionRow({ path: "sessions.db#1", bytes: 0 }).push(record, 1, "1");
  return found.observations.flatMap((o) => (o.type === "lifecycle" ? [o.state] : []));
};

describe("the end of a row", () => {
  it.each([
    [{ session_id: "1_a", status: "running" }, []],
    [{ session_id: "1_a", status: "completed", exit_code: 0 }, ["completed"]],
    [{ session_id: "1_a", status: "failed", exit_code: 1 }, ["errored"]],
    [{ session_id: "1_a", status: "cancelled" }, ["shutdown"]],
    [
      { session_id: "1_a", status: "failed", metadata_json: '{"terminal_marker":"failed_external_process_exit"}' },
      ["shutdown"],
    ],
    [{ session_id: "1_a__agent_1_b", status: "failed" }, ["shutdown"]],
    [{ session_id: "1_a__teamtask__mate__123456", status: "failed" }, ["errored"]],
  ])("%o", (row, states) => {
    expect(endOf(row)).toEqual(states);
  });
});
