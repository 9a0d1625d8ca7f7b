import { describe, expect, it } from "vitest";
import {
  agent,
  answer,
  call,
  callSpawned,
  LATER,
  lifecycle,
  notebook,
  parentNamed,
  record,
  spawnCalled,
  thread,
} from "../../../test/support/observations.ts";
import type { Observation } from "../facts/observation.ts";
import { link } from "../link/link.ts";
import { treeOf, withoutChildren } from "./record.ts";

const [main, worker, leaf, warmup] = [thread("t"), agent("t", "worker"), agent("t", "leaf"), agent("t", "warm")];
const CENT = 0.01;
const show = (observations: readonly Observation[], price: () => number | null = () => CENT) =>
  treeOf(link(observations, LATER), main, price);

/** main (2 calls) ── worker (1 call) ── leaf (1 call), and a warm-up of the product (1 call). */
function family() {
  const book = notebook();
  book.see({ by: main, at: 1_000, keys: ["u"] }, record({ role: "user", state: "open" }));
  book.see({ by: main, at: 2_000, keys: ["m1", "R1"] }, answer("R1", 100));
  book.see(
    { by: main, at: 2_000, keys: ["m1", "R1"] },
    spawnCalled("call", { prompt: "Do it.", agentType: "worker-type", description: "Work" }),
  );
  book.see({ by: worker, at: 3_000, keys: ["w1", "R2"] }, answer("R2", 10));
  book.see({ by: worker, at: 3_000, keys: ["w1", "R2"] }, record({ text: "Worked." }));
  book.see({ by: leaf, at: 3_500, keys: ["l1", "R3"] }, answer("R3", 1));
  book.see({ by: leaf, at: 3_500, keys: ["l1", "R3"] }, record({ text: "Leafed." }));
  book.see({ by: leaf }, parentNamed(leaf, worker, { rule: "meta" }));
  book.see({ by: main, at: 4_000, keys: ["m2"] }, callSpawned("call", worker));
  book.see({ by: main, at: 4_000, keys: ["m2"] }, lifecycle(worker, "completed", { result: "reported" }));
  book.see({ by: main, at: 5_000, keys: ["m3", "R4"] }, answer("R4", 1_000));
  book.see({ by: main, at: 5_000, keys: ["m3", "R4"] }, record({ text: "All done." }));
  book.see(
    { by: warmup },
    { type: "agent-described", agent: warmup, internal: { why: "a warm-up", unlessSpawned: true } },
  );
  book.see({ by: warmup, at: 1_500, keys: ["x", "R5"] }, answer("R5", 10_000));
  return book.observations;
}

describe("the record of an agent", () => {
  it("that never worked has the project of the agent that called it, and no folder of its own", () => {
    const book = notebook();
    book.see({ by: main }, { type: "agent-described", agent: main, cwd: "/home/dev/shop" });
    book.see({ by: main, at: 1_000, keys: ["m1"] }, spawnCalled("call"));
    book.see({ by: main, at: 2_000, keys: ["m2"] }, lifecycle({ call: call("call") }, "errored"));
    expect(show(book.observations).children).toMatchObject([
      { status: "errored", project: "shop", cwd: null, model: [] },
    ]);
  });

  it("sums own, internal and everything below", () => {
    const tree = show(family());
    const out = ({ usage: { own, internal, subtree } } = tree) => [
      own.outputTokens,
      internal?.outputTokens ?? null,
      subtree.outputTokens,
    ];
    expect(out()).toEqual([1_100, 10_000, 11_111]);
    expect(out(tree.children[0])).toEqual([10, null, 11]);
    expect(tree.usage.subtree).toMatchObject({ calls: 5, costUsd: 5 * CENT });
    expect(tree.counts).toMatchObject({ spawned: 1, descendants: 2, byStatus: { completed: 2 } });
  });

  it("has no negative duration, also if the end is recorded before the start", () => {
    const book = notebook();
    book.see({ by: main, at: 9_000, keys: ["u"] }, record({ role: "user", state: "open" }));
    book.see({ by: main, at: 9_000, keys: ["m"] }, spawnCalled("call", { prompt: "Do it." }));
    book.see({ by: worker, at: 9_500, keys: ["w"] }, record({ role: "user", state: "open" }));
    book.see({ by: main, at: 4_000, keys: ["m2"] }, callSpawned("call", worker));
    book.see({ by: main, at: 4_000, keys: ["m2"] }, lifecycle(worker, "completed", { result: "reported" }));
    const { startedAt, endedAt, durationMs } = show(book.observations).children[0] ?? {};
    expect([startedAt, endedAt, durationMs]).toEqual([new Date(9_500).toISOString(), new Date(4_000).toISOString(), 0]);
  });

  it("has no cost if one model has no price", () => {
    const tree = show(family(), () => null);
    expect([tree.usage.own.costUsd, tree.usage.subtree.costUsd]).toEqual([null, null]);
  });

  it("does not show internal work as an agent", () => {
    expect(show(family()).children.map((c) => c.agentId)).toEqual(["worker"]);
  });

  it("has the agent's identity, its parent, the evidence and the prompt", () => {
    const [child] = show(family()).children;
    expect(child).toMatchObject({
      schema: "retinue/agent@1",
      uri: "toy://t/worker",
      parent: "toy://t",
      depth: 1,
      kind: "subagent",
      type: "worker-type",
      description: "Work",
      prompt: "Do it.",
      result: "Worked.",
      status: "completed",
      startedAt: "1970-01-01T00:00:03.000Z",
      link: { rule: "result", source: "parent_rollout", confidence: 1, toolCallId: "call" },
    });
    expect(child?.link?.evidence).toEqual(["the result of call names it [result, book:009]"]);
    expect(child?.children[0]).toMatchObject({
      uri: "toy://t/leaf",
      parent: "toy://t/worker",
      depth: 2,
      link: { rule: "meta", toolCallId: null },
    });
  });

  it("of a root has neither parent nor link, and unknown values are null, not absent", () => {
    const root = withoutChildren(show(family()));
    expect(root).toMatchObject({
      parent: null,
      link: null,
      agentId: null,
      depth: 0,
      kind: "main",
      title: null,
      cwd: null,
      branch: null,
      productVersion: null,
    });
    expect(Object.values(root)).not.toContain(undefined);
    expect(root).not.toHaveProperty("children");
  });

  it("uses the result in the parent's records if the agent's own are missing, with a warning", () => {
    const book = notebook();
    book.see({ by: main, at: 1_000, keys: ["m1"] }, spawnCalled("call"));
    book.see({ by: main, at: 2_000, keys: ["m2"] }, callSpawned("call", worker));
    book.see({ by: main, at: 2_000, keys: ["m2"] }, lifecycle(worker, "completed", { result: "reported" }));
    const [child] = show(book.observations).children;
    expect(child).toMatchObject({
      status: "completed",
      statusSource: "parent_rollout",
      result: "reported",
      warnings: ["its transcript was not found"],
    });
  });

  it("has no result if the agent did not complete", () => {
    const book = notebook();
    book.see({ by: main, at: 1_000, keys: ["m1", "R"] }, record({ text: "Let me see.", state: "open" }));
    expect(show(book.observations)).toMatchObject({ status: "shutdown", result: null });
  });

  it("is built for trees that are deeper than the call stack", () => {
    const deep = 20_000;
    const book = notebook();
    const name = (depth: number) => (depth === 0 ? main : agent("t", String(depth)));
    for (let depth = 1; depth <= deep; depth++)
      book.see({ by: name(depth), at: depth }, parentNamed(name(depth), name(depth - 1)));
    const tree = show(book.observations);
    expect(tree.counts.descendants).toBe(deep);
  });
});
