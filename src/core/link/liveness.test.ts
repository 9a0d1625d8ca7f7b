import { describe, expect, it } from "vitest";
import { notebook, thread } from "../../../test/support/observations.ts";
import type { AgentKey } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { emptyAgent, gatherAgents } from "./gather.ts";
import { type Liveness, processViews } from "./liveness.ts";

const main = thread("t");

/** Processes by pid; all others are gone. */
const living =
  (...pids: readonly number[]): Liveness =>
  (mark) =>
    "pid" in mark && pids.includes(mark.pid) ? "alive" : "gone";

function view(observations: readonly Observation[], liveness: Liveness) {
  const gathered = gatherAgents(observations, () => undefined);
  return processViews(observations, (key: AgentKey) => gathered.get(key) ?? emptyAgent(key), liveness)(main);
}

function marks(
  ...seen: readonly { readonly pid: number; readonly startedAt: number; readonly waitingFor?: string }[]
): Observation[] {
  const book = notebook();
  for (const { pid, startedAt, waitingFor = null } of seen)
    book.see(
      { by: main },
      { type: "process-seen", thread: main, process: { pid, birth: null, domain: null, startedAt }, waitingFor },
    );
  return book.observations;
}

describe("a thread's process", () => {
  it("is the living one if a dead one left a process file too", () => {
    const seen = marks({ pid: 1, startedAt: 10 }, { pid: 2, startedAt: 20, waitingFor: "permission prompt" });
    expect(view(seen, living(2))).toEqual({
      is: "alive",
      who: "pid 2",
      startedAt: 20,
      waitingFor: "permission prompt",
    });
    expect(view(seen, living(1))).toEqual({ is: "alive", who: "pid 1", startedAt: 10, waitingFor: null });
  });

  it("is the newer of two that are alive", () => {
    expect(view(marks({ pid: 1, startedAt: 10 }, { pid: 2, startedAt: 20 }), living(1, 2))).toMatchObject({
      who: "pid 2",
    });
  });

  it("is gone if all processes with a process file are gone", () => {
    expect(view(marks({ pid: 1, startedAt: 10 }, { pid: 2, startedAt: 20 }), living())).toEqual({
      is: "gone",
      why: "its process (pid 2) has ended",
    });
  });

  it("is unknown as soon as one process file cannot be checked, unless another process is alive", () => {
    const unsure =
      (otherwise: "gone" | "alive"): Liveness =>
      (mark) =>
        "pid" in mark && mark.pid === 1 ? "unknown" : otherwise;
    expect(view(marks({ pid: 1, startedAt: 10 }, { pid: 2, startedAt: 20 }), unsure("gone"))).toEqual({
      is: "unknown",
    });
    expect(view(marks({ pid: 1, startedAt: 10 }, { pid: 3, startedAt: 20 }), unsure("alive"))).toMatchObject({
      is: "alive",
    });
  });

  it("is the holder of the thread's lock, and gone without one", () => {
    const book = notebook();
    book.see({ by: main }, { type: "process-seen", thread: main, process: { lock: "/locks/t" }, waitingFor: null });
    expect(view(book.observations, () => "alive")).toEqual({
      is: "alive",
      who: "the holder of its lock",
      startedAt: null,
      waitingFor: null,
    });
    expect(view(book.observations, () => "gone")).toEqual({
      is: "gone",
      why: "no process holds the lock of the thread",
    });
  });

  it("is gone without a process file if the product writes such files, and unknown if it does not", () => {
    const book = notebook();
    book.see({ by: main }, { type: "agent-described", agent: main, marksProcess: true });
    expect(view(book.observations, living())).toEqual({ is: "gone", why: "its process is no longer running" });
    expect(view([], living())).toEqual({ is: "unknown" });
  });
});

describe("a process that is known only by the file it has open", () => {
  const book = notebook();
  book.see({ by: main }, { type: "process-seen", thread: main, process: { holds: "/db" }, waitingFor: null });

  it("is the process that has it open", () => {
    expect(view(book.observations, () => ({ pid: 7, startedAt: 5 }))).toEqual({
      is: "alive",
      who: "pid 7",
      startedAt: 5,
      waitingFor: null,
    });
  });

  it("is gone if no process has it open, and unknown if that cannot be determined", () => {
    expect(view(book.observations, () => "gone")).toEqual({ is: "gone", why: "no process has its database open" });
    expect(view(book.observations, () => "unknown")).toEqual({ is: "unknown" });
  });
});
