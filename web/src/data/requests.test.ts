import { describe, expect, it } from "vitest";
import { merged, messageRuns, type Piece, type RequestRecord, wordsIn } from "./requests.ts";

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

  it("are all shown where there was none before", () => {
    expect(messageRuns([piece("a", false), piece("b", false)], false)).toHaveLength(2);
  });
});

it("pages and news come together: each once, newest first, as last known", () => {
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

it("texts are shown as they are, and everything else as JSON", () => {
  expect(
    wordsIn([
      { type: "text", text: "Hello" },
      { type: "thinking", thinking: "Hm" },
    ]),
  ).toBe("Hello\n\nHm");
  expect(wordsIn({ role: "user", content: [{ type: "tool_result", content: "42" }] })).toBe("42");
  expect(wordsIn({ type: "tool_use", name: "Bash", input: { command: "ls" } })).toBe('Bash {\n  "command": "ls"\n}');
  expect(wordsIn({ type: "ping" })).toBe('{\n  "type": "ping"\n}');
});
