/**
 * Spans that grow with the records: after every append they equal spans computed from scratch, and an append
 * costs only its own records.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import { type AgentKey, fileOf } from "../../src/core/facts/ids.ts";
import type { Observation } from "../../src/core/facts/observation.ts";
import { FileFacts } from "../../src/core/link/file-facts.ts";
import type { Forest } from "../../src/core/link/forest.ts";
import { type LinkOptions, link } from "../../src/core/link/link.ts";
import { byPlace } from "../../src/core/link/totals.ts";
import type { Span } from "../../src/core/views/span.ts";
import { spansOf, Timeline } from "../../src/core/views/spans.ts";
import { SpanBoard } from "../../src/server/span-board.ts";
import { caseNames, homeEnv, RECORDED, recordedHome, someOf } from "../support/fixtures.ts";
import { history } from "../support/history.ts";
import {
  agent,
  answer,
  call,
  callSpawned,
  lifecycle,
  notebook,
  record,
  spawnCalled,
  thread,
} from "../support/observations.ts";

/** Files that grow, linked as of a moment after their last record. */
class Growing {
  readonly #files = new Map<string, { readonly facts: FileFacts; readonly all: Observation[] }>();
  #last = 0;

  /** Facts of one file are in the order of that file. */
  add(facts: readonly Observation[]): void {
    for (const [path, more] of Map.groupBy(facts, ({ id }) => fileOf(id))) {
      const all = this.#files.get(path)?.all ?? [];
      const file = this.#files.get(path) ?? { facts: new FileFacts(path, () => all), all };
      this.#files.set(path, file);
      for (const fact of more) all.push(fact);
      file.facts.add(more);
    }
    this.#last = facts.reduce((last, { at }) => Math.max(last, at ?? 0), this.#last);
  }

  link(options: Partial<LinkOptions> = {}): Forest {
    const files = [...this.#files.values()].map(({ facts }) => facts);
    const rare = files.flatMap(({ observations }) => observations);
    const folds = files.flatMap((facts) => facts.folds);
    return link(rare, { now: this.#last + 1_000, liveness: () => "unknown", ...options }, folds);
  }
}

/** Counts how often spans were extended, and how often they had to be recomputed although the agent was folded. */
const count = { advanced: 0, anew: 0 };

/** `kept`: how many responses and calls a timeline keeps in full. */
function compare(
  facts: readonly Observation[],
  pieces: number,
  options: Partial<LinkOptions> = {},
  kept?: number,
): void {
  const growing = new Growing();
  const timelines = new Map<AgentKey, { readonly timeline: Timeline; readonly spans: Span[] }>();
  const size = Math.max(1, Math.ceil(facts.length / pieces));
  for (let from = 0; from < facts.length; from += size) {
    growing.add(facts.slice(from, from + size));
    const forest = growing.link(options);
    for (const key of forest.agents.keys()) {
      const known = timelines.get(key);
      const edits = known?.timeline.advance(forest) ?? null;
      if (known === undefined || edits === null) {
        if (known !== undefined && known.timeline.length > 0 && forest.agents.get(key)?.stepsSince !== undefined)
          count.anew += 1;
        const timeline = new Timeline(forest, key, kept);
        timelines.set(key, { timeline, spans: timeline.spans });
        continue;
      }
      count.advanced += 1;
      for (const { first, removed, spans } of edits) known.spans.splice(first, removed, ...spans);
      const whole = spansOf(forest, key);
      expect(known.timeline.spans).toEqual(whole);
      expect(known.spans).toEqual(whole);
    }
  }
}

describe.each(RECORDED.map(({ name }) => name))("recordings of %s", (provider) => {
  it.each(someOf(caseNames(provider)))("%s: the same spans after every append", async (name) => {
    const { home } = recordedHome(provider, name);
    const { library } = await readMachine({ env: homeEnv(home) });
    const rows = library.store.roots({ under: library.under, limit: Number.MAX_SAFE_INTEGER });
    const threads = library.store.related(rows.map(({ key }) => key));
    const facts = library.store.facts(threads, library.under).observations.toSorted(byPlace);
    compare(facts, 7);
    compare(facts, 5, {}, 1);
    expect(facts.length).toBeGreaterThan(0);
  });
});

it("in recordings, nearly every append extends the spans", () => {
  expect(count.anew).toBeLessThan(count.advanced / 50);
});

// --- generated histories

const THREAD = thread("t");
const CHILDREN = ["a", "b", "c"].map((id) => agent("t", id));
const IDS = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

/** The next events of a thread, and the time between them. Occasionally a record is written late. */
const happening = fc.record({
  after: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 4 }) }, { weight: 1, arbitrary: fc.constant(-3) }),
  by: fc.constantFrom(THREAD, THREAD, THREAD, ...CHILDREN),
  what: fc.constantFrom(
    "ask",
    "note",
    "say",
    "say",
    "call",
    "call",
    "result",
    "result",
    "spawn",
    "end",
    "resume",
    "wait",
    "answer",
    "lone",
  ),
  response: fc.integer({ min: 0, max: 6 }),
  id: fc.constantFrom(...IDS),
  isError: fc.boolean(),
});

function written(
  happenings: readonly { after: number; by: AgentKey; what: string; response: number; id: string; isError: boolean }[],
) {
  const book = notebook();
  let at = 100;
  for (const [i, { after, by, what, response, id, isError }] of happenings.entries()) {
    at += after;
    // Responses are sequential, with an occasional row that belongs to the previous one.
    const name = `${by} m${Math.max(0, Math.floor(i / 6) - (response === 0 ? 1 : 0))}`;
    const where = { by, at, keys: [`r${i}`, name] };
    const child = CHILDREN[response % CHILDREN.length] as AgentKey;
    const tool = { call: call(id), name: "Read" };
    if (what === "ask")
      book.see({ by, at, keys: [`r${i}`] }, record({ role: "user", state: isError ? "interrupted" : "open" }));
    if (what === "note") book.see({ by, at, keys: [`r${i}`] }, record({ role: "other", state: null }));
    if (what === "say") book.see(where, record({ state: isError ? null : "answered", text: "words" }));
    if (what === "say" || what === "answer") book.see(where, answer(name, i));
    if (what === "lone") book.see({ by, at }, answer(`lone ${i}`, i));
    if (what === "call") book.see(where, record({ state: "open", calls: [tool] }));
    if (what === "wait")
      book.see(where, record({ state: "open", calls: [{ ...tool, name: "Wait", awaitsAgents: true }] }));
    if (what === "result")
      book.see(
        { by, at, keys: [`r${i}`] },
        record({ role: "user", state: "open", results: [{ call: call(id), isError }] }),
      );
    if (what === "spawn") {
      book.see({ ...where, by: THREAD }, record({ state: "open", calls: [{ ...tool, name: "Spawn" }] }));
      book.see({ ...where, by: THREAD }, spawnCalled(id));
      book.see({ by: THREAD, at }, callSpawned(id, child));
    }
    if (what === "end") book.see({ by: THREAD, at }, lifecycle(child, isError ? "errored" : "completed"));
    if (what === "resume") book.see({ by: THREAD, at }, lifecycle(child, isError ? "launched" : "revived"));
  }
  return book.observations;
}

describe("generated histories", () => {
  it("of a thread that spawns, waits and receives messages: the same spans after every append", () => {
    fc.assert(
      fc.property(
        fc.array(happening, { minLength: 5, maxLength: 60 }),
        fc.integer({ min: 5, max: 60 }),
        (happenings, pieces) => {
          compare(written(happenings), pieces);
          compare(written(happenings), pieces, {}, 0);
          compare(written(happenings), pieces, {}, 2);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("of any complexity: the same spans after every append", () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 12 }), ({ observations, manual }, pieces) => {
        compare(observations.toSorted(byPlace), pieces, { manual });
        compare(observations.toSorted(byPlace), pieces, { manual }, 0);
      }),
      { numRuns: 30 },
    );
  });
});

describe("an append", () => {
  /** A turn of a thread: an input, a response with a tool call, and its result. */
  function turn(book: ReturnType<typeof notebook>, i: number) {
    const [at, keys] = [10 * i, [`r${i}`, `m${i}`]];
    book.see({ by: THREAD, at, keys: [`u${i}`] }, record({ role: "user", state: "open" }));
    book.see(
      { by: THREAD, at: at + 2, keys },
      record({ state: "open", calls: [{ call: call(`t${i}`), name: "Read" }] }),
    );
    book.see({ by: THREAD, at: at + 2, keys }, answer(`m${i}`, i));
    const result = { call: call(`t${i}`), isError: false };
    // Some calls never get a result.
    if (i % 10 !== 0)
      book.see({ by: THREAD, at: at + 5, keys: [`s${i}`] }, record({ role: "user", state: "open", results: [result] }));
  }

  /** The most work that one turn causes in a thread of so many turns, with a client that follows. */
  function workOf(turns: number) {
    const book = notebook();
    const growing = new Growing();
    const board = new SpanBoard();
    for (let i = 0; i < turns; i += 1) turn(book, i);
    growing.add(book.observations);
    let { next } = board.spansSince(growing.link(), THREAD, undefined);
    const most = { computed: 0, sent: 0 };
    for (let i = turns; i < turns + 20; i += 1) {
      const [known, before] = [book.observations.length, { ...board.work }];
      turn(book, i);
      growing.add(book.observations.slice(known));
      ({ next } = board.spansSince(growing.link(), THREAD, next));
      most.computed = Math.max(most.computed, board.work.computed - before.computed);
      most.sent = Math.max(most.sent, board.work.sent - before.sent);
    }
    return most;
  }

  it("computes and sends as many spans in a thread of 5,000 records as in one of 200", () => {
    const [small, large] = [workOf(60), workOf(1_300)];
    expect(large).toEqual(small);
    expect(small.computed).toBeLessThan(20);
    expect(small.sent).toBeLessThan(8);
  });
});
