/** The contract of all providers. Called once for each product in the list. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { importFile } from "../../src/app/import/import.ts";
import { type Machine, readMachine } from "../../src/app/machine.ts";
import { threadKey } from "../../src/core/facts/ids.ts";
import type { Observation } from "../../src/core/facts/observation.ts";
import { link } from "../../src/core/link/link.ts";
import { agentsIn } from "../../src/core/link/mentions.ts";
import type { Findings, Provider } from "../../src/core/ports/provider.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { homeEnv, recordedHomes } from "../support/fixtures.ts";
import { junkRecords, telling, withoutEachText } from "./junk.ts";
import { type FixtureSource, fixtureSources, placeIn, readAll } from "./sources.ts";

const ROOT = join(import.meta.dirname, "../..");
const RUNS = Number(process.env.RETINUE_RUNS ?? 100);
const MISPLACED_IN = 20;

export function providerContract(provider: Provider, fixtures: string): void {
  describe(`the provider ${provider.name}`, () => {
    let sources: FixtureSource[] = [];
    let findings: (readonly Findings[])[] = [];
    beforeAll(() => {
      sources = fixtureSources(provider, fixtures);
      findings = sources.map(readAll);
    });

    it("has fixtures that it can read", () => {
      const found = findings.flat();
      // Fixtures without a home contain only notes.
      const isSmall = provider.roots({}, "/home/dev").length === 0;
      expect(found.flatMap((f) => f.observations).length).toBeGreaterThan(isSmall ? 10 : 100);
      expect(found.flatMap((f) => f.problems)).toEqual([]);
    });

    it("states the product version that its format was checked with, and when", () => {
      const page = readFileSync(join(ROOT, provider.docs), "utf8");
      expect(page).toMatch(/\d+\.\d+\.\d+/);
      expect(page).toMatch(/checked[^\n]*\b20\d\d-\d\d-\d\d\b/i);
    });

    it("gives the same findings for the same records", () => {
      expect(sources.map(readAll)).toEqual(findings);
    });

    it("gives the same findings for existing records after the file has grown", () => {
      for (const [i, source] of sources.entries()) {
        const half = Math.ceil(source.records.length / 2);
        expect(readAll({ ...source, records: source.records.slice(0, half) })).toEqual(findings[i]?.slice(0, half));
      }
    });

    it("goes on after every record from its saved state, which is plain data", () => {
      for (const [i, source] of sources.entries()) {
        let saved: unknown;
        const found = source.records.map((record, at) => {
          const parser = source.stream.open(source.file, saved);
          const read = parser.push(record, ...placeIn(source, at));
          saved = JSON.parse(JSON.stringify(parser.save() ?? null)) ?? undefined;
          return read;
        });
        expect(found, source.name).toEqual(findings[i]);
      }
    });

    it("gives every observation of a file a unique id", () => {
      for (const found of findings) {
        const ids = found.flatMap((f) => f.observations.map((o) => o.id));
        expect(new Set(ids).size).toBe(ids.length);
      }
    });

    it("recognises the ids of its own threads and agents", () => {
      const threads = recordedHomes(provider.name, fixtures).flatMap((home) => home.threads);
      expect(threads.map((t) => t.root).filter((id) => !provider.isThreadId(id))).toEqual([]);
      const agents = threads.flatMap((t) => t.agents.flatMap((a) => a.agentId ?? []));
      expect(agents.filter((id) => !provider.isAgentId(id))).toEqual([]);
    });

    it("never throws, whatever the bytes, and returns only plain data", () => {
      fc.assert(
        fc.property(fc.array(junkRecords(sources), { minLength: 1, maxLength: 4 }), (junk) => {
          const [{ source } = fail("no junk")] = junk;
          const parser = source.stream.open(source.file);
          junk.forEach(({ record }, i) => {
            const found = parser.push(record, ...placeIn(source, i));
            expectPlain(found);
            expectPlain(parser.events(record, ...placeIn(source, i)));
          });
        }),
        { numRuns: RUNS },
      );
    });

    it("gives facts from which a tree can be built, even if some records are junk", () => {
      fc.assert(
        fc.property(fc.array(junkRecords(sources), { minLength: 1, maxLength: 6 }), fc.nat(), (junk, at) => {
          const observations = junk.flatMap(({ source, record }): readonly Observation[] => {
            const parser = source.stream.open(source.file);
            const records =
              source.stream.shape === "document" ? [record] : source.records.slice(0, 20).toSpliced(at % 20, 0, record);
            return records.flatMap((one, i) => parser.push(one, ...placeIn(source, i)).observations);
          });
          const forest = link(observations, { now: Date.now(), liveness: () => "unknown" });
          for (const root of forest.roots) expect(JSON.stringify(treeOf(forest, root, () => 0))).toContain('"schema"');
        }),
        { numRuns: RUNS / 4 },
      );
    });

    it("names no agent and no thread with an empty id, even if records lack an id or are in another file", () => {
      const samples = telling(sources);
      const homes = [...new Map(samples.map(({ source }) => [source.name.replace(/[^/]*$/, ""), source])).values()];
      const nameless = new Set<string>();
      const read = (source: FixtureSource, record: Uint8Array, before: readonly Uint8Array[]) => {
        const parser = source.stream.open(source.file);
        const records = source.stream.shape === "document" ? [record] : [...before, record];
        const found = records.flatMap((one, i) => parser.push(one, ...placeIn(source, i)).observations);
        for (const o of found)
          for (const agent of agentsIn(o))
            if (/[:/]\s*$|:\s*\//.test(agent))
              nameless.add(`${o.type} of ${JSON.stringify(agent)}: ${new TextDecoder().decode(record).slice(0, 400)}`);
      };
      for (const { source, record } of samples) {
        const at = source.records.indexOf(record);
        for (const without of withoutEachText(record))
          read(source, without, source.records.slice(Math.max(0, at - 9), at));
        for (const other of homes.slice(0, MISPLACED_IN)) read(other, record, []);
      }
      expect([...nameless].slice(0, 9)).toEqual([]);
    });

    it("reports a last line that is still being written, and shows everything before it", async () => {
      const lines = sources.filter((s) => s.stream.shape === "lines" && !s.name.includes("/recordings/"));
      const source = lines.find((s) => s.records.length > 4);
      if (source === undefined) return expect(lines).toEqual([]);
      const [whole, cut] = [await grownTo(source, 0), await grownTo(source, 20)];
      expect(whole.problems).toEqual([]);
      expect(cut.problems.map((p) => [p.code, p.where])).toEqual([
        ["line-unfinished", `${cut.path}:${source.records.length}`],
      ]);
      expect(cut.agents).toBe(whole.agents);
    });

    it("treats a home without its product as empty", async () => {
      const home = tempHome();
      const machine = await readMachine({
        env: { ...homeEnv(home), RETINUE_HOME: join(home, "data") },
        providers: [provider],
      });
      expect(machine.problems).toEqual([]);
      expect([machine.forest.agents.size, machine.counts.files]).toEqual([0, 0]);
      expect(machine.roots.map((root) => root.exists)).not.toContain(true);
    });

    it("recognises junk only as files that it can read", () => {
      fc.assert(
        fc.property(
          junkRecords(sources),
          fc.constantFrom("a.jsonl", "agent-a.jsonl", ".jsonl", "", "..", "a/b"),
          ({ record }, name) => {
            const found = provider.portable?.recognise(name, record) ?? null;
            if (found !== null) expect(provider.stream(`${found.folder}/${found.file}`)).not.toBeNull();
            expect(`${found?.folder}/${found?.file}`).not.toMatch(/(^|\/)(\.{0,2})(\/|$)|[\\\u0000]/);
          },
        ),
        { numRuns: RUNS },
      );
    });

    it("reads an imported thread like the original", async () => {
      for (const { name, home, threads } of recordedHomes(provider.name, fixtures)) {
        const data = join(tempHome(), "data");
        const there = await readMachine({ env: { ...homeEnv(home), RETINUE_HOME: data }, providers: [provider] });
        const files = threads.flatMap(({ root }) => threadFile(there, provider, root) ?? []);
        const written = threads.filter(({ root }) =>
          there.forest.agents.get(threadKey(provider.name, root))?.files.some(({ path }) => isTranscript(there, path)),
        );
        expect(files, name).toHaveLength(provider.portable === undefined ? 0 : written.length);
        for (const path of files)
          await importFile(path, { env: { RETINUE_HOME: data }, replace: false, providers: [provider] });
        const here = await readMachine({
          env: { HOME: "/nowhere", RETINUE_HOME: data },
          providers: [provider],
          roots: new Map([[provider.name, []]]),
        });
        const trees = (machine: Machine) =>
          threads.map(({ root }) => {
            const key = machine.forest.agents.get(threadKey(provider.name, root))?.key;
            return key === undefined ? null : withoutPlaces(treeOf(machine.forest, key, () => 0));
          });
        expect(trees(here), name).toEqual(files.length === 0 ? threads.map(() => null) : trees(there));
      }
    });

    /** A home with one file of the fixtures, without its last `missing` bytes. */
    async function grownTo(source: FixtureSource, missing: number) {
      const home = tempHome();
      const inHome = source.name.slice(source.name.search(/\/home[^/]*\//)).replace(/^\/home[^/]*\//, "");
      const path = join(home, inHome);
      mkdirSync(dirname(path), { recursive: true });
      const text = Buffer.concat(source.records.flatMap((record) => [record, Buffer.from("\n")]));
      writeFileSync(path, text.subarray(0, text.length - missing));
      const machine = await readMachine({
        env: { ...homeEnv(home), RETINUE_HOME: join(home, "data") },
        providers: [provider],
      });
      return {
        path,
        problems: machine.problems.filter((p) => p.code !== "thread-missing"),
        agents: machine.forest.agents.size,
      };
    }
  });
}

const isTranscript = ({ library }: Machine, path: string) => library.source(path)?.stream.shape === "lines";

/** The portable one of the files that a thread was read from. */
function threadFile({ forest }: Machine, provider: Provider, thread: string): string | undefined {
  const files = forest.agents.get(threadKey(provider.name, thread))?.files ?? [];
  return files
    .map(({ path }) => path)
    .filter((path) => existsSync(path))
    .find((path) => provider.portable?.recognise(basename(path), readFileSync(path))?.thread === thread);
}

/** Everything in a tree that does not depend on the place of the files or on a process. */
function withoutPlaces({
  children,
  records,
  link: _link,
  statusReason: _reason,
  statusSource: _source,
  ...rest
}: AgentTree): unknown {
  return { ...rest, files: records.length, parentRule: _link?.rule ?? null, children: children.map(withoutPlaces) };
}

function tempHome(): string {
  const home = mkdtempSync(join(tmpdir(), "retinue-test-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return home;
}

/** Only plain data: no functions, no undefined values, no NaN or infinity. */
function expectPlain(found: Findings | readonly unknown[]) {
  const isPlain = (value: unknown) =>
    value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
  expect([...leaves(found)].filter((value) => !isPlain(value)).map(String)).toEqual([]);
}

function* leaves(value: unknown): Generator<unknown> {
  if (typeof value !== "object" || value === null) yield value;
  else for (const inside of Object.values(value)) yield* leaves(inside);
}

function fail(why: string): never {
  throw new Error(why);
}
