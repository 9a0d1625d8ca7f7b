import { describe, expect, it } from "vitest";
import { agent, lifecycle, notebook, thread } from "../../../test/support/observations.ts";
import type { Lifecycle, LifecycleState, ObservationOf } from "../facts/observation.ts";
import { decide, type OwnState, type ProcessView, type StatusInput } from "./status.ts";

const MINUTE = 60_000;
const ALIVE = { is: "alive", who: "pid 42", startedAt: 1_000, waitingFor: null } as const satisfies ProcessView;
const GONE: ProcessView = { is: "gone", why: "its process (pid 42) is gone" };
const UNKNOWN: ProcessView = { is: "unknown" };

const own = (state: OwnState["state"], at = 10_000, certain = true): OwnState => ({
  at,
  state: state,
  certain,
  turn: null,
  error: null,
});

function reported(
  ...words: readonly { readonly state: LifecycleState; readonly at: number; readonly source?: Lifecycle["source"] }[]
): ObservationOf<"lifecycle">[] {
  const book = notebook();
  return words.map(
    ({ state, at, source = "parent_rollout" }) =>
      book.see({ by: thread("t"), at }, lifecycle(agent("t", "a"), state, { source })) as ObservationOf<"lifecycle">,
  );
}

/** A working agent whose process cannot be observed, evaluated one minute after its last record. */
function ask(more: Partial<StatusInput>) {
  return decide({
    own: own("open"),
    statements: [],
    process: UNKNOWN,
    lastActivity: 10_000,
    activity: "runs Bash",
    missing: "nothing of its own is known",
    now: 10_000 + MINUTE,
    staleAfterMs: 10 * MINUTE,
    ...more,
  }).verdict;
}

describe("an error without a time, stated by the product", () => {
  const failed = reported({ state: "errored", at: 0, source: "protocol" }).map((one) => ({ ...one, at: null }));

  it("ends unfinished work", () => {
    expect(ask({ statements: failed })).toMatchObject({ status: "errored", statusSource: "protocol" });
  });

  it("does not override a complete response", () => {
    expect(ask({ own: own("answered"), statements: failed })).toMatchObject({ status: "completed" });
  });

  it("does not end the work of an agent that was revived", () => {
    const revived = reported({ state: "revived", at: 9_000 });
    expect(ask({ statements: [...failed, ...revived] })).toMatchObject({ status: "running" });
  });
});

describe("a report of an unreliable source", () => {
  const yielding = (state: LifecycleState, at: number) =>
    reported({ state, at }).map((one) => ({ ...one, yields: true as const }));

  it.each(["answered", "failed", "interrupted"] as const)("is overridden by the agent's own records: %s", (after) => {
    const alone = ask({ own: own(after) });
    expect(
      ["completed", "errored", "shutdown"].map((state) =>
        ask({ own: own(after), statements: yielding(state as LifecycleState, 11_000) }),
      ),
    ).toEqual([alone, alone, alone]);
  });

  it("counts if the agent's records do not decide or are gone", () => {
    expect(ask({ own: own("open"), statements: yielding("errored", 11_000) })).toMatchObject({
      status: "errored",
      statusSource: "parent_rollout",
    });
    expect(ask({ own: null, statements: yielding("completed", 11_000) })).toMatchObject({
      status: "completed",
      statusSource: "parent_rollout",
    });
  });
});

describe("an agent that ended", () => {
  it.each([
    ["completed", "completed"],
    ["errored", "errored"],
    ["shutdown", "shutdown"],
  ] as const)("is %s when its parent reports it", (state, status) => {
    const verdict = ask({ own: own("open"), statements: reported({ state, at: 11_000 }), process: ALIVE });
    expect(verdict).toEqual({
      status,
      statusSource: "parent_rollout",
      statusReason: `its parent reports ${state}`,
      activity: null,
    });
  });

  it.each([
    ["answered", true, "completed", "child_rollout"],
    ["answered", false, "completed", "inferred"],
    ["failed", true, "errored", "child_rollout"],
    ["interrupted", true, "shutdown", "child_rollout"],
  ] as const)("whose own last state is %s (certain: %s) is %s by %s", (after, certain, status, statusSource) => {
    for (const process of [ALIVE, GONE, UNKNOWN])
      expect(ask({ own: own(after, 10_000, certain), process })).toMatchObject({
        status,
        statusSource,
        activity: null,
      });
  });

  it("is completed if the product states it and the response is finished", () => {
    const verdict = ask({
      own: own("answered", 20_000),
      statements: reported({ state: "completed", at: 5_000, source: "protocol" }),
    });
    expect(verdict).toMatchObject({ status: "completed", statusSource: "protocol" });
  });

  it("has the status of the last notification, not the first", () => {
    const verdict = ask({ statements: reported({ state: "errored", at: 11_000 }, { state: "completed", at: 12_000 }) });
    expect(verdict.status).toBe("completed");
  });

  it("is errored if its response is an API error, even if it was reported as completed", () => {
    const verdict = ask({ own: own("failed"), statements: reported({ state: "completed", at: 11_000 }) });
    expect(verdict).toMatchObject({ status: "errored", statusSource: "child_rollout" });
    expect(verdict.statusReason).toContain("its parent reports completed");
  });

  it("keeps a reported error as its parent reported it", () => {
    expect(ask({ own: own("failed"), statements: reported({ state: "errored", at: 11_000 }) }).statusSource).toBe(
      "parent_rollout",
    );
  });

  it("has ended even if its last row was written just after the report", () => {
    expect(ask({ own: own("open", 11_500), statements: reported({ state: "completed", at: 10_000 }) }).status).toBe(
      "completed",
    );
  });
});

describe("an agent that continued after its end", () => {
  it("runs, according to its own later records", () => {
    expect(
      ask({
        own: own("open", 50_000),
        lastActivity: 50_000,
        statements: reported({ state: "completed", at: 10_000 }),
        process: ALIVE,
      }).status,
    ).toBe("running");
  });

  it("runs from the moment a message revived it, before it has written a record", () => {
    const verdict = ask({
      own: own("answered", 10_000),
      statements: reported({ state: "completed", at: 10_000 }, { state: "revived", at: 20_000 }),
      process: ALIVE,
    });
    expect(verdict).toMatchObject({
      status: "running",
      statusReason: "its parent reports revived, and its process (pid 42) is running",
    });
  });

  it("is completed again by the response it gave since", () => {
    const verdict = ask({
      own: own("answered", 30_000),
      statements: reported({ state: "completed", at: 10_000 }, { state: "revived", at: 20_000 }),
      process: ALIVE,
    });
    expect(verdict.status).toBe("completed");
  });
});

describe("an agent that started and did not end", () => {
  it("runs while its process is alive, however long it is silent, and shows its activity", () => {
    const verdict = ask({ process: ALIVE, now: 10_000 + 999 * MINUTE });
    expect(verdict).toEqual({
      status: "running",
      statusSource: "child_rollout",
      statusReason: "its last response is incomplete, and its process (pid 42) is running",
      activity: "runs Bash",
    });
  });

  it("is shut down when its process is gone, however recently", () => {
    const verdict = ask({ process: GONE, now: 10_001 });
    expect(verdict).toEqual({
      status: "shutdown",
      statusSource: "inferred",
      statusReason: "its last response is incomplete, and its process (pid 42) is gone",
      activity: null,
    });
  });

  it("is shut down if the living process started after the agent's last record", () => {
    const verdict = ask({ process: { ...ALIVE, startedAt: 20_000 }, lastActivity: 10_000 });
    expect(verdict).toMatchObject({ status: "shutdown", statusSource: "inferred" });
    expect(verdict.statusReason).toContain("started later");
  });

  it("runs if its process is alive and has an unknown start time", () => {
    expect(ask({ process: { ...ALIVE, startedAt: null } }).status).toBe("running");
  });

  it.each([
    [10, "running"],
    [11, "shutdown"],
  ] as const)("where processes cannot be seen, after %d minutes of silence is %s", (minutes, status) => {
    expect(ask({ process: UNKNOWN, now: 10_000 + minutes * MINUTE })).toMatchObject({
      status,
      statusSource: "inferred",
    });
  });

  it("is not shut down while an agent below it is running", () => {
    expect(ask({ process: UNKNOWN, lastActivity: 10_000 + 14 * MINUTE, now: 10_000 + 15 * MINUTE }).status).toBe(
      "running",
    );
  });

  it("counts as shut down if no record has a time", () => {
    expect(ask({ process: UNKNOWN, lastActivity: null })).toMatchObject({
      status: "shutdown",
      statusReason: "its last response is incomplete, and none of its records has a time",
    });
  });

  it("describes a silence by its start time, which stays true whenever it is read", () => {
    const [soon, late] = [15_000, 5 * 60 * MINUTE].map((ms) => ask({ now: 10_000 + ms }).statusReason);
    expect(soon).toContain("nothing was written since 1970-01-01T00:00:10.000Z");
    expect(late).toBe(soon);
  });

  it("does not count as silent if the clock is behind the records", () => {
    expect(ask({ now: 0 }).status).toBe("running");
  });
});

describe("an agent whose turns are recorded by its product", () => {
  const turn = (state: OwnState["state"], at = 10_000): OwnState => ({ ...own(state, at), turn: `its turn ${state}` });

  it.each([
    ["answered", "completed"],
    ["failed", "errored"],
    ["interrupted", "shutdown"],
  ] as const)("%s is %s, whatever others reported before or after", (after, status) => {
    for (const at of [9_000, 10_500, 60_000])
      for (const state of ["completed", "errored", "shutdown", "revived"] as const)
        expect(ask({ own: turn(after), statements: reported({ state, at }) })).toEqual({
          status,
          statusSource: "child_rollout",
          statusReason: `its turn ${after}`,
          activity: null,
        });
  });

  it("is running as soon as its next turn started, even if its parent was just notified of the end of the last one", () => {
    expect(
      ask({ own: turn("open", 10_000), statements: reported({ state: "completed", at: 9_999 }), process: ALIVE }),
    ).toMatchObject({ status: "running" });
  });

  it("has the status that others reported since if the turn never ended", () => {
    expect(ask({ own: turn("open", 10_000), statements: reported({ state: "completed", at: 10_001 }) })).toMatchObject({
      status: "completed",
      statusSource: "parent_rollout",
    });
  });

  it("is shut down with its process, with the product's own reason", () => {
    expect(ask({ own: turn("open"), process: GONE })).toMatchObject({
      status: "shutdown",
      statusReason: "its turn open, and its process (pid 42) is gone",
    });
  });
});

describe("an agent without records of its own", () => {
  const unseen = { own: null } as const;

  it("has the end that its parent reports", () => {
    expect(ask({ ...unseen, statements: reported({ state: "errored", at: 11_000 }) })).toMatchObject({
      status: "errored",
      statusSource: "parent_rollout",
    });
  });

  it.each([
    [ALIVE, 999, "pendingInit"],
    [UNKNOWN, 1, "pendingInit"],
    [UNKNOWN, 11, "notFound"],
    [GONE, 1, "notFound"],
  ] as const)("may still begin, or is not found: %o after %d minutes is %s", (process, minutes, status) => {
    const verdict = ask({ ...unseen, process, now: 10_000 + minutes * MINUTE });
    expect(verdict.status).toBe(status);
    expect(verdict.statusReason).toContain("nothing of its own is known");
  });

  it("is not considered ended because it was launched", () => {
    expect(ask({ ...unseen, statements: reported({ state: "launched", at: 11_000 }), process: GONE }).status).toBe(
      "notFound",
    );
  });
});
