import { describe, expect, it } from "vitest";
import {
  agent,
  call,
  callSpawned,
  LATER,
  lifecycle,
  match,
  notebook,
  parentNamed,
  record,
  spawnCalled,
  spawnMatch,
  thread,
} from "../../../test/support/observations.ts";
import { type AgentKey, ANONYMOUS, agentKey, threadKey } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { agentOf } from "./forest.ts";
import { type LinkOptions, link } from "./link.ts";

const main = thread("t");
const uris = (observations: readonly Observation[], ...keys: readonly AgentKey[]) => {
  const forest = link(observations, LATER);
  return keys.map((key) => agentOf(forest, key).uri);
};

describe("the order", () => {
  it("of siblings is that of their start: by their first record, else by their call", () => {
    const book = notebook();
    const begin = (id: string, at: number) => {
      book.see({ by: agent("t", id), at, keys: [id] }, record());
      book.see({ by: agent("t", id) }, parentNamed(agent("t", id), main));
    };
    book.see({ by: main, at: 2_000, keys: ["m"] }, spawnCalled("called"));
    begin("late", 3_000);
    begin("early", 1_000);
    expect(agentOf(link(book.observations, LATER), main).children).toEqual([
      agent("t", "early"),
      agent("t", "called"),
      agent("t", "late"),
    ]);
  });

  it("of threads is that of their last activity, the newest first", () => {
    const book = notebook();
    book.see({ by: thread("quiet"), at: 5_000, keys: ["q"] }, record());
    book.see({ by: thread("busy below"), at: 1_000, keys: ["b"] }, record());
    book.see({ by: agent("busy below", "a"), at: 9_000, keys: ["a"] }, record());
    book.see({ by: thread("oldest"), at: 2_000, keys: ["o"] }, record());
    expect(link(book.observations, LATER).roots).toEqual([thread("busy below"), thread("quiet"), thread("oldest")]);
  });
});

describe("the name of an agent", () => {
  it("is made of its thread and its own name, at any depth", () => {
    const [outer, inner] = [agent("t", "outer"), agent("t", "inner")];
    const book = notebook();
    book.see({ by: inner }, parentNamed(inner, outer));
    book.see({ by: outer }, parentNamed(outer, main));
    expect(uris(book.observations, main, outer, inner)).toEqual(["toy://t", "toy://t/outer", "toy://t/inner"]);
  });

  it("that its product did not name is taken from its spawn call, else from its first record", () => {
    const [called, uncalled] = [agent("t", `${ANONYMOUS}first`), agent("t", `${ANONYMOUS}second`)];
    const book = notebook();
    book.see({ by: main, at: 1, keys: ["m"] }, spawnCalled("call-1", { offers: [match("Do it.")] }));
    book.see({ by: called, at: 2, keys: ["c"] }, spawnMatch(called, "Do it."));
    book.see({ by: uncalled, at: 3, keys: ["u"] }, record());
    expect(uris(book.observations, called, uncalled)).toEqual(["toy://t/call-1", "toy://t/second"]);
  });

  it("that is a thread under another one is that thread's id below the upper one's", () => {
    const mate = thread("mate");
    const book = notebook();
    book.see({ by: mate }, parentNamed(mate, main));
    expect(uris(book.observations, mate)).toEqual(["toy://t/mate"]);
  });

  it("keeps the scheme of its own product, below another product's thread", () => {
    const [foreign, below] = [threadKey("other", "x"), agentKey("other", "x", "a")];
    const book = notebook();
    book.see({ by: foreign }, parentNamed(foreign, main));
    book.see({ by: below }, parentNamed(below, foreign));
    expect(uris(book.observations, foreign, below)).toEqual(["other://x", "other://x/a"]);
  });
});

describe("the activity of a running agent", () => {
  const ALIVE: LinkOptions = { now: 10_000, liveness: () => "alive" };
  const working = (calls: readonly string[], waitingFor: string | null = null) => {
    const book = notebook();
    book.see(
      { by: main },
      { type: "process-seen", thread: main, process: { pid: 7, birth: null, domain: null, startedAt: 0 }, waitingFor },
    );
    book.see(
      { by: main, at: 1_000, keys: ["r", "R"] },
      record({ state: "open", calls: calls.map((id) => ({ call: call(id), name: id })) }),
    );
    return book;
  };
  const activity = (observations: readonly Observation[]) => agentOf(link(observations, ALIVE), main).verdict;

  it.each([
    [[], null, "waits for the model"],
    [["Bash", "Read"], null, "runs Bash, Read"],
    [["Bash"], "permission prompt", "waits for a permission prompt (Bash)"],
  ])("with the open calls %j, while its process waits for %j", (calls, waitingFor, words) => {
    expect(activity(working(calls, waitingFor).observations)).toMatchObject({ status: "running", activity: words });
  });

  it("is waiting for a permission only if it is certain which agent asked; else its thread waits, and the agents run their tools", () => {
    const book = working([], "permission prompt");
    const [one, two] = [agent("t", "one"), agent("t", "two")];
    const run = (who: typeof one, id: string) => {
      book.see({ by: who }, parentNamed(who, main));
      book.see(
        { by: who, at: 1_500, keys: [`r ${id}`, `R ${id}`] },
        record({ state: "open", calls: [{ call: call(id), name: id }] }),
      );
    };
    const seen = () =>
      [main, one, two]
        .map((key) => link(book.observations, ALIVE).agents.get(key))
        .map((a) => [a?.verdict.activity, a?.waiting?.for]);
    run(one, "Bash");
    expect(seen().slice(0, 2)).toEqual([
      ["waits for the model", undefined],
      ["waits for a permission prompt (Bash)", "permission prompt"],
    ]);
    run(two, "Edit");
    expect(seen()).toEqual([
      [
        "waits for a permission prompt (which of its 2 agents with open tool calls asked is not recorded)",
        "permission prompt",
      ],
      ["runs Bash", undefined],
      ["runs Edit", undefined],
    ]);
  });

  it("is waiting for its agents", () => {
    const book = working(["one"]);
    book.see({ by: main, at: 1_000, keys: ["r", "R"] }, spawnCalled("one", { description: "Work" }));
    expect(activity(book.observations).activity).toBe('waits for its agent "Work"');
    const two = working(["one", "two"]);
    for (const id of ["one", "two"]) two.see({ by: main, at: 1_000, keys: ["r", "R"] }, spawnCalled(id));
    expect(activity(two.observations).activity).toBe("waits for 2 agents");
  });

  it("is waiting for background agents below it, even if its own response is finished", () => {
    const background = agent("t", "background");
    const family = (liveness: "alive" | "gone") => {
      const book = notebook();
      book.see(
        { by: main },
        {
          type: "process-seen",
          thread: main,
          process: { pid: 7, birth: null, domain: null, startedAt: 0 },
          waitingFor: null,
        },
      );
      book.see({ by: main, at: 1_000, keys: ["m"] }, spawnCalled("one"));
      book.see({ by: main, at: 2_000, keys: ["m2"] }, callSpawned("one", background));
      book.see({ by: background, at: 3_000, keys: ["b"] }, record({ state: "open" }));
      book.see({ by: main, at: 4_000, keys: ["m3"] }, record({ state: "answered" }));
      return agentOf(link(book.observations, { now: 10_000, liveness: () => liveness }), main).verdict;
    };
    expect(family("alive")).toMatchObject({ status: "running", activity: "waits for 1 background agent" });
    expect(family("gone")).toMatchObject({ status: "completed", activity: null });
  });

  it("ends when its end was reported to its parent: agents below it then report to the thread", () => {
    const [worker, leaf] = [agent("t", "worker"), agent("t", "leaf")];
    const book = notebook();
    book.see(
      { by: main },
      {
        type: "process-seen",
        thread: main,
        process: { pid: 7, birth: null, domain: null, startedAt: 0 },
        waitingFor: null,
      },
    );
    book.see({ by: leaf }, parentNamed(leaf, worker));
    book.see({ by: leaf, at: 1_000, keys: ["l"] }, record({ state: "open" }));
    book.see({ by: worker, at: 2_000, keys: ["w"] }, record({ state: "answered" }));
    const status = () => [worker, main].map((key) => agentOf(link(book.observations, ALIVE), key).verdict.status);
    book.see({ by: main, at: 2_500, keys: ["m"] }, record({ state: "answered" }));
    expect(status()).toEqual(["running", "running"]);
    book.see({ by: main, at: 3_000, keys: ["m2"] }, lifecycle(worker, "completed"));
    expect(status()).toEqual(["completed", "running"]);
  });
});
