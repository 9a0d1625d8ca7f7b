import { expect, it } from "vitest";
import { locate } from "./locate.ts";

const THREAD = "01a1e11b-7d77-7bb3-b592-aa4e893b1a68";
const NAME = `rollout-2026-11-15T21-27-17-${THREAD}`;

it.each([
  [`sessions/2026/11/15/${NAME}.jsonl`, { is: "rollout", thread: THREAD, name: NAME, packed: false }],
  [`archived_sessions/${NAME}.jsonl`, { is: "rollout", thread: THREAD, name: NAME, packed: false }],
  [`archived_sessions/${NAME}.jsonl.zst`, { is: "rollout", thread: THREAD, name: NAME, packed: true }],
  [`sessions/2026/11/15/${NAME}_0199.jsonl`, { is: "rollout", thread: THREAD, name: `${NAME}_0199`, packed: false }],
  [`thread-writer-locks/${THREAD}.lock`, { is: "lock", thread: THREAD }],
  ["state_5.sqlite", { is: "state" }],
  ["state.sqlite", { is: "state" }],
  ["thread-writer-locks/.coordination.lock", null],
  ["thread_history_1.sqlite", null],
  ["sessions/2026/11/15/notes.jsonl", null],
  [`${NAME}.jsonl`, null],
  ["sessions/state_5.sqlite", null],
])("%s", (path, is) => expect(locate(path)).toEqual(is));

it("takes time in proportion to the path, however often it starts like a rollout", () => {
  const before = process.cpuUsage();
  expect(locate(`sessions/${"rollout-x15/".repeat(60_000)}`)).toBeNull();
  const { user, system } = process.cpuUsage(before);
  // About 50 ms; quadratic work would take 20 s.
  expect((user + system) / 1e6).toBeLessThan(5);
});
