import { describe, expect, it } from "vitest";
import { locate, runOfFile } from "./locate.ts";

const TOP = "2026-11-16T01-59-16-440Z_01a1e214-7ed7";

describe("a file below a session folder", () => {
  it.each([
    [`--home-dev--/${TOP}.jsonl`, { is: "session", session: "01a1e214-7ed7", stem: TOP }],
    [`${TOP}.jsonl`, { is: "session", session: "01a1e214-7ed7", stem: TOP }],
    ["--home-dev--/mine.jsonl", { is: "session", session: null, stem: "mine" }],
    [
      `--home-dev--/${TOP}/run/run-0/session.jsonl`,
      { is: "run", session: "01a1e214-7ed7", agent: "run", parent: null, run: "run" },
    ],
    [
      `--home-dev--/${TOP}/run/run-2/session.jsonl`,
      { is: "run", session: "01a1e214-7ed7", agent: "run.2", parent: null, run: "run" },
    ],
    [
      `--home-dev--/${TOP}/a/run-0/session/b/run-1/session.jsonl`,
      { is: "run", session: "01a1e214-7ed7", agent: "b.1", parent: "a", run: "b" },
    ],
    ["home-dev/01a1/tasks/964e.output", { is: "task", session: "01a1", agent: "964e" }],
    ["--home-dev--/subagent-artifacts/x_transcript.jsonl", null],
    [`--home-dev--/${TOP}/run/run-0/notes.md`, null],
  ])("%s", (path, found) => {
    expect(locate(path)).toEqual(found);
  });

  it("is the same by the path that a parent records", () => {
    expect(runOfFile(`/home/dev/.pi/agent/sessions/--home-dev--/${TOP}/run/run-1/session.jsonl`)).toMatchObject({
      session: "01a1e214-7ed7",
      agent: "run.1",
    });
    expect(runOfFile("/somewhere/else.jsonl")).toBeNull();
  });
});
