import type { Exchange, ExchangeFilter, RecordedExchange } from "../core/facts/exchange.ts";
import { type AgentKey, type CallKey, placeName, placeOf, threadOf } from "../core/facts/ids.ts";
import type { Observation } from "../core/facts/observation.ts";
import type { Problem } from "../core/facts/problem.ts";
import { OFFERED, SOUGHT } from "../core/link/lineage-keys.ts";
import { crossKeys, threadsIn } from "../core/link/mentions.ts";
import {
  type AgentRow,
  type Facts,
  type FileBatch,
  type FileState,
  type FolderKey,
  folderOf,
  type IndexedText,
  type ProblemCount,
  type Projection,
  type RootFilter,
  type RootRow,
  type Seals,
  type SearchHit,
  type Store,
  type TextBatch,
  type TextDue,
  type TextPosition,
} from "../core/ports/store.ts";
import { cached } from "../core/tools/collections.ts";
import type { SpentRow } from "../core/views/stats.ts";
import {
  continues,
  describesFile,
  isDescribedAnew,
  isUnfinished,
  textDueAfter,
  withFileState,
  wordsOf,
} from "./consistency.ts";

/** Threads, and the keys by which each is joined to others. */
type Held = Map<AgentKey, Set<string>>;

interface StoredFile {
  state: FileState;
  observations: Observation[];
  /** Of all threads that its observations name. */
  held: Held;
  problems: Problem[];
  texts: IndexedText[];
  /** How far the text is indexed, if not to the end. */
  textsFrom: TextPosition | null;
  exchanges: ReadonlyMap<string, Exchange>;
}

interface ThreadRow {
  readonly key: AgentKey;
  version: number;
  projected: number;
  roots: RootRow[];
  agents: AgentRow[];
  problems: Problem[];
  spent: readonly SpentRow[];
}

/** Keeps everything in memory. For tests, and if nothing can be written. */
export class MemoryStore implements Store {
  readonly #files = new Map<string, StoredFile>();
  /** In how many files each thread holds each key. */
  readonly #holders = new Map<string, Map<AgentKey, number>>();
  readonly #threads = new Map<AgentKey, ThreadRow>();
  readonly #notes = new Map<string, string>();
  readonly #seals = new Map<FolderKey, number>();

  file(path: string): FileState | null {
    return this.#files.get(path)?.state ?? null;
  }

  filesIn(folder: FolderKey): readonly FileState[] {
    return this.#states().filter((state) => state.within === null && folderOf(state) === folder);
  }

  objectsIn(database: string): readonly FileState[] {
    return this.#states().filter((state) => state.within === database);
  }

  unfinished(): readonly FileState[] {
    return this.#states().filter((state) => state.within === null && isUnfinished(state));
  }

  fileCount(): number {
    return this.#files.size;
  }

  #states(): FileState[] {
    return [...this.#files.values()].map((file) => file.state);
  }

  seals(): Seals {
    return this.#seals;
  }

  seal(folders: ReadonlyMap<FolderKey, number | null>): void {
    for (const [folder, seal] of folders) {
      if (seal === null) this.#seals.delete(folder);
      else this.#seals.set(folder, seal);
    }
  }

  commit(batches: readonly FileBatch[]): readonly boolean[] {
    return batches.map((batch) => {
      const known = this.#files.get(batch.after.path);
      if (!continues(known?.state ?? null, batch.before)) return false;
      const isAppended = known !== undefined && known.state.generation === batch.after.generation;
      const rows = new Set(batch.replaces ?? []);
      const places = new Set([...rows].map((row) => placeName(batch.after.path, 0, row)));
      const added = [...batch.facts];
      const kept = isAppended ? known.observations.filter((o) => !places.has(placeOf(o.id))) : [];
      const due = textDueAfter(batch, isAppended ? known.textsFrom : null, isAppended);
      const texts = due === null ? (batch.texts ?? []) : [];
      const isLonger = isAppended && rows.size === 0;
      if (!isLonger) this.#drop(known?.held);
      const held = isLonger ? known.held : new Map();
      this.#hold(held, isLonger ? added : [...kept, ...added]);
      const described = isDescribedAnew(known?.state ?? null, batch.after)
        ? kept.filter(describesFile).map(({ speaker }) => threadOf(speaker))
        : [];
      const touched = new Set([
        ...added.flatMap(threadsIn),
        ...described,
        ...(isLonger ? [] : (known?.held.keys() ?? [])),
      ]);
      this.#files.set(batch.after.path, {
        state: batch.after,
        observations: [...kept, ...added],
        held,
        problems: [...(isAppended ? known.problems.filter((p) => !places.has(p.where)) : []), ...batch.problems],
        exchanges: new Map([
          ...(isAppended ? known.exchanges : []),
          ...(batch.exchanges ?? []).map((e) => [e.id, e] as const),
        ]),
        texts: [
          ...(isAppended ? known.texts.filter((t) => !("row" in t.place && rows.has(t.place.row))) : []),
          ...texts,
        ],
        textsFrom: due,
      });
      for (const thread of touched) this.#thread(thread).version += 1;
      return true;
    });
  }

  #thread(key: AgentKey): ThreadRow {
    const empty = { key, version: 0, projected: 0, roots: [], agents: [], problems: [], spent: [] };
    return cached(this.#threads, key, () => empty);
  }

  stale(): readonly AgentKey[] {
    return [...this.#threads].filter(([, t]) => t.version > t.projected).map(([key]) => key);
  }

  changedByOthers(): readonly AgentKey[] {
    return [];
  }

  /** Does nothing: all facts are in memory. */
  setFactCacheSize(): void {}

  invalidate(): void {
    for (const thread of this.#threads.values()) thread.projected = 0;
  }

  related(threads: readonly AgentKey[]): readonly AgentKey[] {
    const found = new Set(threads);
    for (const thread of found)
      for (const { held } of this.#files.values())
        for (const key of held.get(thread) ?? [])
          for (const name of joinedBy(key)) for (const other of this.#holders.get(name)?.keys() ?? []) found.add(other);
    return [...found];
  }

  #hold(held: Held, observations: readonly Observation[]): void {
    const hold = (key: string, thread: AgentKey) => {
      const own = cached(held, thread, () => new Set());
      if (own.has(key)) return;
      own.add(key);
      const holders = cached(this.#holders, key, () => new Map());
      holders.set(thread, (holders.get(thread) ?? 0) + 1);
    };
    for (const o of observations) {
      for (const thread of threadsIn(o)) hold(thread, thread);
      for (const key of crossKeys(o)) hold(key, threadOf(o.speaker));
    }
  }

  #drop(held: Held = new Map()): void {
    for (const [thread, keys] of held)
      for (const key of keys) {
        const holders = this.#holders.get(key);
        const left = (holders?.get(thread) ?? 1) - 1;
        if (left > 0) holders?.set(thread, left);
        else holders?.delete(thread);
        if (holders?.size === 0) this.#holders.delete(key);
      }
  }

  versions(threads: readonly AgentKey[]): Facts["versions"] {
    return new Map(threads.map((key) => [key, this.#threads.get(key)?.version ?? 0]));
  }

  facts(threads: readonly AgentKey[], under: readonly string[]): Facts {
    const wanted = new Set(threads);
    const all = [...this.#files.values()].filter((f) => threads.some((thread) => f.held.has(thread)));
    const files = all.filter((f) => under.includes(f.state.root));
    return {
      scattered: new Set(all.map((f) => f.state.root)).size > 1,
      observations: files.flatMap((f) =>
        f.observations.filter((o) => wanted.has(threadOf(o.speaker))).map((o) => withFileState(o, f.state)),
      ),
      folds: [],
      versions: this.versions(threads),
    };
  }

  project(...projections: readonly Projection[]): readonly boolean[] {
    return projections.map((projection) => this.#project(projection));
  }

  #project({ versions, roots, agents, spent, problems }: Projection): boolean {
    if ([...versions].some(([key, version]) => this.#thread(key).projected > version)) return false;
    for (const [key, version] of versions)
      Object.assign(this.#thread(key), { projected: version, roots: [], agents: [], problems: [], spent: [] });
    const first = versions.keys().next().value;
    if (first !== undefined) Object.assign(this.#thread(first), { problems });
    for (const root of roots) this.#thread(threadOf(root.key)).roots.push(root);
    for (const [root, rows] of spent) this.#thread(threadOf(root)).spent = rows;
    for (const agent of agents) this.#thread(threadOf(agent.key)).agents.push(agent);
    return true;
  }

  #visible(under: readonly string[]): ThreadRow[] {
    const files = [...this.#files.values()].filter((f) => under.includes(f.state.root));
    const threads = new Set(files.flatMap((f) => [...f.held.keys()]));
    return [...this.#threads].filter(([key]) => threads.has(key)).map(([, row]) => row);
  }

  roots({ under, provider, since, limit, after }: RootFilter): readonly RootRow[] {
    return this.#visible(under)
      .flatMap((t) => t.roots)
      .filter(
        (r) => (provider === undefined || r.provider === provider) && (since === undefined || r.lastActivity >= since),
      )
      .sort(newestFirst)
      .filter((r) => after === undefined || newestFirst(after, r) < 0)
      .slice(0, limit);
  }

  unsettled(under: readonly string[], since: number): readonly AgentKey[] {
    const rows = this.roots({ under, since, limit: Number.POSITIVE_INFINITY });
    return rows.filter(({ settled }) => !settled).map(({ key }) => key);
  }

  named(id: string, under: readonly string[]): readonly AgentRow[] {
    const prefix = id.toLowerCase();
    const fits = (own: string | null) => own?.toLowerCase().startsWith(prefix) === true;
    return this.#visible(under)
      .flatMap((t) => t.agents)
      .filter((a) => fits(a.sessionId) || fits(a.agentId))
      .sort((a, b) => (a.uri < b.uri ? -1 : 1));
  }

  spent(under: readonly string[], since: string | null): readonly SpentRow[] {
    return this.#visible(under)
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .flatMap((t) => t.spent)
      .filter((row) => since === null || (row.day ?? "") >= since);
  }

  search(words: readonly string[], under: readonly string[], limit: number): readonly SearchHit[] {
    const wanted = words.flatMap(wordsOf);
    if (wanted.length === 0) return [];
    const fits = (texts: readonly string[]) =>
      wanted.every((word, i) => texts.some((w) => (i === wanted.length - 1 ? w.startsWith(word) : w === word)));
    const seen = new Set<unknown>();
    const files = [...this.#files.values()].filter((f) => under.includes(f.state.root));
    return files
      .flatMap((f) => f.texts.filter((t) => fits(wordsOf(t.text))).map((t) => ({ ...t, path: f.state.path })))
      .filter((t) => {
        const what = t.record ?? `${t.path}:${"row" in t.place ? t.place.row : t.place.line}`;
        return !seen.has(what) && seen.add(what);
      })
      .sort((a, b) => (b.at ?? 0) - (a.at ?? 0))
      .slice(0, limit)
      .map(({ speaker, path, place, at }) => ({ speaker, path, place, at }));
  }

  textsDue(under: readonly string[]): readonly TextDue[] {
    return [...this.#files.values()]
      .flatMap(({ state: { path, root, modifiedMs, offset }, textsFrom }) =>
        textsFrom === null || !under.includes(root) ? [] : [{ path, modifiedMs, bytes: offset - textsFrom.offset }],
      )
      .sort((a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : 1));
  }

  textPosition(path: string): TextPosition | null {
    return this.#files.get(path)?.textsFrom ?? null;
  }

  addTexts(batches: readonly TextBatch[]): void {
    for (const { file, from, to, texts } of batches) {
      const known = this.#files.get(file.path);
      if (known === undefined || known.state.generation !== file.generation || known.textsFrom?.offset !== from.offset)
        continue;
      known.texts.push(...texts);
      known.textsFrom = to.offset < known.state.offset ? to : null;
    }
  }

  exchanges({ under, thread, speakers, limit, after }: ExchangeFilter): readonly RecordedExchange[] {
    return this.#exchangesIn(under)
      .filter(
        (e) =>
          (thread === undefined || e.thread === thread) && (speakers === undefined || speakers.includes(e.speaker)),
      )
      .sort(latestFirst)
      .filter((e) => after === undefined || latestFirst(after, e) < 0)
      .slice(0, limit);
  }

  exchange(id: string, under: readonly string[]): RecordedExchange | null {
    return this.#exchangesIn(under).find((e) => e.id === id) ?? null;
  }

  exchangeOfCall(call: CallKey, under: readonly string[]): RecordedExchange | null {
    const found = this.#exchangesIn(under).filter((e) => e.invocations.some((i) => i.call === call));
    return found.sort(latestFirst).at(-1) ?? null;
  }

  #exchangesIn(under: readonly string[]): RecordedExchange[] {
    const files = [...this.#files.values()].filter((f) => under.includes(f.state.root));
    return files.flatMap((f) => [...f.exchanges.values()].map((e) => ({ ...e, file: f.state.path })));
  }

  problemsOf(files: readonly string[], within: readonly string[]): readonly Problem[] {
    const isWanted = (path: string) => files.includes(path) || within.some((folder) => path.startsWith(`${folder}/`));
    return [...this.#files].flatMap(([path, file]) => (isWanted(path) ? file.problems : []));
  }

  problems(examples: number): readonly ProblemCount[] {
    const all = [
      ...[...this.#files.values()].flatMap((f) => f.problems),
      ...[...this.#threads.values()].flatMap((t) => t.problems),
    ];
    const byCode = [...Map.groupBy(all, (p) => p.code)].sort(([a], [b]) => (a < b ? -1 : 1));
    return byCode.map(([code, list]) => ({
      code,
      count: list.reduce((sum, p) => sum + (p.times ?? 1), 0),
      examples: list.slice(0, examples),
    }));
  }

  note(name: string): string | null {
    return this.#notes.get(name) ?? null;
  }

  setNote(name: string, value: string): void {
    this.#notes.set(name, value);
  }

  close(): void {}
}

function newestFirst(a: Pick<RootRow, "lastActivity" | "key">, b: Pick<RootRow, "lastActivity" | "key">): number {
  return b.lastActivity - a.lastActivity || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}

/** The ids of one proxy sort by time, so they order requests of the same millisecond. */
function latestFirst(a: Pick<Exchange, "at" | "id">, b: Pick<Exchange, "at" | "id">): number {
  return b.at - a.at || (a.id > b.id ? -1 : a.id < b.id ? 1 : 0);
}

/** The keys whose threads are joined to those with this key. */
function joinedBy(key: string): readonly string[] {
  if (key.startsWith(SOUGHT)) return [`${OFFERED}${key.slice(SOUGHT.length)}`];
  return key.startsWith(OFFERED) ? [key, `${SOUGHT}${key.slice(OFFERED.length)}`] : [key];
}
