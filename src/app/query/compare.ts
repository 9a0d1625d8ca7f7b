import { agentOf, type Forest, subtreeOf } from "../../core/link/forest.ts";
import type { AgentRow } from "../../core/ports/store.ts";
import {
  type ComparedMeasure,
  type Comparison,
  compareGroups,
  compareTrees,
  sumOf,
  type WorkOf,
} from "../../core/views/compare.ts";
import type { UsedFile } from "../../core/views/files.ts";
import { treeOf } from "../../core/views/record.ts";
import { inside } from "../../transports/system/paths.ts";
import { filesOfAgent } from "../explain/explain.ts";
import { Failure } from "../failure.ts";
import type { Library } from "../ingest/library.ts";
import { resolve } from "./resolve.ts";

/** Two trees side by side, or two groups of threads with the spread of each. */
export interface ComparedThreads {
  readonly left: readonly string[];
  readonly right: readonly string[];
  /** Null for groups. */
  readonly trees: Comparison | null;
  readonly measures: readonly ComparedMeasure[];
}

const MAX_THREADS = 200;

/** `left` and `right` are one URI each, or several, separated by commas. */
export async function compareThreads(library: Library, left: string, right: string): Promise<ComparedThreads> {
  const [a, b] = [left, right].map((names) => rowsOf(library, names));
  if (a === undefined || b === undefined || a.length === 0 || b.length === 0)
    throw new Failure("usage", "nothing to compare", ["write retinue compare <uri> <uri>"]);
  const forest = library.forestOf([...a, ...b].map(({ key }) => key));
  const treesOf = (rows: typeof a) => rows.map(({ key }) => treeOf(forest, key, library.price));
  const [x, y] = [treesOf(a), treesOf(b)];
  const [first, second] = [x[0], y[0]];
  const isPair = x.length === 1 && y.length === 1 && first !== undefined && second !== undefined;
  return {
    left: x.map(({ uri }) => uri),
    right: y.map(({ uri }) => uri),
    trees: isPair ? compareTrees(first, second, await workIn(library, forest, [...a, ...b])) : null,
    measures: compareGroups(x.map(sumOf), y.map(sumOf)),
  };
}

/** Each thread once, although several names may mean the same. */
function rowsOf(library: Library, names: string): readonly AgentRow[] {
  const rows = namesIn(names).map((name) => resolve(library, name));
  return [...new Map(rows.map((row) => [row.key, row])).values()];
}

function namesIn(list: string): readonly string[] {
  const names = list
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (names.length > MAX_THREADS)
    throw new Failure("usage", `${names.length} threads are too many`, [`compare at most ${MAX_THREADS} on each side`]);
  return names;
}

/** How often each tool was called, and which files were changed, by agent. */
async function workIn(library: Library, forest: Forest, rows: readonly AgentRow[]): Promise<WorkOf> {
  const byUri = new Map<string, ReturnType<WorkOf>>();
  for (const { key: root } of rows) {
    const changed = changedBy(await filesOfAgent(library, forest, root));
    for (const key of subtreeOf(forest, root)) {
      const agent = agentOf(forest, key);
      const counts: Record<string, number> = {};
      const seen = new Set<string>();
      for (const { calls } of agent.steps())
        for (const { call, name } of calls)
          if (!seen.has(call)) {
            seen.add(call);
            counts[name] = (counts[name] ?? 0) + 1;
          }
      const paths = [...(changed.get(agent.uri) ?? [])].map((path) =>
        agent.cwd === null ? path : (inside(agent.cwd, path) ?? path),
      );
      byUri.set(agent.uri, { tools: counts, files: paths.sort() });
    }
  }
  return (uri) => byUri.get(uri) ?? { tools: {}, files: [] };
}

/** The paths that each agent changed, by URI. */
function changedBy(files: readonly UsedFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const changed = new Map<string, Set<string>>();
  for (const { path, uses } of files)
    for (const { uri, kind, isError } of uses)
      if (kind !== "read" && !isError) changed.set(uri, (changed.get(uri) ?? new Set()).add(path));
  return changed;
}
