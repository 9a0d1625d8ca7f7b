import { describe, expect, it } from "vitest";
import { merged, messageRuns, type Piece, type RequestRecord, readableText } from "./requests.ts";

const piece = (name: string, is_new: boolean): Piece => ({
  piece: name,
  role: "user",
  preview: name,
  chars: name.length,
  is_new,
});
const request = (request_id: string, started_at: string, status = "completed") =>
  ({ request_id, started_at, status }) as unknown as RequestRecord;

describe("messages of a request", () => {
  it("that were in the previous request are folded, wherever they are", () => {
    const runs = messageRuns([piece("a", false), piece("b", false), piece("c", true), piece("d", false)], true);
    expect(runs.map((run) => (run.is === "new" ? run.message.piece : run.messages.length))).toEqual([2, "c", 1]);
  });

  it("are all shown if there is no previous request", () => {
    expect(messageRuns([piece("a", false), piece("b", false)], false)).toHaveLength(2);
  });
});

it("merges pages and updates: each request once, newest first, latest version", () => {
  const first = [request("r2", "2026-01-02", "running"), request("r1", "2026-01-01")];
  expect(
    merged(first, [request("r3", "2026-01-03"), request("r2", "2026-01-02")]).map(({ request_id, status }) => [
      request_id,
      status,
    ]),
  ).toEqual([
    ["r3", "completed"],
    ["r2", "completed"],
    ["r1", "completed"],
  ]);
});

it("shows texts unchanged, and everything else as JSON", () => {
  expect(
    readableText([
      { type: "text", text: "Hello" },
      { type: "thinking", thinking: "Hm" },
    ]),
  ).toBe("Hello\n\nHm");
  expect(readableText({ role: "user", content: [{ type: "tool_result", content: "42" }] })).toBe("42");
  expect(readableText({ type: "tool_use", name: "Bash", input: { command: "ls" } })).toBe(
    'Bash {\n  "command": "ls"\n}',
  );
  expect(readableText({ type: "ping" })).toBe('{\n  "type": "ping"\n}');
});
