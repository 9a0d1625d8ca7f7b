import { closeSync, existsSync, mkdirSync, openSync, readSync } from "node:fs";
import type { AgentRecord, Status } from "../core/agent.ts";
import { type AgentKey, partsOf, threadOf } from "../core/ids.ts";
import { type Forest, STALE_AFTER_MS } from "../core/link.ts";
import type { Liveness } from "../core/liveness.ts";
import type { ManualLink } from "../core/parents.ts";
import type { Problem } from "../core/problem.ts";
import type { Provider } from "../core/provider.ts";
import { type Price, treeOf, withoutChildren } from "../core/record.ts";
import { isWithin } from "../core/recorded-path.ts";
import type { FileState, RootFilter, RootRow, Store } from "../core/store.ts";
import { PROVIDERS } from "../providers/index.ts";
import type { Kept } from "../stores/sqlite/kept.ts";
import { noReads, type ReadCounts } from "../transports/files.ts";
import { processLiveness } from "../transports/processes.ts";
import { join } from "../transports/system/paths.ts";
import type { Crew } from "./crew.ts";
import { type Discovery, type Found, knownAs, lookAt, type OtherRoots, objectPath, type RootSeen } from "./discover.ts";
import { Failure } from "./failure.ts";
import { Forests } from "./forests.ts";
import { type Env, followedRoots, recordingsRoot, retinueHome } from "./home.ts";
import { type FileToRead, lookAround, miss } from "./look.ts";
import { component, type LinkContext, linkThreads, projectStale, projectThreads } from "./project.ts";
import { sync } from "./sync.ts";

export interface LibraryOptions {
  readonly env: Env;
  readonly store: Store;
  readonly price: Price;
  readonly providers?: readonly Provider[];
  readonly now?: () => number;
  readonly liveness?: Liveness;
  readonly roots?: OtherRoots;
  readonly staleAfterMs?: number;
  /** What else than records the results follow from, such as own prices, in words. Where it changes, everything is worked out anew; nothing is read again. */
  readonly basis?: string;
  /** Reads along where there is much to read; only for a store that other threads can open too. */
  readonly crew?: Crew;
  /** One of several threads at the same work: works out only what it read itself. */
  readonly isMember?: boolean;
  /** Told how far the reading is: files done, of how many. */
  readonly onProgress?: (done: number, all: number) => void;
}

export interface ThreadFilter {
  readonly provider?: string;
  /** This folder and everything below it. */
  readonly cwd?: string;
  /** Epoch milliseconds of the oldest activity to show. */
  readonly since?: number;
  readonly running?: boolean;
  readonly status?: Status;
  readonly project?: string;
  readonly limit?: number;
  readonly after?: ThreadPlace;
}

export type ThreadPlace = NonNullable<RootFilter["after"]>;

const PAGE = 200;
/** Below this, other threads would hardly be warm when everything is read. */
const MUCH_BYTES = 128 << 20;
const BLANKS = 64;
/** By default the file systems of these systems do not tell two spellings of a name apart. */
const IGNORES_CASE = process.platform === "darwin" || process.platform === "win32";
/** Nothing runs for longer than this without writing a word. */
const RECENT_MS = 24 * 3_600_000;

/** Everything that the agents on this machine wrote down, up to date as of the last `refresh`. */
export class Library {
  readonly #options: LibraryOptions;
  readonly counts: ReadCounts = noReads();
  #discovery: Discovery = { roots: [], problems: [] };
  readonly #unreadable = new Map<string, Problem>();
  readonly #forests = new Forests();
  #manual: readonly ManualLink[] = [];

  constructor(options: LibraryOptions) {
    this.#options = options;
  }

  get price(): Price {
    return this.#options.price;
  }

  get store(): Store {
    return this.#options.store;
  }

  get roots(): readonly RootSeen[] {
    return this.#discovery.roots;
  }

  /** The folders looked at today. */
  get under(): readonly string[] {
    return this.#discovery.roots.map((r) => r.path);
  }

  /** The file that holds what people decided, if they decided anything. */
  get decisions(): string {
    return keptPath(this.#options.env);
  }

  /** What stands in the way at present: folders and files that cannot be read. */
  get problems(): readonly Problem[] {
    return [...this.#discovery.problems, ...this.#unreadable.values()];
  }

  /** Last lines that are still being written, or were never finished, and transcripts in which nothing stands yet. */
  unfinished(): readonly Problem[] {
    const problems: Problem[] = [];
    for (const state of this.store.unfinished()) {
      const { path, size, offset, lines } = state;
      const stream = this.source(path)?.stream;
      // Of a packed file the offset is one in what is packed.
      if (stream?.shape !== "lines" || (stream.packed !== undefined && size > 0)) continue;
      if (size === 0) problems.push({ code: "file-empty", where: path, detail: "0 bytes" });
      else if (!isBlankAfter(state)) problems.push({ code: "line-unfinished", where: `${path}:${lines + 1}`, detail: `${size - offset} bytes` });
      else if (offset === 0) problems.push({ code: "file-empty", where: path, detail: `${size} bytes of blanks` });
    }
    return problems;
  }

  now(): number {
    return (this.#options.now ?? Date.now)();
  }

  /** Reads what is new on disk and works out what follows from it. Says which threads were told something. */
  async refresh(): Promise<ReadonlySet<AgentKey>> {
    const { env, store, providers, roots, crew } = this.#options;
    const look = (much: number) => lookAround({ env, store, providers, roots, much });
    const first = await look(crew === undefined ? Number.POSITIVE_INFINITY : MUCH_BYTES);
    this.#discovery = { roots: first.roots, problems: first.problems };
    if (crew !== undefined && first.toRead !== null) await this.#readTogether(crew, first.toRead);
    // What was read together is known by now; whatever was left is read as usual.
    const seen = first.toRead === null ? first : await look(Number.POSITIVE_INFINITY);
    this.#discovery = { roots: seen.roots, problems: seen.problems };
    const told = await this.#take(seen.files, seen.known);
    seen.seal();
    return told;
  }

  /** Whether the file says where else to look. */
  isListOfRoots(path: string): boolean {
    const { env, providers = PROVIDERS } = this.#options;
    return providers.some(({ name }) => path === followedRoots(env, name));
  }

  /** Makes the folders in which live sources will be recorded, so that those who follow along can watch them. */
  expectRecordings(): void {
    const { env, providers = PROVIDERS } = this.#options;
    for (const { name, recorded } of providers) {
      if (recorded === undefined) continue;
      try {
        mkdirSync(recordingsRoot(env, name), { recursive: true, mode: 0o700 });
      } catch {
        // Where nothing can be written, nothing will be recorded either.
      }
    }
  }

  /** Looks at single files below these folders only, without a look around. */
  lookBelow(roots: readonly RootSeen[]): void {
    this.#discovery = { roots, problems: [] };
  }

  async #readTogether(crew: Crew, files: readonly FileToRead[]): Promise<void> {
    this.#followBasis();
    let done = 0;
    const onFiles = (more: number) => {
      done += more;
      this.#options.onProgress?.(done, files.length);
    };
    await crew.read({ files, roots: this.roots, counts: this.counts, onFiles });
  }

  /** The same for single files: new ones, changed ones, and those that are gone. Says which threads were told something. */
  async refreshPaths(paths: readonly string[]): Promise<ReadonlySet<AgentKey>> {
    const { store } = this.#options;
    const looked = new Map<string, Found | null>();
    const known = new Map<string, FileState>();
    for (const path of new Set(paths.map(knownAs))) {
      const found = lookAt(path, this.roots);
      const state = store.file(path);
      if (found === null && state !== null) miss(store, state, looked, known);
      if (found === null) continue;
      looked.set(path, found);
      if (state !== null) known.set(path, state);
    }
    return this.#take(looked, known);
  }

  /** Files that the last refresh found changed, with the lines that were known of each before. */
  grown: ReadonlyMap<string, number> = new Map();

  async #take(files: ReadonlyMap<string, Found | null>, known: ReadonlyMap<string, FileState>): Promise<ReadonlySet<AgentKey>> {
    const { env, store, onProgress, price, isMember = false } = this.#options;
    const rootOf = (path: string) => this.roots.find((r) => r.path === path);
    const manualBefore = this.#manual;
    this.#manual = await manualLinks(env);
    this.#followBasis();
    const moved = linksChanged(manualBefore, this.#manual).flatMap(({ child, parent }) => [threadOf(child), threadOf(parent)]);
    const told = new Set<AgentKey>([...moved, ...store.toldByOthers()]);
    const project = (later?: (thread: AgentKey) => boolean) => {
      for (const thread of projectStale(store, this.#context(), price, later)) told.add(thread);
    };
    for (const [where] of this.#unreadable)
      if (files.has(where) || [...files.keys()].some((path) => where.startsWith(objectPath(path, "")))) this.#unreadable.delete(where);
    const { changed, threads } = await sync(store, { files, rootOf }, known, {
      counts: this.counts,
      onUnreadable: (problem) => this.#unreadable.set(problem.where, problem),
      ...(onProgress === undefined ? {} : { onProgress }),
      // The file being read names its thread; that one is not complete yet.
      onWritten: (reading, told) => project((thread) => !told.has(thread) || reading.includes(partsOf(thread).thread)),
    });
    this.grown = new Map(changed.map((path) => [path, known.get(path)?.lines ?? 0]));
    project(isMember ? (thread) => !threads.has(thread) : undefined);
    this.#followManual();
    return told;
  }

  /** From now on the same will be asked again and again. */
  keepAtHand(facts: number): void {
    this.store.keepFacts(facts);
    this.#forests.isKeeping = true;
  }

  /** Works out anew what may change without a word being written. Says whether anything still may. */
  recheck(): boolean {
    for (const { key } of this.#unsettled()) projectThreads(this.store, [threadOf(key)], this.#context(), this.#options.price);
    return this.mayChange();
  }

  /** Whether something may change without a word being written. */
  mayChange(): boolean {
    return this.#unsettled().length > 0;
  }

  /** Threads in which something may. */
  unsettled(): readonly AgentKey[] {
    return this.#unsettled().map(({ key }) => key);
  }

  #unsettled(): readonly RootRow[] {
    return this.store.roots({ under: this.under, limit: PAGE, since: this.now() - RECENT_MS }).filter((root) => !root.settled);
  }

  #context(): LinkContext {
    const { liveness = processLiveness, staleAfterMs = STALE_AFTER_MS } = this.#options;
    const [manual, under] = [this.#manual, this.under];
    return { now: this.now(), liveness, staleAfterMs, manual, under, onForest: (versions, forest) => this.#forests.keep({ versions, manual, under }, forest) };
  }

  #followBasis() {
    const { store, basis = "" } = this.#options;
    if ((store.note("basis") ?? "") === basis) return;
    store.invalidate();
    store.setNote("basis", basis);
  }

  /** Manual links are kept elsewhere, and another process may have changed them: what they move is worked out anew. */
  #followManual() {
    const { store, price } = this.#options;
    const changed = linksChanged(JSON.parse(store.note("manual") ?? "[]") as ManualLink[], this.#manual);
    if (changed.length === 0) return;
    for (const { child, parent } of changed) {
      projectThreads(store, [threadOf(child)], this.#context(), price);
      projectThreads(store, [threadOf(parent)], this.#context(), price);
    }
    store.setNote("manual", JSON.stringify(this.#manual));
  }

  /** The trees these threads stand in, as of now. */
  forestOf(threads: readonly AgentKey[]): Forest {
    const context = this.#context();
    const together = component(this.store, threads.map(threadOf), context.manual);
    const known = this.#forests.find({ versions: this.store.versions(together), manual: context.manual, under: context.under });
    return known ?? linkThreads(this.store, together, context).forest;
  }

  /** Every tree there is, newest first, with those that belong together; one at a time, so that memory does not grow with the machine. */
  *forests(): Generator<Forest> {
    const seen = new Set<AgentKey>();
    for (const { key } of this.#rows({})) {
      if (seen.has(key)) continue;
      const forest = this.forestOf([key]);
      for (const root of forest.roots) seen.add(root);
      yield forest;
    }
  }

  /** Records of top-level threads, newest activity first. Those that may change by themselves are worked out for this moment. */
  *threads(filter: ThreadFilter): Generator<AgentRecord> {
    for (const { record } of this.threadRows(filter)) yield record;
  }

  /** The same, with where each one stands in the order, so that a next page can go on behind it. */
  *threadRows(filter: ThreadFilter): Generator<{ readonly record: AgentRecord; readonly place: ThreadPlace }> {
    let left = filter.limit ?? Number.POSITIVE_INFINITY;
    for (const { key, lastActivity, settled, cwd, record: stored } of this.#rows(filter)) {
      if (left <= 0) return;
      if (filter.cwd !== undefined && (cwd === null || !isWithin(cwd, filter.cwd, IGNORES_CASE))) continue;
      const record = settled ? stored : this.#recordNow(key);
      if (filter.running === true && record.status !== "running") continue;
      if (filter.status !== undefined && record.status !== filter.status) continue;
      if (filter.project !== undefined && record.project !== filter.project) continue;
      left -= 1;
      yield { record, place: { key, lastActivity } };
    }
  }

  #recordNow(key: AgentKey): AgentRecord {
    return withoutChildren(treeOf(this.forestOf([key]), key, this.#options.price));
  }

  *#rows(filter: ThreadFilter): Generator<RootRow> {
    const query: RootFilter = {
      under: this.under,
      limit: Math.min(PAGE, filter.limit ?? PAGE),
      ...(filter.provider === undefined ? {} : { provider: filter.provider }),
      ...(filter.since === undefined ? {} : { since: filter.since }),
      ...(filter.after === undefined ? {} : { after: filter.after }),
    };
    for (let page = this.store.roots(query); page.length > 0; ) {
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < query.limit) return;
      page = this.store.roots({ ...query, after: last });
    }
  }

  /** The file, or the object of a database, behind a path that a record names, if it is still there. */
  source(path: string): Found | undefined {
    const file = lookAt(path, this.roots);
    const state = file === null ? this.store.file(path) : null;
    if (state === null || state.within === null || state.gone) return file ?? undefined;
    const database = lookAt(state.within, this.roots);
    return database === null ? undefined : { ...database, object: path.slice(state.within.length + 1), stamp: { ...database.stamp, size: state.size } };
  }

  close(): void {
    this.store.close();
  }
}

function linksChanged(before: readonly ManualLink[], now: readonly ManualLink[]): readonly ManualLink[] {
  // Links that an older version noted have no call and no request.
  const nameOf = ({ child, parent, call, request }: ManualLink) => JSON.stringify([child, parent, call ?? null, request ?? null]);
  const same = (a: ManualLink) => (b: ManualLink) => nameOf(a) === nameOf(b);
  return [...before.filter((link) => !now.some(same(link))), ...now.filter((link) => !before.some(same(link)))];
}

/** Blank lines at the end of a file are not waited for. */
function isBlankAfter({ path, offset, size }: FileState): boolean {
  if (size - offset > BLANKS) return false;
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(size - offset);
    readSync(file, bytes, 0, bytes.length, offset);
    return !bytes.some((byte) => byte > 32);
  } finally {
    closeSync(file);
  }
}

export const keptPath = (env: Env) => join(retinueHome(env), "kept.sqlite");

/** Opens what people decided; made on first use. */
export async function keep(env: Env): Promise<Kept> {
  // Loaded on demand: most commands never need it.
  const { openKept } = await import("../stores/sqlite/kept.ts");
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
