/**
 * The contract of all catalogs: the local one and those of team servers answer alike. The expected answers are computed
 * from the library that the catalog was filled from.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { explainAgent, filesOfAgent } from "../../src/app/explain/explain.ts";
import { Failure } from "../../src/app/failure.ts";
import type { Library } from "../../src/app/ingest/library.ts";
import { explain } from "../../src/app/query/why.ts";
import { agentOf, subtreeOf } from "../../src/core/link/forest.ts";
import type { Catalog, ChangeStream, Follow, LiveMessage } from "../../src/core/ports/catalog.ts";
import type { AgentRecord } from "../../src/core/views/agent.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { messagesIn } from "../../src/core/views/messages.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { spansOf } from "../../src/core/views/spans.ts";
import { statsBy, statsTotal } from "../../src/core/views/stats-sums.ts";
import { filesBelow, recordedHome } from "../support/fixtures.ts";
import { localEvents } from "../support/local-events.ts";
import { libraryIn } from "../support/shipping.ts";

export interface OpenCatalog {
  readonly catalog: Catalog;
  /** Brings what the library has read since into the catalog. */
  update(): Promise<void>;
  close(): Promise<void>;
}

/** Fills a catalog from a library that was read. */
export type FillCatalog = (library: Library) => Promise<OpenCatalog>;

const NOW = Date.UTC(2030, 0);
const FOLLOW_NOTHING: Follow = { threads: false, trees: [], events: [], logs: [], cards: false, spans: [] };
const CASES = [
  ["claude", "c3-nested-parallel"],
  ["claude", "m-sendmessage"],
  ["codex", "v2-nested"],
] as const;

/** JSON, without what only team servers add. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, item: unknown) => (key === "owner" ? undefined : item)));
}

function homeOf(cases: readonly (readonly [string, string])[]): string {
  const scratch = mkdtempSync(join(tmpdir(), "retinue-catalog-"));
  const home = join(scratch, "home");
  mkdirSync(home);
  for (const [provider, name] of cases)
    cpSync(recordedHome(provider, name).home, home, { recursive: true, preserveTimestamps: true });
  return home;
}

export function catalogContract(name: string, fill: FillCatalog): void {
  describe(`the catalog ${name}`, () => {
    let home: string;
    let library: Library;
    let open: OpenCatalog;
    let catalog: Catalog;
    beforeAll(async () => {
      home = homeOf(CASES);
      library = libraryIn(home, () => NOW);
      await library.refresh();
      open = await fill(library);
      ({ catalog } = open);
    });
    afterAll(async () => {
      await open.close();
      rmSync(join(home, ".."), { recursive: true });
    });

    const roots = () => [...library.threads({})];
    const forestAt = (uri: string) => {
      for (const forest of library.forests())
        for (const [key, agent] of forest.agents) if (agent.uri === uri) return { forest, key };
      throw new Error(`no agent ${uri}`);
    };
    /** Every thread, and its first agent. */
    const uris = () =>
      roots().flatMap(({ uri }) => {
        const { forest, key } = forestAt(uri);
        return subtreeOf(forest, key)
          .slice(0, 2)
          .map((one) => agentOf(forest, one).uri);
      });
    const failure = async (asked: Promise<unknown>) => {
      const error: unknown = await asked.then(
        () => null,
        (reason: unknown) => reason,
      );
      return error instanceof Failure ? error.code : error;
    };

    it("lists threads by pages, newest activity first, each once", async () => {
      const found: AgentRecord[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await catalog.threads({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
        expect(page.items.length).toBeLessThanOrEqual(2);
        found.push(...page.items);
        cursor = page.next;
      }
      expect(plain(found)).toEqual(plain(roots()));
      expect(await failure(catalog.threads({ limit: 2, cursor: "nonsense" }))).toBe("usage");
    });

    it("filters threads", async () => {
      const [first] = roots();
      const filters = [
        { provider: "codex" },
        { provider: "nobody" },
        { status: first?.status ?? "completed" },
        { running: true },
        { project: first?.project ?? "" },
        { cwd: first?.cwd ?? "" },
        { cwd: `${first?.cwd}-other` },
        { since: Date.parse(first?.lastActivityAt ?? "") },
      ];
      for (const filter of filters) {
        const { items, next } = await catalog.threads({ ...filter, limit: 100 });
        expect([filter, plain(items)]).toEqual([filter, plain([...library.threads(filter)])]);
        expect(next).toBeNull();
      }
    });

    it("gives the tree of a thread and of an agent", async () => {
      for (const uri of uris()) {
        const { forest, key } = forestAt(uri);
        expect(plain((await catalog.tree(uri)).tree)).toEqual(plain(treeOf(forest, key, library.price)));
      }
    });

    it("accepts other forms of a URI", async () => {
      const [first] = roots();
      const [uri, id] = [first?.uri ?? "", first?.sessionId ?? ""];
      expect((await catalog.tree(id)).tree.uri).toBe(uri);
      expect((await catalog.tree(id.slice(0, -2))).tree.uri).toBe(uri);
      expect((await catalog.tree("latest")).tree.uri).toBe(uri);
      expect((await catalog.tree(`${first?.provider}://latest`)).tree.uri).toBe(uri);
    });

    it("refuses URIs that name nothing, and those that are malformed", async () => {
      const absent = "claude://00000000-0000-4000-8000-000000000000";
      for (const asked of [
        () => catalog.tree(absent),
        () => catalog.events(absent, { limit: 1, subtree: false }),
        () => catalog.event(absent, "x"),
        () => catalog.detail(absent, "why"),
        () => catalog.spans(absent, null),
        () => catalog.changes({ ...FOLLOW_NOTHING, trees: [absent] }, null, new AbortController().signal),
      ])
        expect(await failure(asked())).toBe("not_found");
      expect(await failure(catalog.tree("nobody://x"))).toBe("usage");
      expect(await failure(catalog.tree("claude://a/b/c"))).toBe("usage");
    });

    it("pages through the events of an agent", async () => {
      for (const uri of uris()) {
        const { forest, key } = forestAt(uri);
        const expected = plain(await localEvents(library, forest, key)) as AgentEvent[];
        const found: AgentEvent[] = [];
        let after: string | undefined;
        for (;;) {
          const page = await catalog.events(uri, {
            limit: 3,
            subtree: false,
            ...(after === undefined ? {} : { after }),
          });
          if (page === null) throw new Error("the cursor has expired");
          expect([page.first, page.total]).toEqual([found.length, expected.length]);
          found.push(...page.items);
          after = page.next;
          if (page.items.length === 0) break;
        }
        expect(plain(found)).toEqual(expected);
        const last = await catalog.events(uri, { limit: 10, subtree: false, from: -2 });
        expect(plain(last?.items)).toEqual(expected.slice(-2));
        const [first] = expected;
        expect(plain(await catalog.event(uri, first?.id ?? ""))).toEqual(first);
        expect(await catalog.event(uri, "no such event")).toBeNull();
        expect(await catalog.events(uri, { limit: 1, subtree: false, after: "another-1" })).toBeNull();
      }
    });

    it("merges the events of a subtree by time, those of the same time in the order of the tree", async () => {
      const timeOf = ({ at }: AgentEvent) => Date.parse(at ?? "") || 0;
      for (const { uri } of roots()) {
        const { forest, key } = forestAt(uri);
        const logs = await Promise.all(subtreeOf(forest, key).map((one) => localEvents(library, forest, one)));
        const expected = logs.flat().sort((a, b) => timeOf(a) - timeOf(b));
        const name = (event: AgentEvent) => `${event.uri} ${event.id}`;
        const whole = await catalog.events(uri, { limit: 1_000, subtree: true });
        expect(whole?.items.map(name)).toEqual(expected.map(name));
        expect(whole?.total).toBe(expected.length);
        const part = await catalog.events(uri, { limit: 3, from: 2, subtree: true });
        expect(part?.items.map(name)).toEqual(expected.slice(2, 5).map(name));
        // The parent says that it spawned an agent before that agent says anything.
        for (const [i, { spawn }] of (whole?.items ?? []).entries())
          if (spawn !== null) expect(whole?.items.slice(0, i).filter((event) => event.uri === spawn.uri)).toEqual([]);
      }
    });

    it("gives evidence, messages, findings and files", async () => {
      for (const uri of uris()) {
        const { forest, key } = forestAt(uri);
        expect(plain(await catalog.detail(uri, "why"))).toEqual(plain(explain(forest, agentOf(forest, key))));
        expect(plain(await catalog.detail(uri, "messages"))).toEqual(plain(messagesIn(forest, key)));
        expect(plain(await catalog.detail(uri, "explain"))).toEqual(plain(await explainAgent(library, forest, key)));
        expect(plain(await catalog.detail(uri, "files"))).toEqual(plain(await filesOfAgent(library, forest, key)));
      }
    });

    it("gives the spans of a subtree, and only changes later", async () => {
      for (const uri of uris()) {
        const { forest, key } = forestAt(uri);
        const { items, next, whole } = await catalog.spans(uri, null);
        expect(whole).toBe(true);
        const expected = subtreeOf(forest, key).map((one) => [agentOf(forest, one).uri, spansOf(forest, one)]);
        expect(plain(items.map((item) => [item.uri, item.spans]))).toEqual(plain(expected));
        expect(new Set(items.map(({ first, removed }) => `${first} ${removed}`))).toEqual(new Set(["0 null"]));
        const again = await catalog.spans(uri, next);
        if (!again.whole) expect(again.items.flatMap(({ spans }) => spans)).toEqual([]);
      }
    });

    it("finds words, the last one by its beginning", async () => {
      const [{ uri } = { uri: "" }] = roots();
      const { forest, key } = forestAt(uri);
      const [prompt] = (await localEvents(library, forest, key)).filter(({ kind }) => kind === "user");
      const [word = ""] = prompt?.text?.match(/\p{L}{4,}/u) ?? [];
      const { items, incomplete } = await catalog.search([word], 50);
      expect(incomplete).toBeNull();
      expect(items.map((item) => item.uri)).toContain(uri);
      for (const { snippet, marks } of items)
        for (const [from, to] of marks) expect(snippet.slice(from, to).toLowerCase()).toContain(word.toLowerCase());
      expect((await catalog.search([word.slice(0, -1)], 50)).items.map((item) => item.uri)).toContain(uri);
      expect((await catalog.search(["xyzzyqwertz"], 50)).items).toEqual([]);
    });

    it("sums usage", async () => {
      const rows = [...library.store.spent(library.under, null)];
      const { total, by, incomplete, threads } = await catalog.stats({
        since: null,
        by: ["model", "provider", "day"],
        behind: { by: "provider", key: "claude", limit: 10 },
      });
      expect(incomplete).toBeNull();
      expect(plain(total)).toEqual(plain(statsTotal(rows)));
      for (const group of ["model", "provider", "day"] as const)
        expect(plain(by[group])).toEqual(plain(statsBy(rows, group)));
      expect(threads.map(({ key }) => key).sort()).toEqual(
        roots()
          .filter(({ provider }) => provider === "claude")
          .map(({ uri }) => uri)
          .sort(),
      );
      for (const { key, record } of threads) expect(record?.uri).toBe(key);
      const none = await catalog.stats({ since: NOW, by: [], behind: null });
      expect(none.total.agents).toBe(0);
      expect(none.live).toBe((await catalog.threads({ limit: 1 })).live);
    });

    it("reports its health", async () => {
      const { reading, troubles, live } = await catalog.health();
      expect([reading, troubles]).toEqual([null, []]);
      expect(live).not.toBe("");
    });
  });

  describe(`the changes of the catalog ${name}`, () => {
    let close: () => Promise<void> = async () => {};
    afterEach(() => close());

    /** A thread of which the last lines are not written yet. */
    async function growing() {
      const home = homeOf([["claude", "c-nested"]]);
      const library = libraryIn(home, () => NOW);
      const files = filesBelow(home)
        .filter((file) => file.endsWith(".jsonl"))
        .map((file) => join(home, file));
      const [path = ""] = files.toSorted((a, b) => statSync(b).size - statSync(a).size);
      const whole = readFileSync(path);
      truncateSync(path, whole.subarray(0, Math.floor(whole.length / 2)).lastIndexOf("\n") + 1);
      await library.refresh();
      const open = await fill(library);
      const stop = new AbortController();
      close = async () => {
        stop.abort();
        await open.close();
        rmSync(join(home, ".."), { recursive: true });
      };
      const grow = async () => {
        writeFileSync(path, whole);
        await open.update();
      };
      const [{ uri } = { uri: "" }] = [...library.threads({})];
      return { library, catalog: open.catalog, grow, uri, stop };
    }

    async function messagesUntil(stream: ChangeStream, isLast: (all: readonly LiveMessage[]) => boolean) {
      const all: LiveMessage[] = [];
      while (!isLast(all)) {
        const next = await stream.next();
        if (next.length === 0) throw new Error(`the stream ended after ${JSON.stringify(all)}`);
        all.push(...next);
      }
      return all;
    }

    it("continue an answer: records and events that follow it", async () => {
      const { catalog, grow, uri, stop, library } = await growing();
      const before = await catalog.events(uri, { limit: 1_000, subtree: true });
      const { live } = await catalog.tree(uri);
      const follow = { ...FOLLOW_NOTHING, threads: true, trees: [uri], logs: [uri] };
      const stream = await catalog.changes(follow, live, stop.signal);
      expect(stream.first.type).toBe("ready");
      await grow();
      const forest = library.forestOf([...library.threadRows({})].map(({ place }) => place.key));
      const [root] = forest.roots;
      if (root === undefined) throw new Error("no thread");
      const tree = treeOf(forest, root, library.price);
      const all = await messagesUntil(stream, (messages) =>
        messages.some(
          ({ type, data }) =>
            type === "agent" &&
            (JSON.parse(data) as AgentRecord).uri === uri &&
            (JSON.parse(data) as AgentRecord).counts.messages === tree.counts.messages,
        ),
      );
      const after = await catalog.events(uri, { limit: 1_000, subtree: true });
      const isReset = all.some(({ type }) => type === "reset");
      const known = new Set(before?.items.map(({ id }) => id));
      const fresh =
        after?.items.filter(({ id, kind }) => !known.has(id) && kind !== "status").map(({ id }) => id) ?? [];
      const sent = all.filter(({ type }) => type === "event").map(({ data }) => (JSON.parse(data) as AgentEvent).id);
      expect(fresh.length).toBeGreaterThan(0);
      if (!isReset) for (const id of fresh) expect(sent).toContain(id);
      expect(new Set(sent).size).toBe(sent.length);
    });

    it("are continued after the last id, and reset for an id of another catalog", async () => {
      const { catalog, grow, uri, stop } = await growing();
      const follow = { ...FOLLOW_NOTHING, trees: [uri] };
      const first = await catalog.changes(follow, null, stop.signal);
      await grow();
      const [message] = await first.next();
      const rest = await catalog.changes(follow, first.first.id, stop.signal);
      expect(rest.first.type).toBe("ready");
      expect((await rest.next()).map(({ id }) => id)).toContain(message?.id);
      expect((await catalog.changes(follow, "ffffffffffff-1", stop.signal)).first.type).toBe("reset");
    });

    it("end when the client leaves", async () => {
      const { catalog, uri, stop } = await growing();
      const stream = await catalog.changes({ ...FOLLOW_NOTHING, trees: [uri] }, null, stop.signal);
      const waiting = stream.next();
      stop.abort();
      expect(await waiting).toEqual([]);
    });
  });
}
