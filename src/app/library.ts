import type { AgentRecord, Status } from "../core/agent.ts";
import { type AgentKey, partsOf, threadOf } from "../core/ids.ts";
import { type Forest, STALE_AFTER_MS, together } from "../core/link.ts";
import type { Liveness } from "../core/liveness.ts";
import type { ManualLink } from "../core/parents.ts";
import type { Problem } from "../core/problem.ts";
import type { Provider } from "../core/provider.ts";
import { type Price, treeOf, withoutChildren } from "../core/record.ts";
import { isWithin } from "../core/recorded-path.ts";
import type { FileState, RootFilter, RootRow, Store } from "../core/store.ts";
import { PROVIDERS } from "../providers/index.ts";
import { noReads, type ReadCounts } from "../transports/files.ts";
import { privateFolder } from "../transports/private.ts";
import { processLiveness } from "../transports/processes.ts";
import type { Crew } from "./crew.ts";
import { type Discovery, type Found, knownAs, lookAt, type OtherRoots, objectPath, type RootSeen } from "./discover.ts";
import { Forests } from "./forests.ts";
import { type Env, followedRoots, recordingsRoot } from "./home.ts";
import { Index, indexPath } from "./index-file.ts";
import { keptPath, linksChanged, manualLinks } from "./kept-file.ts";
import { type FileToRead, lookAround, miss } from "./look.ts";
import { components, type LinkContext, linkThreads, projectStale, projectThreads } from "./project.ts";
import { sync } from "./sync.ts";
import { unfinishedIn } from "./unfinished.ts";

export interface LibraryOptions {
  readonly env: Env;
  /** A store alone is not replaced when it fails. */
  readonly store: Store | Index;
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
  #forests = new Forests();
  readonly index: Index;
  #manual: readonly ManualLink[] = [];
  /** What people decided cannot be read at present. */
  #isUndecided = false;
  #bytesAtHand = 0;

  constructor(options: LibraryOptions) {
    this.#options = options;
    this.index = options.store instanceof Index ? options.store : Index.of(options.store);
  }

  get price(): Price {
    return this.#options.price;
  }

  get store(): Store {
    return this.index.store;
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
    const { trouble } = this.index;
    const own: Problem[] = [
      ...(trouble === null ? [] : [{ code: "index-unusable" as const, where: indexPath(this.#options.env), detail: trouble }]),
      ...(this.#isUndecided ? [{ code: "decisions-unreadable" as const, where: this.decisions, detail: "manual links are as last known" }] : []),
    ];
    return [...own, ...this.#discovery.problems, ...this.#unreadable.values()];
  }

  /** Last lines that are still being written, or were never finished, and transcripts in which nothing stands yet. */
  unfinished(): readonly Problem[] {
    return unfinishedIn(this.store.unfinished(), (path) => this.source(path));
  }

  now(): number {
    return (this.#options.now ?? Date.now)();
  }

  /** Reads what is new on disk and works out what follows from it. Says which threads were told something. */
  refresh(): Promise<ReadonlySet<AgentKey>> {
    return this.#withStore(() => this.#refresh());
  }

  /** What was worked out from the store before does not hold for the one that took its place. */
  #startOver(): void {
    this.#forests = new Forests();
    if (this.#bytesAtHand > 0) this.keepAtHand(this.#bytesAtHand);
    this.#unreadable.clear();
  }

  #withStore<T>(work: () => Promise<T>): Promise<T> {
    return this.index.run(work, async () => {
      this.#startOver();
      await this.#refresh();
    });
  }

  /** Asks something of what is known. Where that shows that the index is damaged, it is made anew first, and asked again. */
  async ask<T>(question: () => T | Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      if (!this.index.distrust(error)) throw error;
      await this.refreshPaths([]);
      return question();
    }
  }

  /** Back to the index file once it can be written again. It is filled first; until then memory answers. */
  async returnToFile(): Promise<boolean> {
    const isBack = await this.index.returnToFile(async (store) => void (await new Library({ ...this.#options, store }).refresh()));
    if (isBack) this.#startOver();
    return isBack;
  }

  async #refresh(): Promise<ReadonlySet<AgentKey>> {
    const { env, providers, roots } = this.#options;
    const { store } = this;
    const crew = this.index.trouble === null ? this.#options.crew : undefined;
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
        privateFolder(recordingsRoot(env, name));
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
  refreshPaths(paths: readonly string[]): Promise<ReadonlySet<AgentKey>> {
    return this.#withStore(() => this.#refreshPaths(paths));
  }

  async #refreshPaths(paths: readonly string[]): Promise<ReadonlySet<AgentKey>> {
    const { store } = this;
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
    const { env, onProgress, price, isMember = false } = this.#options;
    const { store } = this;
    const rootOf = (path: string) => this.roots.find((r) => r.path === path);
    const manualBefore = this.#manual;
    const manual = await manualLinks(env);
    this.#isUndecided = manual === null;
    // What was last known holds until it can be read again.
    this.#manual = manual ?? this.#manualNoted();
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
  keepAtHand(bytesOfFacts: number): void {
    this.#bytesAtHand = bytesOfFacts;
    this.store.keepFacts(bytesOfFacts);
    this.#forests.isKeeping = true;
  }

  /** Works out anew what may change without a word being written. Says whether anything still may. */
  recheck(): Promise<boolean> {
    return this.#withStore(async () => {
      for (const { key } of this.#unsettled()) projectThreads(this.store, [threadOf(key)], this.#context(), this.#options.price);
      return this.mayChange();
    });
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
    const { basis = "" } = this.#options;
    const { store } = this;
    if ((store.note("basis") ?? "") === basis) return;
    store.invalidate();
    store.setNote("basis", basis);
  }

  #manualNoted(): readonly ManualLink[] {
    return JSON.parse(this.store.note("manual") ?? "[]") as ManualLink[];
  }

  /** Manual links are kept elsewhere, and another process may have changed them: what they move is worked out anew. */
  #followManual() {
    const [store, { price }] = [this.store, this.#options];
    const changed = linksChanged(this.#manualNoted(), this.#manual);
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
    const known = (related: readonly AgentKey[]) => this.#forests.find({ ...context, versions: this.store.versions(related) });
    const related = components(this.store, threads.map(threadOf), context.manual);
    return together(related.map((some) => known(some) ?? linkThreads(this.store, some, context).forest));
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
