import { randomUUID } from "node:crypto";
import { type AgentKey, partsOf, threadOf } from "../../core/facts/ids.ts";
import type { Problem } from "../../core/facts/problem.ts";
import { type Forest, mergeForests } from "../../core/link/forest.ts";
import { STALE_AFTER_MS } from "../../core/link/states.ts";
import type { Provider } from "../../core/ports/provider.ts";
import type { FileState, RootFilter, RootRow, Store } from "../../core/ports/store.ts";
import { hash } from "../../core/tools/hash.ts";
import { isWithin } from "../../core/tools/recorded-path.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import { type Price, treeOf, withoutChildren } from "../../core/views/record.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { isFresh } from "../../transports/database.ts";
import { noReads, type ReadCounts } from "../../transports/files.ts";
import { processLiveness } from "../../transports/processes.ts";
import { keptPath } from "../kept/kept-file.ts";
import { Manual } from "../kept/manual.ts";
import { type Amount, Backlog, COLD_CACHE, PORTIONS, postponed, type Reading } from "./backlog.ts";
import { addDeleted, findChangedFiles } from "./changed-files.ts";
import { bothChanges, type Changes, NO_CHANGES } from "./changes.ts";
import { type Discovery, type Found, knownAs, Lookup, objectPath, type RootSeen } from "./discover.ts";
import { readPage } from "./first-page.ts";
import { Forests } from "./forests.ts";
import { type FileToRead, toRead } from "./groups.ts";
import { homesOf } from "./homes.ts";
import { Index, indexPath } from "./index-file.ts";
import type { LibraryOptions, ThreadFilter, ThreadRow } from "./library-options.ts";
import { components, type LinkContext, linkThreads, projectStale, projectThreads } from "./project.ts";
import { type Slices, type SyncOptions, sync } from "./sync.ts";
import { TextIndex } from "./text-index.ts";
import { unfinishedIn } from "./unfinished.ts";

export type { LibraryOptions, OnProgress, ThreadFilter, ThreadPlace, ThreadRow } from "./library-options.ts";

const PAGE = 200;
const LITTLE_BYTES = 1 << 20;
/** By default the file systems of these platforms are case-insensitive. */
const IGNORES_CASE = process.platform === "darwin" || process.platform === "win32";

/** The records of all agents on this machine, as of the last `refresh`. */
export class Library {
  readonly #options: LibraryOptions;
  readonly #homeOf: NonNullable<LinkContext["homeOf"]>;
  readonly counts: ReadCounts = noReads();
  #discovery: Discovery = { roots: [], problems: [] };
  #lookup = new Lookup([]);
  readonly #unreadable = new Map<string, Problem>();
  #forests = new Forests(false);
  readonly index: Index;
  readonly #manual = new Manual();
  /** Size of the fact cache; 0 if facts and forests are not cached. */
  #factCacheBytes = 0;
  #backlog: Backlog | null = null;
  readonly #longLines: Slices["longLines"] = new Map();
  /** The full text: what is indexed and what is not. */
  readonly texts = new TextIndex(this);
  /** No agent runs for longer than this without writing a record. */
  readonly longestSilenceMs = 24 * 3_600_000;

  constructor(options: LibraryOptions) {
    this.#options = options;
    this.#homeOf = homesOf(options.env, this.providers);
    this.index = options.store instanceof Index ? options.store : Index.of(options.store);
  }

  get env(): LibraryOptions["env"] {
    return this.#options.env;
  }

  get providers(): readonly Provider[] {
    return this.#options.providers ?? PROVIDERS;
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

  /** The folders that are read. */
  get under(): readonly string[] {
    return this.#discovery.roots.map((r) => r.path);
  }

  /** The file with manual links, cards and the outbox; it may not exist. */
  get decisions(): string {
    return keptPath(this.#options.env);
  }

  /** Current problems: folders and files that cannot be read. */
  get problems(): readonly Problem[] {
    const { trouble } = this.index;
    const own: Problem[] = [
      ...(trouble === null
        ? []
        : [{ code: "index-unusable" as const, where: indexPath(this.#options.env), detail: trouble }]),
      ...(this.#manual.isUndecided
        ? [{ code: "decisions-unreadable" as const, where: this.decisions, detail: "manual links are as last known" }]
        : []),
    ];
    return [...own, ...this.#discovery.problems, ...this.#unreadable.values()];
  }

  /** Last lines that are incomplete, and transcripts that are empty so far. */
  unfinished(): readonly Problem[] {
    return unfinishedIn(this.store.unfinished(), (path) => this.source(path));
  }

  now(): number {
    return (this.#options.now ?? Date.now)();
  }

  /**
   * Reads what is new on disk, and links and projects the changed threads.
   * With a page, it may stop once the threads of that page are correct; `reading` then shows how much is left, and
   * `catchUp` reads it.
   */
  refresh(page?: ThreadFilter): Promise<Changes> {
    return this.#withStore(() => this.#refresh(page));
  }

  /** Progress of the reading; null if everything was read that the last discovery found. */
  get reading(): Reading | null {
    return this.#backlog?.reading ?? null;
  }

  /** Whether `catchUp` may have something to do. */
  get isBehind(): boolean {
    return this.#backlog !== null || this.texts.isBehind;
  }

  /** Does the next portion of postponed work: reads the newest unread files, then indexes text. */
  catchUp(): Promise<Changes> {
    return this.#withStore(async () => {
      if (this.#backlog === null) {
        await this.texts.next();
        return NO_CHANGES;
      }
      const { isOfChanges, isLarge } = this.#backlog;
      if (this.#factCacheBytes > 0)
        this.store.setFactCacheSize(isLarge ? Math.min(COLD_CACHE, this.#factCacheBytes) : this.#factCacheBytes);
      const paths = this.#backlog.nextPortion(PORTIONS.late);
      if (paths.length === 0) this.#backlog = null;
      const changes =
        paths.length > 0 || isOfChanges ? await this.#refreshPaths(paths, PORTIONS.all) : await this.#findMore();
      this.#reportProgress();
      return changes;
    });
  }

  /** Indexes the next portion of text, and returns the bytes read for that: 0 if all text is indexed. */
  indexTexts(): Promise<number> {
    return this.#withStore(() => this.texts.next());
  }

  #reportProgress(): void {
    const { done, all, bytes, allBytes } = this.reading ?? { done: 1, all: 1, bytes: 1, allBytes: 1 };
    this.#options.onProgress?.(done, all, { done: bytes, all: allBytes });
  }

  /** Reads files that were reported as changed. Of many new ones only some are read; the rest is left to `catchUp`. */
  refreshChanged(paths: readonly string[]): Promise<Changes> {
    return this.#withStore(() => this.#refreshPaths(paths, PORTIONS.changed));
  }

  /** Drops what was derived from a store that was replaced. */
  #startOver(): void {
    this.enableCaches(this.#factCacheBytes);
    this.texts.forget();
    this.#unreadable.clear();
  }

  #withStore<T>(work: () => Promise<T>): Promise<T> {
    return this.index.run(work, async () => {
      this.#startOver();
      await this.#refresh();
    });
  }

  /** Runs a query. If it finds the index damaged, the index is rebuilt and the query runs again. */
  async query<T>(run: () => T | Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (!this.index.reportFault(error)) throw error;
      await this.refreshPaths([]);
      return run();
    }
  }

  /**
   * Returns to the index file once it can be written again. It is filled first; until then the memory store is used.
   */
  async returnToFile(): Promise<boolean> {
    const isBack = await this.index.returnToFile(
      async (store) => void (await new Library({ ...this.#options, store }).refresh()),
    );
    if (isBack) this.#startOver();
    return isBack;
  }

  async #refresh(page?: ThreadFilter): Promise<Changes> {
    const { env, providers, roots, littleBytes = LITTLE_BYTES, onProgress } = this.#options;
    const seen = await findChangedFiles({ env, store: this.store, providers, roots });
    this.#setDiscovery({ roots: seen.roots, problems: seen.problems });
    this.#backlog = null;
    this.texts.forget();
    const there = [...seen.files.values()].filter((found) => found !== null);
    if (page === undefined || there.reduce((sum, { stamp }) => sum + stamp.size, 0) <= littleBytes) {
      const changes = await this.#take(seen.files, seen.known, onProgress === undefined ? {} : { onProgress });
      seen.seal();
      return changes;
    }
    const backlog = new Backlog();
    backlog.add(there.map(toRead));
    let changes = await this.#take(new Map([...seen.files].filter(([, found]) => found === null)), seen.known);
    await readPage(this, backlog, page, async (paths) => {
      this.#backlog = backlog;
      changes = bothChanges(changes, await this.#refreshPaths(paths));
      this.#reportProgress();
    });
    this.#backlog = backlog;
    return backlog.newestMs === null ? bothChanges(changes, await this.#refresh()) : changes;
  }

  /** Finds what is new anywhere. If it is much, or files wait already, it is left to `catchUp`. */
  findMore(): Promise<Changes> {
    return this.#withStore(() => this.#findMore());
  }

  async #findMore(): Promise<Changes> {
    const { env, providers, roots, littleBytes = LITTLE_BYTES } = this.#options;
    const waiting = this.#backlog;
    const more: FileToRead[] = [];
    const seen = await findChangedFiles({
      env,
      store: this.store,
      providers,
      roots,
      onFresh: (found) => {
        if (waiting?.has(found.path) !== true) more.push(toRead(found));
      },
    });
    this.#setDiscovery({ roots: seen.roots, problems: seen.problems });
    const changes = await this.#take(seen.files, seen.known);
    seen.seal();
    if (waiting === null && more.reduce((sum, { size }) => sum + size, 0) <= littleBytes)
      return bothChanges(changes, await this.#refreshPaths(more.map(({ path }) => path)));
    this.#backlog = waiting ?? new Backlog();
    this.#backlog.isOfChanges = false;
    this.#backlog.add(more);
    return changes;
  }

  /** Skips discovery: `refreshPaths` then reads single files below these folders. */
  setRoots(roots: readonly RootSeen[]): void {
    this.#setDiscovery({ roots, problems: [] });
  }

  #setDiscovery(discovery: Discovery): void {
    this.#discovery = discovery;
    this.#lookup = new Lookup(discovery.roots);
  }

  /** Refreshes single files: new, changed and deleted ones. */
  refreshPaths(paths: readonly string[]): Promise<Changes> {
    return this.#withStore(() => this.#refreshPaths(paths));
  }

  /** Changes whenever the file on disk changes; null if it must be read again to know. */
  stampOf(path: string): string | null {
    const known = knownAs(path);
    const found = this.#lookup.at(known);
    if (found === null) return "";
    const isObject = (where: string) => where === known || where.startsWith(objectPath(known, ""));
    if (this.#unreadable.size > 0 && [...this.#unreadable.keys()].some(isObject)) return null;
    if (found.stream.shape === "database" && isFresh(known)) return null;
    const { identity, size, modifiedMs } = found.stamp;
    return `${identity} ${size} ${modifiedMs}`;
  }

  /** `most`: new files beyond this are left to the backlog, and files are read in slices. */
  async #refreshPaths(paths: readonly string[], most?: Amount): Promise<Changes> {
    const { store } = this;
    const files = new Map<string, Found | null>();
    const known = new Map<string, FileState>();
    const arrived: Found[] = [];
    for (const path of new Set(paths.map(knownAs))) {
      const found = this.#lookup.at(path);
      const state = store.file(path);
      if (found === null && state !== null) addDeleted(store, state, files, known);
      if (found === null) continue;
      if (state === null) arrived.push(found);
      else known.set(path, state);
      files.set(path, found);
    }
    if (most === undefined) return this.#take(files, known);
    const later = postponed(arrived.map(toRead), most);
    if (later.length > 0) this.#changedBacklog.add(later);
    for (const { path } of later) files.delete(path);
    const left = new Set<string>();
    const slices = { onLeft: (path: string) => left.add(path), longLines: this.#longLines };
    const changes = await this.#take(files, known, { slices });
    if (left.size > 0 || this.#backlog !== null)
      for (const path of files.keys()) this.#changedBacklog.readPart(path, !left.has(path));
    return changes;
  }

  /** The backlog, for files that were reported as changed. */
  get #changedBacklog(): Backlog {
    this.#backlog ??= new Backlog({ isOfChanges: true });
    return this.#backlog;
  }

  async #take(
    files: ReadonlyMap<string, Found | null>,
    known: ReadonlyMap<string, FileState>,
    { onProgress, slices }: Pick<SyncOptions, "onProgress" | "slices"> = {},
  ): Promise<Changes> {
    const { env, price } = this.#options;
    const { store } = this;
    const rootOf = (path: string) => this.roots.find((r) => r.path === path);
    const moved = await this.#manual.read(env, store);
    this.#followBasis();
    const threads = new Set<AgentKey>(moved);
    const noticeOthers = () => {
      const byOthers = store.changedByOthers();
      if (byOthers.length > 0) this.texts.forget();
      for (const thread of byOthers) threads.add(thread);
    };
    noticeOthers();
    const project = (later?: (thread: AgentKey) => boolean) => {
      for (const thread of projectStale(store, this.#context(), price, later)) threads.add(thread);
    };
    for (const [where] of this.#unreadable)
      if (files.has(where) || [...files.keys()].some((path) => where.startsWith(objectPath(path, ""))))
        this.#unreadable.delete(where);
    const changed = await sync(store, { files, rootOf }, known, {
      counts: this.counts,
      onUnreadable: (problem) => this.#unreadable.set(problem.where, problem),
      ...(onProgress === undefined ? {} : { onProgress }),
      slices,
      onTextsLeft: (paths) => this.texts.leave(paths),
      // The file being read names its thread; that one is not complete yet.
      onWritten: (reading, written) =>
        project((thread) => !written.has(thread) || reading.includes(partsOf(thread).thread)),
    });
    // Another process may have read files meanwhile.
    if (changed.length > 0) noticeOthers();
    project();
    this.#manual.follow(store, (thread) => projectThreads(store, [thread], this.#context(), price));
    return { threads, files: new Map(changed.map((path) => [path, known.get(path)?.lines ?? 0])) };
  }

  /** Caches facts and forests, for repeated queries about the same threads. */
  enableCaches(factBytes: number): void {
    this.#factCacheBytes = factBytes;
    this.#forests = new Forests(factBytes > 0);
    if (factBytes > 0) this.store.setFactCacheSize(factBytes);
  }

  /** Drops cached facts and forests. They are loaded again when they are needed. */
  release(): void {
    this.store.setFactCacheSize(0);
    this.enableCaches(this.#factCacheBytes);
  }

  /** Projects threads anew whose status may change without a new record. Returns whether any may still change. */
  recheck(): Promise<boolean> {
    return this.#withStore(async () => {
      projectThreads(this.store, this.unsettled().map(threadOf), this.#context(), this.#options.price);
      return this.mayChange();
    });
  }

  /** Whether the status of any thread may change without a new record. */
  mayChange(): boolean {
    return this.unsettled().length > 0;
  }

  /** The threads whose status may change without a new record. */
  unsettled(): readonly AgentKey[] {
    return this.store.unsettled(this.under, this.now() - this.longestSilenceMs);
  }

  #context(): LinkContext {
    const { liveness = processLiveness, staleAfterMs = STALE_AFTER_MS } = this.#options;
    const [manual, under] = [this.#manual.links, this.under];
    return {
      now: this.now(),
      liveness,
      staleAfterMs,
      manual,
      under,
      homeOf: this.#homeOf,
      onForest: (versions, forest) => this.#forests.keep({ versions, manual, under }, forest),
    };
  }

  #followBasis() {
    const { basis = "" } = this.#options;
    const { store } = this;
    if ((store.note("basis") ?? "") === basis) return;
    store.invalidate();
    store.setNote("basis", basis);
  }

  /** The trees that contain these threads, as of now. */
  forestOf(threads: readonly AgentKey[]): Forest {
    const context = this.#context();
    const known = (related: readonly AgentKey[]) =>
      this.#forests.find({ ...context, versions: this.store.versions(related) });
    const related = components(this.store, threads.map(threadOf), context.manual);
    return mergeForests(related.map((some) => known(some) ?? linkThreads(this.store, some, context).forest));
  }

  /** Changes whenever the tree of this thread may have changed, except by the time alone. Not valid for other indexes. */
  versionOf(thread: AgentKey): string {
    const { store } = this;
    const { manual, under } = this.#context();
    const related = components(store, [threadOf(thread)], manual).flat();
    const index = store.note("serial") ?? randomUUID();
    if (store.note("serial") === null) store.setNote("serial", index);
    const versions = [...store.versions(related)].sort(([a], [b]) => (a < b ? -1 : 1));
    return String(hash(JSON.stringify([index, this.#options.basis ?? "", manual, under, versions])));
  }

  /** All trees, newest first, one forest at a time, so that memory does not grow with their number. */
  *forests(): Generator<Forest> {
    const seen = new Set<AgentKey>();
    for (const { key } of this.#rows({})) {
      if (seen.has(key)) continue;
      const forest = this.forestOf([key]);
      for (const root of forest.roots) seen.add(root);
      yield forest;
    }
  }

  /** Records of top-level threads, newest activity first. Those whose status may change are linked as of now. */
  *threads(filter: ThreadFilter): Generator<AgentRecord> {
    for (const { record } of this.threadRows(filter)) yield record;
  }

  /** The records of `threads`, with the position of each, so that the next page can continue after it. */
  *threadRows(filter: ThreadFilter): Generator<ThreadRow> {
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

  /** The file, or the object of a database, behind the path in a record, if it still exists. */
  source(path: string): Found | undefined {
    const file = this.#lookup.at(path);
    const state = file === null ? this.store.file(path) : null;
    if (state === null || state.within === null || state.gone) return file ?? undefined;
    const database = this.#lookup.at(state.within);
    return database === null
      ? undefined
      : { ...database, object: path.slice(state.within.length + 1), stamp: { ...database.stamp, size: state.size } };
  }

  close(): void {
    this.store.close();
  }
}
