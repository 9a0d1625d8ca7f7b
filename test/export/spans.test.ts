/**
 * Spans of every recording: complete, without duplicates, at the times of the records; and the same if read
 * incrementally.
 */
import { describe, expect, it } from "vitest";
import { Library } from "../../src/app/ingest/library.ts";
import { listPrice } from "../../src/app/query/prices.ts";
import { byTime } from "../../src/core/facts/observation.ts";
import { totalTokens } from "../../src/core/facts/usage.ts";
import { agentOf, type Forest, subtreeOf } from "../../src/core/link/forest.ts";
import { link } from "../../src/core/link/link.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { criticalPath, lifeOf } from "../../src/core/views/critical-path.ts";
import { treeOf } from "../../src/core/views/record.ts";
import type { Span } from "../../src/core/views/span.ts";
import { spansOf } from "../../src/core/views/spans.ts";
import { SpanBoard } from "../../src/server/span-board.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { allFacts } from "../support/facts.ts";
import { homeEnv, RECORDED, recordedHome, recordedHomes } from "../support/fixtures.ts";

const NOW = Date.UTC(2030, 0);

async function libraryOf(home: string): Promise<Library> {
  const library = new Library({
    env: homeEnv(home),
    store: new MemoryStore(),
    price: listPrice,
    now: () => NOW,
    liveness: () => "unknown",
  });
  await library.refresh();
  return library;
}

function* recordsIn(tree: AgentTree): Generator<AgentTree> {
  yield tree;
  for (const child of tree.children) yield* recordsIn(child);
}

describe.each(RECORDED.map(({ name }) => name))("spans in recordings of %s", (provider) => {
  it.each(recordedHomes(provider))("$name", async ({ home }) => {
    const library = await libraryOf(home);
    for (const forest of library.forests()) for (const root of forest.roots) checkTree(forest, root);
  });
});

function checkTree(forest: Forest, root: Forest["roots"][number]): void {
  const records = new Map([...recordsIn(treeOf(forest, root, listPrice))].map((record) => [record.uri, record]));
  const rootUri = agentOf(forest, root).uri;
  const spans = new Map(subtreeOf(forest, root).map((key) => [agentOf(forest, key).uri, spansOf(forest, key)]));
  expect([...spans.keys()].sort()).toEqual([...records.keys()].sort());
  for (const [uri, list] of spans) {
    const { usage, startedAt, status, counts } = records.get(uri) as AgentTree;
    const { calls } = agentOf(forest, subtreeOf(forest, root).find((key) => agentOf(forest, key).uri === uri) as never);
    const timed = [...calls].every((call) => call.at !== null);
    if (timed) expect([uri, list.reduce((sum, span) => sum + span.tokens, 0)]).toEqual([uri, totalTokens(usage.own)]);
    const tools = list.filter((span) => span.callId !== null);
    expect(new Set(tools.map((span) => span.callId)).size).toBe(tools.length);
    expect(tools.length).toBeLessThanOrEqual(counts.toolCalls);
    for (const span of list) {
      expect(span.to ?? span.from).toBeGreaterThanOrEqual(span.from);
      expect(span.from).toBeGreaterThanOrEqual(Date.parse(startedAt ?? "") || 0);
      if (status !== "running") expect(span.to).not.toBeNull();
      for (const other of span.agents) expect(records.get(other)?.parent === uri || uri === rootUri).toBe(true);
    }
    expect(list.map((span) => span.from)).toEqual(list.map((span) => span.from).toSorted((a, b) => a - b));
  }
  checkPath(records, spans, records.get(agentOf(forest, root).uri) as AgentTree);
}

function checkPath(
  records: ReadonlyMap<string, AgentTree>,
  spans: ReadonlyMap<string, readonly Span[]>,
  root: AgentTree,
): void {
  const livesAs = (uri: string) => lifeOf(records.get(uri) as AgentTree, spans.get(uri) ?? [], NOW);
  const path = criticalPath(root.uri, livesAs);
  for (const [i, part] of path.entries()) if (i > 0) expect(part.from).toBe(path[i - 1]?.to);
  if (path.length > 0) expect(path.at(-1)?.to).toBe(livesAs(root.uri)?.to);
}

describe("spans of a known recording", () => {
  it("show three concurrent agents, and the parent waiting for all of them", async () => {
    const library = await libraryOf(recordedHome("claude", "b-parallel3").home);
    const [forest] = [...library.forests()];
    const [root] = forest?.roots ?? [];
    if (forest === undefined || root === undefined) throw new Error("there is one thread");
    const { children } = treeOf(forest, root, listPrice);
    const waits = spansOf(forest, root).filter((span) => span.kind === "wait");
    expect(waits.flatMap((span) => span.agents).sort()).toEqual(children.map((child) => child.uri).sort());
    for (const wait of waits) {
      const child = children.find((one) => one.uri === wait.agents[0]);
      expect(wait.from).toBeLessThanOrEqual(Date.parse(child?.startedAt ?? ""));
      expect(wait.to).toBeGreaterThanOrEqual(Date.parse(child?.endedAt ?? ""));
    }
  });
});

describe("spans that are read incrementally", () => {
  it.each([
    ["claude", "c3-nested-parallel"],
    ["claude", "u-nested-bg"],
    ["codex", "v2-nested"],
    ["opencode", "nested"],
  ])("equal those that are read at once: %s %s", async (provider, name) => {
    const library = await libraryOf(recordedHome(provider, name).home);
    const [forest] = [...library.forests()];
    const [root] = forest?.roots ?? [];
    if (root === undefined) throw new Error("there is one thread");
    const facts = allFacts(library.store.facts([root], library.under)).toSorted(byTime);
    const board = new SpanBoard();
    const streamed = new Map<string, Span[]>();
    let after: string | undefined;
    let sent = 0;
    const PIECES = 12;
    for (let piece = 1; piece <= PIECES; piece += 1) {
      const known = link(facts.slice(0, Math.ceil((facts.length * piece) / PIECES)), {
        now: NOW,
        liveness: () => "unknown",
      });
      if (!known.agents.has(root)) continue;
      const { items, next, whole } = board.spansSince(known, root, after);
      expect(whole).toBe(after === undefined);
      for (const { uri, first, removed, spans } of items) {
        const list = streamed.get(uri) ?? [];
        expect(first + (removed ?? 0)).toBeLessThanOrEqual(list.length);
        list.splice(first, removed ?? list.length, ...spans);
        streamed.set(uri, list);
        sent += spans.length;
      }
      after = next;
    }
    const all = link(facts, { now: NOW, liveness: () => "unknown" });
    const atOnce = new SpanBoard().spansSince(all, root, undefined);
    for (const { uri, spans } of atOnce.items) expect(streamed.get(uri)).toEqual(spans);
    // Unchanged spans are not sent again.
    expect(sent).toBeLessThan(4 * atOnce.items.reduce((sum, item) => sum + item.spans.length, 0));
    expect(board.spansSince(all, root, board.spansSince(all, root, after).next).items).toEqual([]);
    expect(board.spansSince(all, root, "of-another-board-3").whole).toBe(true);
  });
});
