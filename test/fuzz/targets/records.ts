/** Records of every product: transcripts, printed streams, hooks, telemetry, rows of databases, recorded traffic. */
import { join } from "node:path";
import { renderTree } from "../../../src/cli/render/tree.ts";
import { openTerminal } from "../../../src/cli/terminal.ts";
import { link } from "../../../src/core/link/link.ts";
import type { Findings, Parser, Provider } from "../../../src/core/ports/provider.ts";
import { treeOf } from "../../../src/core/views/record.ts";
import { PROVIDERS } from "../../../src/providers/loaded.ts";
import { telling } from "../../contract/junk.ts";
import { type FixtureSource, fixtureSources, placeIn } from "../../contract/sources.ts";
import { FIXTURES, RECORDED } from "../../support/fixtures.ts";
import { mutated, mutatedJson, noise } from "../mutate.ts";
import { numberOf, require, requirePlain, requireSame, type Target } from "../target.ts";

/** Findings may be longer than their records, because ids and places are written out; but they are bounded. */
const MAX_GROWTH = 60;
const MAX_BASE = 200_000;
const NOW = Date.UTC(2026, 10, 15);
const TERMINAL = { width: 100, colors: openTerminal({ color: false, quiet: true }).colors };

export const recordTargets: readonly Target[] = RECORDED.map((provider) => ({
  name: `records-${provider.name}`,
  weight: 2,
  open: () => opened(provider),
}));

/** An input is the name of a recorded file on the first line, and then the records in that file. */
function opened(provider: Provider) {
  const sources = fixtureSources(provider, join(FIXTURES, provider.name));
  const samples = telling(sources).map(({ source, record }) => ({
    source,
    record: Buffer.from(record),
    value: JSON.parse(Buffer.from(record).toString()) as unknown,
  }));
  const byName = new Map(sources.map((source) => [source.name, source]));
  return {
    generate: (random: Parameters<typeof mutated>[1]) => {
      const { source } = random.of(samples);
      const records = Array.from({ length: 1 + random.below(5) }, () => {
        if (source.records.length > 0 && random.chance(0.3)) return Buffer.from(random.of(source.records));
        const { record, value } = random.of(samples);
        return random.chance(0.6)
          ? mutatedJson(value, random)
          : random.chance(0.1)
            ? noise(random)
            : mutated(record, random);
      });
      return Buffer.concat([Buffer.from(source.name), ...records.flatMap((record) => [Buffer.from("\n"), record])]);
    },
    check: (input: Buffer) => {
      const [name = "", ...lines] = linesIn(input);
      const source = byName.get(name.toString());
      // A fixture that no longer exists.
      if (source === undefined) return;
      const records =
        source.stream.shape === "document"
          ? [input.subarray(Math.min(input.length, name.length + 1))]
          : lines.filter((line) => line.length > 0);
      checkRecords(source, records, numberOf(input), input.length);
    },
  };
}

function checkRecords(source: FixtureSource, records: readonly Buffer[], seed: number, bytes: number): void {
  const found = pushAll(source.stream.open(source.file), source, records, 0);
  requirePlain(found, "findings");
  const length = JSON.stringify(found).length;
  require(length < MAX_BASE + MAX_GROWTH * bytes, "findings are much longer than the records", { length, bytes });
  const cut = seed % (records.length + 1);
  const before = source.stream.open(source.file);
  const first = pushAll(before, source, records.slice(0, cut), 0);
  const after = source.stream.open(source.file, JSON.parse(JSON.stringify(before.save() ?? null)) ?? undefined);
  requireSame(
    [...first, ...pushAll(after, source, records.slice(cut), cut)],
    found,
    "a parser that is saved and opened again goes on as it was",
  );
  if (seed % 4 === 0) checkTree(found.flatMap(({ observations }) => observations));
}

function pushAll(parser: Parser, source: FixtureSource, records: readonly Buffer[], from: number): Findings[] {
  return records.map((record, i) => {
    const found = parser.push(record, ...placeIn(source, from + i));
    requirePlain(parser.events(record, ...placeIn(source, from + i)), "events");
    return { ...found, observations: found.observations, problems: found.problems };
  });
}

/** Every observation can be displayed, also on a terminal. */
function checkTree(observations: Parameters<typeof link>[0]): void {
  const forest = link(observations, { now: NOW, liveness: () => "unknown" });
  for (const root of forest.roots) {
    const tree = treeOf(forest, root, () => 0);
    requirePlain(tree, "a tree");
    const text = renderTree(tree, TERMINAL, { all: true });
    require(!/[^\P{Cc}\n]/u.test(text), "a control character on the terminal", text);
  }
}

function linesIn(input: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start <= input.length; ) {
    const end = input.indexOf(10, start);
    lines.push(input.subarray(start, end < 0 ? input.length : end));
    if (end < 0) break;
    start = end + 1;
  }
  return lines;
}

/** The names that products use: whether a text can be an id, a path or a command. */
export const namesTarget: Target = {
  name: "names",
  weight: 6,
  open: () => ({
    generate: (random) =>
      mutated(
        Buffer.from(
          random.of([
            "projects/-repo/abc.jsonl",
            "sessions/2026/11/15/rollout-x.jsonl",
            "session-state/x/events.jsonl",
            "claude",
            "opencode.db",
          ]),
        ),
        random,
      ),
    check: (input) => {
      const text = input.toString();
      for (const provider of PROVIDERS) {
        provider.stream(text);
        provider.recorded?.(text);
        provider.isThreadId(text);
        provider.isAgentId(text);
        provider.isAgentPath?.(text);
        provider.wrap?.(text.split(" "));
        provider.entry?.(input);
        const sentence = provider.asSentence?.(text) ?? null;
        require(sentence === null ||
          sentence.length <= text.length * 2 + 200, "a sentence that is longer than the markup", {
          sentence: sentence?.length,
          text: text.length,
        });
        const found = provider.portable?.recognise(text.slice(0, 40), input) ?? null;
        require(!/(^|\/)(\.{0,2})(\/|$)|[\\\u0000]/.test(
          `${found?.folder}/${found?.file}`,
        ), "a path that leads elsewhere", found);
      }
    },
  }),
};
