/**
 * The same as bad-input.test.ts for the other products, by rules that hold for all of them: no crash, no lost agent
 * that a readable record still names, no model call counted twice, and a line in `doctor` for what could not be read.
 */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { seeded } from "../../scripts/bench/random.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { PROVIDERS } from "../../src/providers/loaded.ts";
import { scratchFolder } from "../support/bad-input/homes.ts";
import { type Look, look } from "../support/bad-input/look.ts";
import { MUTATIONS, type Mutation } from "../support/bad-input/mutations.ts";
import { filesBelow, type RecordedHome, recordedHomes } from "../support/fixtures.ts";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_116);
const SPREAD = Number(process.env.FUZZ_RUNS ?? 4);
const TIMEOUT = 120_000;

/** How a record of each provider names an agent. */
const NAMES: Readonly<Record<string, (id: string) => RegExp>> = {
  copilot: (id) => new RegExp(`^\\{"type":"(?:user|assistant)\\.message".*"agentId":"${id}"`),
  gemini: (id) => new RegExp(`^\\{"id":.*"toolCalls":.*"agentId":"${id}"`),
  pi: (id) =>
    new RegExp(
      `^\\{"type":"message".*"toolName":"Agent".*"agentId":"${id}"|"customType":"subagents:record","data":\\{"id":"${id}"`,
    ),
};

const scratch = scratchFolder();
let copies = 0;

/** The home and the recordings next to it, damaged. */
function spoiltCopy({ home }: RecordedHome, { files, change }: Mutation, seed: number) {
  copies += 1;
  const base = join(scratch(), `spoilt-${copies}`);
  cpSync(home, join(base, "home"), { recursive: true });
  if (existsSync(join(home, "../tmp"))) cpSync(join(home, "../tmp"), join(base, "tmp"), { recursive: true });
  const random = seeded(seed);
  const able = recordsIn(base).filter((path) => files.test(path.replace(/\.output$/, ".jsonl")));
  const chosen = able.filter(() => random.chance(0.5));
  for (const path of new Set([...chosen, ...able.slice(0, chosen.length === 0 ? 1 : 0)])) {
    const bytes = readFileSync(join(base, path));
    if (bytes.length > 0) writeFileSync(join(base, path), change(bytes, random));
  }
  return { base, home: join(base, "home"), data: join(base, "data") };
}

const recordsIn = (base: string) => filesBelow(base).filter((path) => /\.(jsonl?|output)$/.test(path));

function parses(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    // Not JSON.
    return false;
  }
}

/** Readable lines, and files with unreadable parts. */
function remainsOf(base: string) {
  const readable: string[] = [];
  const spoilt: string[] = [];
  for (const path of recordsIn(base)) {
    const text = new TextDecoder().decode(readFileSync(join(base, path)));
    const records = (path.endsWith(".json") ? [text] : text.split("\n")).map((one) =>
      one.replace(/^\ufeff/, "").trim(),
    );
    const written = records.filter((one) => one !== "");
    readable.push(...written.filter(parses));
    if (written.length === 0 || !written.every(parses)) spoilt.push(join(base, path));
  }
  return { readable, spoilt };
}

const allAgents = (tree: AgentTree): AgentTree[] => [tree, ...tree.children.flatMap(allAgents)];
const callsIn = ({ shown }: Look) => shown.reduce((sum, tree) => sum + tree.usage.subtree.calls, 0);

describe.each(Object.keys(NAMES))("records of %s", (provider) => {
  const homes = recordedHomes(provider);
  const providers = PROVIDERS.filter(({ name }) => name === provider);

  it.each(MUTATIONS)(
    "with $name",
    async (mutation) => {
      const random = seeded(SEED);
      const chosen = mutation.often ? homes : Array.from({ length: SPREAD }, () => random.of(homes));
      for (const [i, recorded] of chosen.entries()) {
        const { base, home, data } = spoiltCopy(recorded, mutation, SEED + i);
        const seen = await look(home, data, { providers });
        const { readable, spoilt } = remainsOf(base);
        const shown = new Set(seen.shown.flatMap(allAgents).map(({ agentId }) => agentId));
        const ids = recorded.threads.flatMap(({ agents }) =>
          agents.flatMap((a) => (a.agentId === null || a.agentIdNative === false ? [] : [a.agentId])),
        );
        const named = ids.filter((id) => readable.some((line) => NAMES[provider]?.(id).test(line)));
        expect(
          named.filter((id) => !shown.has(id)),
          `lost in ${recorded.name}`,
        ).toEqual([]);
        const reported = seen.machine.problems.map(({ where }) => where);
        expect(
          spoilt.filter((path) => !reported.some((where) => where.startsWith(path))),
          `unreported in ${recorded.name}`,
        ).toEqual([]);
        const whole = callsIn(await look(recorded.home, `${data}-whole`, { providers }));
        expect(callsIn(seen), `model calls in ${recorded.name}`).toBeLessThanOrEqual(whole);
        if (!mutation.loses) expect(callsIn(seen), `model calls in ${recorded.name}`).toBe(whole);
        rmSync(base, { recursive: true });
      }
    },
    TIMEOUT,
  );
});
