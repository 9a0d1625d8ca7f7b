import { existsSync, statSync } from "node:fs";
import { PROBLEMS, type Problem, type ProblemCode, type Severity } from "../../core/facts/problem.ts";
import type { Examination } from "../../core/views/examination.ts";
import { system } from "../../transports/system/index.ts";
import { guardProblems } from "../guard/examine.ts";
import { type Env, retinueHome } from "../home.ts";
import { indexPath, setAsideFiles } from "../ingest/index-file.ts";
import type { Library } from "../ingest/library.ts";
import { keptPath } from "../kept/kept-file.ts";
import type { SettingsFile } from "../settings/settings.ts";

const EXAMPLES = 3;
const SEVERITIES: readonly Severity[] = ["error", "data-loss", "info"];

/**
 * The report of `retinue doctor`. `polling`: why some folders are polled instead of watched. `more`: problems that take
 * longer to find.
 */
export function examine(
  library: Library,
  { path, exists, set }: SettingsFile,
  env: Env,
  polling: string | null,
  more: readonly Problem[] = [],
): Examination {
  const { store, under } = library;
  const roots = store.roots({ under, limit: Number.MAX_SAFE_INTEGER });
  const byVersion = Map.groupBy(roots, (root) => `${root.provider} ${root.record.productVersion ?? ""}`);
  return {
    home: retinueHome(env),
    settings: { path, exists, set },
    kept: {
      path: keptPath(env),
      exists: existsSync(keptPath(env)),
      links: (JSON.parse(store.note("manual") ?? "[]") as unknown[]).length,
    },
    index: { path: indexPath(env), bytes: sizeOf(indexPath(env)), files: store.fileCount() },
    roots: library.roots.map(({ provider, folders: _, loose: _loose, isShared: _isShared, ...root }) => ({
      provider: provider.name,
      product: provider.isUnverified ? `${provider.product} (from its sources, not verified)` : provider.product,
      ...root,
    })),
    versions: [...byVersion.values()].flatMap(([first, ...more]) =>
      first === undefined
        ? []
        : [{ provider: first.provider, version: first.record.productVersion, threads: more.length + 1 }],
    ),
    threads: roots.length,
    agents: roots.reduce((sum, root) => sum + root.record.counts.descendants, 0),
    internal: roots.reduce((sum, root) => sum + root.internals, 0),
    system: examineSystem(),
    problems: countProblems(library, [
      ...setAside(env),
      ...guardProblems(env, library.now()),
      ...more,
      ...(polling === null ? [] : [{ code: "folders-not-watched" as const, where: retinueHome(env), detail: polling }]),
    ]),
  };
}

/** The system tool counts as available only if it finds our own process. */
function examineSystem(): Examination["system"] {
  const { means, process: find } = system;
  const isFound = typeof find(process.pid) !== "string";
  return {
    platform: process.platform,
    ...means,
    ...(isFound ? {} : { processes: `not available (${means.processes} does not work)` }),
  };
}

function sizeOf(path: string): number {
  return ["", "-wal"].reduce((sum, suffix) => sum + (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** Damaged databases that were moved aside. */
function setAside(env: Env): readonly Problem[] {
  const found = (path: string, code: ProblemCode) =>
    setAsideFiles(path)
      .filter((file) => !/-(?:wal|shm)$/.test(file))
      .map((where) => ({ code, where, detail: `moved aside ${new Date(statSync(where).ctimeMs).toISOString()}` }));
  return [...found(indexPath(env), "index-set-aside"), ...found(keptPath(env), "decisions-set-aside")];
}

function countProblems(library: Library, more: readonly Problem[]): Examination["problems"] {
  const now = Map.groupBy([...library.problems, ...library.unfinished(), ...more], (problem) => problem.code);
  const passing = [...now].map(([code, list]) => ({
    code,
    count: list.reduce((sum, p) => sum + (p.times ?? 1), 0),
    examples: list,
  }));
  const byCode = Map.groupBy([...library.store.problems(EXAMPLES), ...passing], (p) => p.code);
  return [...byCode]
    .map(([code, list]) => ({
      code,
      severity: PROBLEMS[code][0],
      sentence: PROBLEMS[code][1],
      count: list.reduce((sum, p) => sum + p.count, 0),
      examples: list.flatMap((p) => p.examples).slice(0, EXAMPLES),
    }))
    .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.count - a.count);
}
