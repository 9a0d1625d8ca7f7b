import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Forest, link } from "../core/link.ts";
import type { Liveness } from "../core/liveness.ts";
import type { Observation } from "../core/observation.ts";
import type { ManualLink } from "../core/parents.ts";
import type { Problem, ProblemCode } from "../core/problem.ts";
import type { Provider, SourceFile, Stream } from "../core/provider.ts";
import { PROVIDERS } from "../providers/index.ts";
import type { Kept } from "../stores/kept.ts";
import { fileSize, type Line, noReads, type OtherEntry, type ReadCounts, readLines, readWhole, unseenFolders, walk } from "../transports/files.ts";
import { processLiveness } from "../transports/processes.ts";
import { Failure } from "./failure.ts";
import { type Env, retinueHome, userHome } from "./home.ts";

export interface MachineOptions {
  readonly env: Env;
  readonly providers?: readonly Provider[];
  readonly now?: () => number;
  readonly liveness?: Liveness;
  /** Told how far the reading is: files done, of how many. */
  readonly onProgress?: (done: number, all: number) => void;
}

/** A file some provider can read. */
export interface Source {
  readonly provider: Provider;
  readonly stream: Stream;
  readonly file: SourceFile;
}

export interface RootSeen {
  readonly provider: Provider;
  readonly path: string;
  readonly exists: boolean;
  readonly files: number;
  readonly bytes: number;
}

/** Everything that the agents on this machine wrote down, read and linked. */
export interface Machine {
  readonly forest: Forest;
  readonly roots: readonly RootSeen[];
  readonly sources: ReadonlyMap<string, Source>;
  readonly problems: readonly Problem[];
  readonly counts: ReadCounts;
}

export async function readMachine(options: MachineOptions): Promise<Machine> {
  const counts = noReads();
  const problems: Problem[] = [];
  const unreadable = (path: string, error: Error) => problems.push({ code: "file-unreadable", where: path, detail: error.message });
  const { roots, sources } = await discover(options, problems, unreadable);

  const observations: Observation[] = [];
  let done = 0;
  for (const source of sources.values()) {
    try {
      await readSource(source, counts, observations, problems);
    } catch (error) {
      unreadable(source.file.path, error as Error);
    }
    done += 1;
    options.onProgress?.(done, sources.size);
  }
  const forest = link(observations, {
    now: (options.now ?? Date.now)(),
    liveness: options.liveness ?? processLiveness,
    manual: await manualLinks(options.env),
  });
  return { forest, roots, sources, counts, problems: [...problems, ...forest.problems] };
}

async function discover(options: MachineOptions, problems: Problem[], unreadable: (path: string, error: Error) => void) {
  const sources = new Map<string, Source>();
  const roots: RootSeen[] = [];
  for (const provider of options.providers ?? PROVIDERS) {
    const seen = new Set<string>();
    for (const root of new Set(provider.roots(options.env, userHome(options.env)))) {
      let [files, bytes] = [0, 0];
      const other = (path: string, is: OtherEntry) => {
        if (is === "link") problems.push({ code: "link-not-followed", where: join(root, path), detail: "a link" });
        else if (provider.stream(path) !== null) unreadable(join(root, path), new Error(`it is a ${is}, not a file`));
      };
      for await (const path of walk(root, await unseenFolders(root, provider.folders, seen), unreadable, other)) {
        const stream = provider.stream(path);
        if (stream === null) continue;
        const full = join(root, path);
        const size = await fileSize(full).catch((error: Error) => {
          unreadable(full, error);
          return null;
        });
        if (size === null) continue;
        files += 1;
        bytes += size;
        sources.set(full, { provider, stream, file: { path: full, bytes: size } });
      }
      roots.push({ provider, path: root, exists: existsSync(root), files, bytes });
    }
  }
  return { roots, sources };
}

/** Of each kind that many are kept for each file, so that a file of junk costs no more memory than a good one. */
const KEPT_PROBLEMS = 100;

async function readSource({ stream, file }: Source, counts: ReadCounts, observations: Observation[], problems: Problem[]) {
  const parser = stream.open(file);
  const told = new Map<ProblemCode, number>();
  const tell = (problem: Problem) => {
    const times = (told.get(problem.code) ?? 0) + 1;
    told.set(problem.code, times);
    if (times <= KEPT_PROBLEMS) problems.push(problem);
  };
  const take = (bytes: Uint8Array, line: number) => {
    const found = parser.push(bytes, line);
    for (const o of found.observations) observations.push(o);
    for (const p of found.problems) tell(p);
  };
  let isEmpty = true;
  try {
    if (stream.shape === "document") {
      isEmpty = false;
      take(await readWhole(file.path, counts), 0);
    } else {
      for await (const lines of readLines(file.path, counts, isWholeJson)) {
        for (const line of lines) {
          isEmpty = false;
          if (line.is === "line") take(line.bytes, line.number);
          else tell({ code: LINE_PROBLEMS[line.is], where: `${file.path}:${line.number}`, detail: `${line.length} bytes` });
        }
      }
    }
  } finally {
    for (const [code, times] of told)
      if (times > KEPT_PROBLEMS) problems.push({ code, where: file.path, detail: "more of the same in this file", times: times - KEPT_PROBLEMS });
  }
  if (isEmpty) tell({ code: "file-empty", where: file.path, detail: `${file.bytes} bytes` });
}

const LINE_PROBLEMS = {
  unfinished: "line-unfinished",
  "too-long": "line-too-long",
  zeroes: "line-zeroes",
} as const satisfies Record<Exclude<Line["is"], "line">, ProblemCode>;

/** A last line without its end may be complete all the same: editors and copies cut the final newline. */
export function isWholeJson(line: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder().decode(line));
    return true;
  } catch {
    // Still being written, or junk.
    return false;
  }
}

export const keptPath = (env: Env) => join(retinueHome(env), "kept.sqlite");

/** Opens what people decided; made on first use. */
export async function keep(env: Env): Promise<Kept> {
  // Loaded on demand: most commands never need a database.
  const { openKept } = await import("../stores/kept.ts");
  try {
    return await openKept(keptPath(env));
  } catch (error) {
    throw new Failure("failed", `cannot open ${keptPath(env)}: ${(error as Error).message}`, [], error);
  }
}

/** Looking leaves no trace: nothing is created where nobody decided anything yet. */
async function manualLinks(env: Env): Promise<readonly ManualLink[]> {
  if (!existsSync(keptPath(env))) return [];
  const kept = await keep(env);
  try {
    return kept.links();
  } finally {
    kept.close();
  }
}

export const PROVIDER_NAMES: readonly string[] = PROVIDERS.map((p) => p.name);
