/** The complete output of retinue for a home, for comparison: trees, events and statistics of all threads. */
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { Library } from "../../src/app/ingest/library.ts";
import { openLibrary } from "../../src/app/open.ts";
import { readEvents } from "../../src/app/query/events.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { subtreeOf } from "../../src/core/link/forest.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { GROUPS } from "../../src/core/views/stats.ts";
import { statsBy } from "../../src/core/views/stats-sums.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { FIXTURES, filesBelow } from "../support/fixtures.ts";
import type { Environment } from "./process.ts";

/** One line each, so that a difference can be reported. */
export type State = readonly string[];

const HOMES = [
  "claude/c3-nested-parallel",
  "claude/d-background",
  "claude/m2-teams",
  "claude/n-workflow",
  "claude/v2.0.60",
  "codex/any-v2@0.145.0",
  "codex/any-fork@0.166.0",
  "gemini",
  "copilot",
];

/** A home with threads of several products. */
export function makeHome(home: string): void {
  for (const name of HOMES) {
    const folder = join(FIXTURES, name);
    const homes = existsSync(join(folder, "home"))
      ? ["home"]
      : filesBelow(folder).flatMap((path) => /^([^/]+\/home)\//.exec(path)?.[1] ?? []);
    for (const one of new Set(homes.slice(0, 1))) cpSync(join(folder, one), home, { recursive: true });
  }
}

/** The state for a process that opens the index now. */
export async function stateOf(env: Environment): Promise<State> {
  const library = await openLibrary({ env, settings: await loadSettings(env), notify: () => {} });
  return stateIn(library);
}

/** The state without an index. */
export async function freshState(env: Environment): Promise<State> {
  const settings = await loadSettings(env);
  const indexed = await openLibrary({ env: { ...env, RETINUE_HOME: "/dev/null/none" }, settings, notify: () => {} });
  indexed.close();
  return stateIn(
    new Library({ env, store: new MemoryStore(), price: indexed.price, staleAfterMs: settings.values.stale_after }),
  );
}

async function stateIn(library: Library): Promise<State> {
  try {
    await library.refresh();
    const keys = library.store.roots({ under: library.under, limit: Number.MAX_SAFE_INTEGER }).map(({ key }) => key);
    const lines: string[] = [];
    for (const key of keys) {
      const forest = library.forestOf([key]);
      lines.push(`tree ${JSON.stringify(treeOf(forest, key, library.price))}`);
      for (const event of await readEvents(library, forest, subtreeOf(forest, key)))
        lines.push(`event ${JSON.stringify(event)}`);
    }
    const spent = library.store.spent(library.under, null);
    for (const by of GROUPS) lines.push(`stats ${by} ${JSON.stringify(statsBy(spent, by))}`);
    return lines.sort();
  } finally {
    library.close();
  }
}

/** Lines of the expected state that are missing, and lines that are unexpected. */
export function compare(actual: State, right: State): { readonly losses: string[]; readonly duplicates: string[] } {
  const counts = new Map<string, number>();
  for (const line of right) counts.set(line, (counts.get(line) ?? 0) + 1);
  for (const line of actual) counts.set(line, (counts.get(line) ?? 0) - 1);
  const differing = [...counts].filter(([, count]) => count !== 0);
  const lines = differing.flatMap(([line, count]) => {
    const others = differing.flatMap(([other, n]) => (n > 0 === count > 0 ? [] : [samePart(line, other)]));
    const text = excerpt(line, Math.max(0, ...others));
    return Array.from({ length: Math.abs(count) }, () => ({ line: text, isMissing: count > 0 }));
  });
  return {
    losses: lines.filter(({ isMissing }) => isMissing).map(({ line }) => `missing: ${line}`),
    duplicates: lines.filter(({ isMissing }) => !isMissing).map(({ line }) => `not there before: ${line}`),
  };
}

/** How many of the first characters are the same. */
function samePart(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

/** The beginning, and what follows the part that is the same in another line. */
const excerpt = (line: string, same: number) =>
  same < 200 ? line.slice(0, 300) : `${line.slice(0, 80)} … ${line.slice(same - 100, same + 120)}`;

/** Files of retinue that an undisturbed run would not have left. */
export function leftoversIn(data: string): string[] {
  // The address of a killed server, and of a killed run, is removed by the next process that reads it.
  const known =
    /^((index|shipped)\.sqlite(-wal|-shm)?|kept\.sqlite(\.copy(-before)?)?(-wal|-shm)?|server\.json|control\/[a-f\d]+\.json|(proxy-)?token|recordings\/.*|imported\/.*|.*\.log|\.cache\/.*)$/;
  return existsSync(data) ? filesBelow(data).filter((path) => !known.test(path)) : [];
}
