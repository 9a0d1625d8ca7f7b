import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Plan } from "../facts/plan.ts";
import { STATUSES, type Status } from "../link/status.ts";
import { type CardAgent, type CardThread, progressOf, stageOf } from "./card.ts";

const thread = (status: Status, below: readonly CardAgent[] = [], rest: Partial<CardThread> = {}): CardThread => ({
  status,
  lastAt: 1_000,
  plan: null,
  activity: null,
  below,
  ...rest,
});
const agent = (status: Status, lastReported: CardAgent["lastReported"] = "launched"): CardAgent => ({
  status,
  lastReported: lastReported,
});

describe("the stage of a card", () => {
  it.each([
    ["has no thread", [], "queued"],
    ["waits for its thread to begin", [thread("pendingInit")], "queued"],
    ["names a thread without records", [thread("notFound")], "queued"],
    ["has a thread at work", [thread("completed"), thread("running")], "working"],
    ["has nothing left to do", [thread("completed", [agent("completed"), agent("errored")])], "done"],
    ["has an agent left in the background", [thread("completed", [agent("running")])], "working"],
    ["has one that is about to begin", [thread("completed", [agent("pendingInit", null)])], "working"],
    ["has an agent that a person woke up afterwards", [thread("completed", [agent("running", "completed")])], "done"],
    ["failed", [thread("errored")], "failed"],
    ["was stopped", [thread("shutdown")], "failed"],
    ["failed while an agent still runs", [thread("errored", [agent("running")])], "failed"],
  ] as const)("that %s", (_, threads, stage) => {
    expect(stageOf(threads)).toBe(stage);
  });

  it("restarts when a person queues it, and then follows its thread", () => {
    expect(stageOf([thread("completed")], 1_000)).toBe("queued");
    expect(stageOf([thread("running", [], { lastAt: 1_001 })], 1_000)).toBe("working");
    expect(stageOf([thread("completed", [], { lastAt: 2_000 })], 1_000)).toBe("done");
  });

  const status = fc.constantFrom(...STATUSES);
  const agents = fc.array(
    fc.record({
      status,
      lastReported: fc.constantFrom(null, "launched", "revived", "completed", "errored", "shutdown"),
    }),
    {
      maxLength: 6,
    },
  );
  const threads = fc.array(
    fc.record({
      status,
      lastAt: fc.option(fc.nat(5_000)),
      plan: fc.constant(null),
      activity: fc.constant(null),
      below: agents,
    }),
    {
      maxLength: 5,
    },
  ) as fc.Arbitrary<CardThread[]>;

  it("is never moved by sub-agents, which can only delay that it is done", () => {
    fc.assert(
      fc.property(threads, agents as fc.Arbitrary<CardAgent[]>, (all, others) => {
        const now = stageOf(all.map((one) => ({ ...one, below: [] })));
        const then = stageOf(all.map((one) => ({ ...one, below: others })));
        expect([now, now === "done" ? "working" : now]).toContain(then);
      }),
    );
  });

  it("does not depend on the order of threads, and a thread that has not started moves nothing", () => {
    fc.assert(
      fc.property(threads, (all) => {
        expect(stageOf(all.toReversed())).toBe(stageOf(all));
        expect(stageOf([...all, thread("pendingInit")])).toBe(stageOf(all));
      }),
    );
  });
});

describe("the progress of a card", () => {
  const plan: Plan = [
    { text: "look", state: "done" },
    { text: "mend", state: "doing" },
    { text: "test", state: "open" },
  ];

  it("is that of the thread with the latest activity", () => {
    expect(
      progressOf([thread("running", [], { plan, activity: "runs bash" }), thread("completed", [], { lastAt: 1 })]),
    ).toEqual({
      done: 1,
      total: 3,
      current: "mend",
    });
    expect(progressOf([thread("running", [], { activity: "runs bash" })])).toEqual({
      done: 0,
      total: 0,
      current: "runs bash",
    });
    expect(progressOf([thread("completed")])).toBeNull();
    expect(progressOf([])).toBeNull();
  });
});
