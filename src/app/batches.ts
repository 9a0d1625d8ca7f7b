import { type AgentKey, placeOf, threadOf } from "../core/ids.ts";
import type { Observation } from "../core/observation.ts";
import type { Problem, ProblemCode } from "../core/problem.ts";
import type { Findings } from "../core/provider.ts";
import type { FileBatch, FileState, Store } from "../core/store.ts";
import type { Found } from "./discover.ts";

/** Read so much, then write: memory stays bounded however large a file is, and a crash costs no more than this. */
export const BATCH_BYTES = 2 << 20;
const BATCH_FILES = 600;

/** Called after every write, with the file that is being read and the threads told of so far: what is complete can be worked out while it is at hand. */
export type OnWritten = ((reading: string, threads: ReadonlySet<AgentKey>) => void) | undefined;

/** Collects batches and writes them together. */
export class Writer {
  readonly #store: Store;
  #waiting: FileBatch[] = [];
  #bytes = 0;
  readonly threads = new Set<AgentKey>();
  readonly #onWritten: OnWritten;

  constructor(store: Store, onWritten: OnWritten) {
    this.#store = store;
    this.#onWritten = onWritten;
  }

  add(batch: FileBatch): void {
    this.#waiting.push(batch);
    for (const speaker of new Set(batch.observations.map((o) => o.speaker))) this.threads.add(threadOf(speaker));
    this.#bytes += Math.max(0, batch.after.offset - (batch.before?.offset ?? 0));
    if (this.#bytes < BATCH_BYTES && this.#waiting.length < BATCH_FILES) return;
    this.flush();
    this.#onWritten?.(batch.after.path, this.threads);
  }

  flush(): void {
    if (this.#waiting.length > 0) this.#store.commit(this.#waiting);
    this.#waiting = [];
    this.#bytes = 0;
  }
}

/** Of each kind that many are told one by one, so that a file of junk costs no more than a good one. */
const TOLD_PROBLEMS = 100;

export class ProblemsOfFile {
  readonly #path: string;
  readonly #told = new Map<ProblemCode, number>();
  #more = new Map<ProblemCode, number>();
  #waiting: Problem[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  tell(problem: Problem): void {
    const told = this.#told.get(problem.code) ?? 0;
    if (told < TOLD_PROBLEMS) {
      this.#told.set(problem.code, told + 1);
      this.#waiting.push(problem);
    } else this.#more.set(problem.code, (this.#more.get(problem.code) ?? 0) + 1);
  }

  take(): readonly Problem[] {
    const more = [...this.#more].map(([code, times]) => ({ code, where: this.#path, detail: "more of the same in this file", times }));
    const problems = [...this.#waiting, ...more];
    this.#waiting = [];
    this.#more = new Map();
    return problems;
  }
}

/** What a file says so far: where a line takes back what earlier ones said, these count no more. */
export class Standing {
  readonly #path: string;
  #observations: Observation[] = [];
  #rows = new Map<string, Observation[]>();

  constructor(path: string) {
    this.#path = path;
  }

  add({ observations, replaces = [] }: Findings): void {
    for (const row of replaces) this.#rows.set(row, []);
    for (const o of observations) (replaces.length === 0 ? this.#observations : (this.#rows.get(this.#rowOf(o)) ?? this.#observations)).push(o);
  }

  #rowOf = ({ id }: Observation) => placeOf(id).slice(this.#path.length + 1);

  take(): Pick<FileBatch, "observations" | "replaces"> {
    const taken = { observations: [...this.#observations, ...[...this.#rows.values()].flat()], replaces: [...this.#rows.keys()] };
    this.#observations = [];
    this.#rows = new Map();
    return taken;
  }
}

export const stampIn = ({ stamp }: Found) => ({ identity: stamp.identity, size: stamp.size, modifiedMs: stamp.modifiedMs });

/** A file read from its beginning. What another one said at the same place is taken back. */
export function fresh(found: Found, before: FileState | null): FileState {
  return {
    path: found.path,
    within: null,
    root: found.root,
    provider: found.provider.name,
    ...stampIn(found),
    offset: 0,
    lines: 0,
    generation: before === null ? 0 : before.generation + 1,
    tail: "",
    parser: null,
    gone: false,
  };
}
