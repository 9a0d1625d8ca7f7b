import { FactColumns } from "../../core/facts/fact-columns.ts";
import { type AgentKey, placeOf, threadOf } from "../../core/facts/ids.ts";
import type { Observation } from "../../core/facts/observation.ts";
import type { Problem, ProblemCode } from "../../core/facts/problem.ts";
import { FileFacts } from "../../core/link/file-facts.ts";
import type { Findings } from "../../core/ports/provider.ts";
import type { FileBatch, FileState, Store } from "../../core/ports/store.ts";
import { boundReading } from "../../stores/heap.ts";
import type { Found } from "./discover.ts";

/** Bytes read between two writes. Bounds memory for large files, and what a crash loses. */
export const BATCH_BYTES = 8 << 20;
const BATCH_FILES = 600;
/** Fewer bytes create too little garbage to bound the heap. */
const MUCH_BYTES = 64 << 10;

/**
 * Called after every write, with the file being read and the threads changed so far, so that complete threads can be
 * linked while their facts are cached.
 */
export type OnWritten = ((reading: string, threads: ReadonlySet<AgentKey>) => void) | undefined;

/** Collects batches and writes them together. */
export class Writer {
  readonly #store: Store;
  #waiting: FileBatch[] = [];
  #bytes = 0;
  readonly threads = new Set<AgentKey>();
  /** Files whose text is indexed later. */
  readonly textsLeft = new Set<string>();
  readonly #onWritten: OnWritten;

  /** `bytes`: approximately how much will be read. */
  constructor(store: Store, bytes: number, onWritten: OnWritten) {
    this.#store = store;
    this.#onWritten = onWritten;
    if (bytes >= MUCH_BYTES) boundReading();
  }

  add(batch: FileBatch): void {
    this.#waiting.push(batch);
    if (batch.texts === null && batch.facts.length > 0) this.textsLeft.add(batch.after.path);
    for (const speaker of batch.facts.speakers) this.threads.add(threadOf(speaker));
    this.#bytes += Math.max(0, batch.after.offset - (batch.before?.offset ?? 0));
    if (this.#bytes < BATCH_BYTES && this.#waiting.length < BATCH_FILES) return;
    this.flush();
    this.#onWritten?.(batch.after.path, this.threads);
  }

  flush(): void {
    if (this.#waiting.length > 0) this.#store.commit(this.#waiting);
    if (this.#bytes >= MUCH_BYTES) boundReading();
    this.#waiting = [];
    this.#bytes = 0;
  }
}

/** Number of problems of each kind that are listed one by one; bounds the cost of a file of junk. */
const LISTED_PROBLEMS = 100;

export class ProblemsOfFile {
  readonly #path: string;
  readonly #listed = new Map<ProblemCode, number>();
  #more = new Map<ProblemCode, number>();
  #waiting: Problem[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  add(problem: Problem): void {
    const listed = this.#listed.get(problem.code) ?? 0;
    if (listed < LISTED_PROBLEMS) {
      this.#listed.set(problem.code, listed + 1);
      this.#waiting.push(problem);
    } else this.#more.set(problem.code, (this.#more.get(problem.code) ?? 0) + 1);
  }

  take(): readonly Problem[] {
    const more = [...this.#more].map(([code, times]) => ({
      code,
      where: this.#path,
      detail: "more of the same in this file",
      times,
    }));
    const problems = [...this.#waiting, ...more];
    this.#waiting = [];
    this.#more = new Map();
    return problems;
  }
}

/** The facts of a file since the last `take`, without those that a later line replaced. */
export class NewFacts {
  readonly #path: string;
  #facts: FactColumns;
  #rows = new Map<string, Observation[]>();
  /** All facts so far, if the file is read from its beginning and no line replaced another. */
  #folded: FileFacts | null | undefined;

  /** `resumes`: earlier facts of the file are stored. */
  constructor(path: string, resumes: boolean) {
    this.#path = path;
    this.#facts = new FactColumns(path);
    this.#folded = resumes ? undefined : new FileFacts(path);
  }

  add({ observations, replaces = [], place }: Findings): void {
    if (replaces.length > 0 && this.#folded !== undefined) this.#folded = null;
    this.#folded?.addRecord(observations);
    for (const row of replaces) this.#rows.set(row, []);
    const isNumbered = place !== undefined && place.row === undefined && place.path === this.#path;
    for (let i = 0; i < observations.length; i += 1) {
      const o = observations[i] as Observation;
      const row = replaces.length === 0 ? undefined : this.#rows.get(this.#rowOf(o));
      if (row !== undefined) row.push(o);
      else this.#facts.add(o, isNumbered && o.order === place.line ? i : undefined);
    }
  }

  #rowOf = ({ id }: Observation) => placeOf(id).slice(this.#path.length + 1);

  take(isWhole: boolean): Pick<FileBatch, "facts" | "folded" | "replaces"> {
    const facts = this.#facts;
    for (const list of this.#rows.values()) for (const o of list) facts.add(o);
    const folded = isWhole && this.#folded?.isExact === false ? null : this.#folded;
    const taken = { facts, folded, replaces: [...this.#rows.keys()] };
    this.#facts = new FactColumns(this.#path);
    this.#rows = new Map();
    return taken;
  }
}

export const stampIn = ({ stamp }: Found) => ({
  identity: stamp.identity,
  size: stamp.size,
  modifiedMs: stamp.modifiedMs,
});

/** A batch that changes only the state of a file. */
export const withoutFacts = (
  before: FileState | null,
  after: FileState,
  problems: readonly Problem[] = [],
): FileBatch => ({ before, after, facts: new FactColumns(after.path), problems, texts: [] });

/** The state of a deleted file or object. Its facts stay. */
export const deleted = (state: FileState): FileState => ({ ...state, gone: true, size: 0, offset: 0 });

/** The state of a file that is read from its beginning. Facts of an earlier file at the same path are retracted. */
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
