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
import { agentOf } from "../link/forest.ts";
import { link } from "../link/link.ts";
import { type CriticalPart, criticalPath, untilLastEnd } from "./critical-path.ts";
import { busyMs, type Span } from "./span.ts";
import { spansOf } from "./spans.ts";

const main = thread("main");
const asks = (at: number, ...keys: string[]) => ({ by: main, at, keys });
const tool = (id: string, name = "Read") => ({ call: call(id), name });

/** A thread with a prompt at 0, a tool call at 10, its result at 30 and its last response at 50. */
function oneTool() {
  const book = notebook();
  book.see(asks(0), record({ role: "user", state: "open" }));
  book.see(asks(9, "r1", "one"), record({ state: null }));
  book.see(asks(10, "r2", "one"), record({ state: "open", calls: [tool("c1")] }));
  book.see(asks(10, "r2", "one"), answer("one", 7));
  book.see(asks(30, "r3"), record({ role: "user", state: "open", results: [{ call: call("c1"), isError: false }] }));
  book.see(asks(50, "r4", "two"), record());
  book.see(asks(50, "r4", "two"), answer("two", 5));
  return book;
}

const brief = (spans: readonly Span[]) => spans.map(({ kind, name, from, to, end }) => [kind, name, from, to, end]);
const spansIn = (book: ReturnType<typeof notebook>, options = LATER) => spansOf(link(book.observations, options), main);

describe("spans", () => {
  it("are model calls from input to last row, and tools from call to result", () => {
    const spans = spansIn(oneTool());
    expect(brief(spans)).toEqual([
      ["model", "model-1", 0, 10, "done"],
      ["tool", "Read", 10, 30, "done"],
      ["model", "model-1", 30, 50, "done"],
    ]);
    expect(spans.map((span) => [span.outputTokens, span.callId])).toEqual([
      [7, null],
      [0, "c1"],
      [5, null],
    ]);
  });

  it("mark failed tools, and calls without a result", () => {
    const book = notebook();
    book.see(asks(0), record({ role: "user", state: "open" }));
    book.see(asks(10, "r", "one"), record({ state: "open", calls: [tool("a"), tool("b")] }));
    book.see(asks(20), record({ role: "user", state: "open", results: [{ call: call("a"), isError: true }] }));
    book.see(asks(40), record({ role: "user", state: "interrupted" }));
    expect(brief(spansIn(book)).slice(1)).toEqual([
      ["tool", "Read", 10, 20, "failed"],
      ["tool", "Read", 10, 40, "cut"],
    ]);
  });

  it("use the times of calls and results if these have their own, and do not count a tool as model time", () => {
    const book = notebook();
    book.see(asks(0), record({ role: "user", state: "open" }));
    book.see(
      asks(5, "m"),
      record({ calls: [{ ...tool("c"), at: 12 }], results: [{ call: call("c"), isError: false, at: 90 }] }),
    );
    expect(brief(spansIn(book))).toEqual([
      ["model", null, 0, 12, "done"],
      ["tool", "Read", 12, 90, "done"],
    ]);
  });

  it("of what an agent does at the moment have no end", () => {
    const living = { now: 100, liveness: () => "unknown" as const };
    const book = oneTool();
    book.see(asks(60), record({ role: "user", state: "open" }));
    expect(brief(spansIn(book, living)).at(-1)).toEqual(["model", null, 60, null, null]);
    book.see(asks(70, "r5", "three"), record({ state: "open", calls: [tool("slow", "Bash")] }));
    expect(brief(spansIn(book, living)).at(-1)).toEqual(["tool", "Bash", 70, null, null]);
    book.see(asks(71), { type: "waits", agent: main, for: "permission", says: "Bash", call: call("slow") });
    expect(brief(spansIn(book, living)).at(-1)).toEqual(["wait", "permission", 70, null, null]);
  });

  it("contain every model call once, even one that no row names", () => {
    const book = oneTool();
    book.see({ by: main, at: 55 }, answer("lonely", 3));
    book.see({ by: main, at: -5 }, answer("early", 2));
    const spans = spansIn(book);
    expect(spans.reduce((sum, span) => sum + span.outputTokens, 0)).toBe(17);
    expect(spans.filter((span) => span.kind === "model")).toHaveLength(3);
  });
});

describe("an agent with sub-agents", () => {
  const [one, two] = [agent("main", "one"), agent("main", "two")];
  const works = (book: ReturnType<typeof notebook>, who: typeof one, from: number, to: number) => {
    book.see({ by: who, at: from }, record({ role: "user", state: "open" }));
    book.see({ by: who, at: to }, record());
  };

  it("waits for those that its call spawned, and not for background agents", () => {
    const book = notebook();
    book.see(asks(0), record({ role: "user", state: "open" }));
    book.see(asks(10, "r", "a"), record({ state: "open", calls: [tool("c1", "Spawn"), tool("c2", "Spawn")] }));
    for (const id of ["c1", "c2"]) book.see(asks(10, "r", "a"), spawnCalled(id));
    book.see(asks(10), callSpawned("c1", one));
    book.see(asks(10), callSpawned("c2", two));
    works(book, one, 11, 40);
    works(book, two, 11, 70);
    book.see(asks(12), record({ role: "user", state: "open", results: [{ call: call("c2"), isError: false }] }));
    book.see(asks(41), record({ role: "user", state: "open", results: [{ call: call("c1"), isError: false }] }));
    book.see(asks(50, "s", "b"), record());
    book.see(asks(72), record({ role: "user", state: "open" }));
    book.see(asks(80, "t", "c"), record());
    const forest = link(book.observations, LATER);
    const spans = spansOf(forest, main);
    const uri = (key: typeof one) => agentOf(forest, key).uri;
    expect(spans.map(({ kind, name, from, to, agents }) => [kind, name, from, to, agents])).toEqual([
      ["model", null, 0, 10, []],
      ["tool", "Spawn", 10, 12, [uri(two)]],
      ["wait", "agents", 10, 41, [uri(one)]],
      ["model", null, 41, 50, []],
      ["wait", "agents", 50, 70, [uri(two)]],
      ["model", null, 72, 80, []],
    ]);
    expect(busyMs(spans, 100)).toBe(10 + 2 + 9 + 8);
  });

  it("waits by a call that only waits", () => {
    const book = notebook();
    book.see(asks(0), record({ role: "user", state: "open" }));
    book.see({ by: one, at: 1 }, parentNamed(one, main));
    works(book, one, 1, 30);
    book.see(asks(10, "r", "a"), record({ state: "open", calls: [{ ...tool("w", "wait"), awaitsAgents: true }] }));
    book.see(asks(31), record({ role: "user", state: "open", results: [{ call: call("w"), isError: false }] }));
    book.see(asks(32, "s", "b"), record({ state: "open", calls: [{ ...tool("x", "wait"), awaitsAgents: true }] }));
    book.see(asks(35), record({ role: "user", state: "interrupted", results: [{ call: call("x"), isError: false }] }));
    // No agent was running during the second wait.
    expect(brief(spansIn(book)).filter(([kind]) => kind !== "model")).toEqual([
      ["wait", "agents", 10, 31, "done"],
      ["tool", "wait", 32, 35, "done"],
    ]);
  });

  it("waits again after each input", () => {
    const book = oneTool();
    for (const who of [one, two]) book.see({ by: who, at: 1 }, parentNamed(who, main));
    works(book, one, 1, 60);
    works(book, two, 1, 80);
    for (const at of [65, 90]) book.see(asks(at), record({ role: "user", state: "open" }));
    expect(brief(spansIn(book)).slice(-2)).toEqual([
      ["wait", "agents", 50, 60, "done"],
      ["wait", "agents", 65, 80, "done"],
    ]);
  });

  it("is resumed by sub-agents that end later", () => {
    const book = oneTool();
    book.see({ by: one, at: 1 }, parentNamed(one, main));
    book.see({ by: one, at: 1 }, lifecycle(one, "launched"));
    works(book, one, 1, 90);
    book.see(asks(95), record({ role: "user", state: "open" }));
    expect(brief(spansIn(book)).at(-1)).toEqual(["wait", "agents", 50, 90, "done"]);
  });
});

describe("the critical path", () => {
  const wait = (from: number, to: number, ...agents: string[]): Span => {
    return { kind: "wait", from, to, name: "agents", callId: null, tokens: 0, outputTokens: 0, end: "done", agents };
  };
  const pathOf = (lives: Record<string, { from: number; to: number; spans: Span[] }>, root = "main") =>
    criticalPath(root, (uri) => lives[uri]);
  const parts = (path: readonly CriticalPart[]) => path.map(({ uri, from, to }) => [uri, from, to]);

  it("goes through the child that ended last, and the children of that one", () => {
    const path = pathOf({
      main: { from: 0, to: 100, spans: [wait(10, 80, "fast", "slow")] },
      fast: { from: 11, to: 40, spans: [] },
      slow: { from: 12, to: 79, spans: [wait(20, 60, "deep")] },
      deep: { from: 21, to: 59, spans: [] },
    });
    expect(parts(path)).toEqual([
      ["main", 0, 12],
      ["slow", 12, 21],
      ["deep", 21, 59],
      ["slow", 59, 79],
      ["main", 79, 100],
    ]);
  });

  it("goes through agents one after the other if one call spawns them in turn", () => {
    const path = pathOf({
      main: { from: 0, to: 50, spans: [wait(5, 45, "a", "b")] },
      a: { from: 6, to: 20, spans: [] },
      b: { from: 25, to: 44, spans: [] },
    });
    expect(parts(path)).toEqual([
      ["main", 0, 6],
      ["a", 6, 20],
      ["main", 20, 25],
      ["b", 25, 44],
      ["main", 44, 50],
    ]);
  });

  it("omits agents that had ended before the wait", () => {
    const path = pathOf({
      main: { from: 0, to: 50, spans: [wait(30, 31, "early")] },
      early: { from: 1, to: 20, spans: [] },
    });
    expect(parts(path)).toEqual([["main", 0, 50]]);
  });

  it("covers the whole time without a gap or an overlap, even if the waits contradict each other", () => {
    const path = pathOf({
      main: { from: 0, to: 60, spans: [wait(0, 60, "main", "x", "nobody")] },
      x: { from: -20, to: 90, spans: [wait(-30, 95, "main")] },
    });
    expect(path[0]?.from).toBeLessThanOrEqual(0);
    expect(path.at(-1)?.to).toBe(60);
    for (const [i, part] of path.entries()) if (i > 0) expect(part.from).toBe(path[i - 1]?.to);
  });

  it("goes back to where an agent was revived, not to its start", () => {
    const work = (from: number, to: number): Span => ({ ...wait(from, to), kind: "model", agents: [] });
    const path = pathOf({
      main: { from: 0, to: 100, spans: [wait(10, 20, "helper"), wait(60, 80, "helper")] },
      helper: { from: 11, to: 79, spans: [work(11, 19), work(61, 79)] },
    });
    expect(parts(path)).toEqual([
      ["main", 0, 11],
      ["helper", 11, 20],
      ["main", 20, 61],
      ["helper", 61, 79],
      ["main", 79, 100],
    ]);
  });

  it("ends with the last agent if the thread itself ended earlier", () => {
    const lives = new Map([
      ["main", { from: 0, to: 50, spans: [] }],
      ["late", { from: 20, to: 90, spans: [] }],
      ["early", { from: 20, to: 30, spans: [] }],
    ]);
    expect(parts(criticalPath("main", untilLastEnd("main", lives)))).toEqual([
      ["main", 0, 20],
      ["late", 20, 90],
    ]);
    expect(untilLastEnd("main", new Map([["main", undefined]]))("main")).toBeUndefined();
  });

  it("is empty for an unknown agent", () => {
    expect(pathOf({})).toEqual([]);
  });
});
