import { cached } from "../../core/tools/collections.ts";
import { type FileToRead, type Group, groupsOf } from "./groups.ts";

/** How unread files that may belong to a tree are recognised. */
export interface TreeNames {
  /** Native ids of its threads and agents. */
  readonly ids: readonly string[];
  /** Folders of its transcripts. */
  readonly folders: readonly string[];
  readonly startedMs: number | null;
}

/** Reading progress. */
export interface Reading {
  /** Files read, out of `all`. */
  readonly done: number;
  readonly all: number;
  readonly bytes: number;
  readonly allBytes: number;
  /** Estimated from the speed so far; null before anything was read. */
  readonly leftMs: number | null;
  /** All files modified after this time have been read. */
  readonly reachesMs: number;
}

type Most = Amount & { readonly groups?: number };

export interface Amount {
  readonly files: number;
  readonly bytes: number;
}

/** How much is read at once. */
export const PORTIONS = {
  /** In the background, before requests are handled again. */
  late: { bytes: 1 << 20, files: 100 },
  /** Of new files that were reported; the rest is left to the background. */
  changed: { bytes: 8 << 20, files: 200 },
  all: { bytes: Number.POSITIVE_INFINITY, files: Number.POSITIVE_INFINITY },
} as const;
/** Size of the fact cache while many old files are read, which are not needed again. */
export const COLD_CACHE = 8 << 20;

/** What is left of these files if only some are read, of each folder in turn. */
export function postponed(files: readonly FileToRead[], most: Amount): readonly FileToRead[] {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (files.length <= most.files && bytes <= most.bytes) return [];
  const backlog = new Backlog();
  backlog.add(files);
  const now = new Set(backlog.nextOfEachFolder(most));
  return files.filter(({ path }) => !now.has(path));
}

const amountOf = ({ files, bytes }: Group): Amount => ({ files: files.length, bytes });
const plus = (a: Amount, b: Amount, sign: 1 | -1 = 1): Amount => ({
  files: a.files + sign * b.files,
  bytes: a.bytes + sign * b.bytes,
});

/** Ids in the name of a file or folder. */
const IDS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\w{6,}/gi;

const fits = (group: Group, files: number, bytes: number, most: Amount) =>
  bytes + group.bytes <= most.bytes && files + group.files.length <= most.files;

/** Many times the files of agents at work. */
const LARGE = 1_000;
/** One of so many portions has files of each folder in turn. */
const IN_TURN_EVERY = 3;

/** Groups that were added together, newest first; those before `at` were taken. */
interface Run {
  readonly groups: readonly Group[];
  at: number;
}

/** Unread files, newest group first. */
export class Backlog {
  readonly #left = new Set<Group>();
  readonly #paths = new Set<string>();
  #runs: Run[] = [];
  #portions = 0;
  /** By folder, the newest last; the folder that was read least recently first. */
  readonly #folders = new Map<string, Group[]>();
  /** Files that were read in part; the one that was read least recently first. */
  readonly #parts = new Set<string>();
  #all: Amount = { files: 0, bytes: 0 };
  #unread: Amount = { files: 0, bytes: 0 };
  readonly #began = performance.now();
  #byId: ReadonlyMap<string, readonly Group[]> | null = null;

  /** Whether it has only files that were reported as changed, while everything else was read before. */
  isOfChanges: boolean;

  constructor({ isOfChanges = false } = {}) {
    this.isOfChanges = isOfChanges;
  }

  get isLarge(): boolean {
    return this.#unread.files > LARGE;
  }

  has = (path: string): boolean => this.#paths.has(path);

  /** Adds files that are not waiting yet. */
  add(files: readonly FileToRead[]): void {
    const groups = groupsOf(files.filter(({ path }) => !this.#paths.has(path)));
    if (groups.length === 0) return;
    for (const group of groups.toReversed()) {
      this.#left.add(group);
      cached(this.#folders, group.folder, () => []).push(group);
      for (const { path } of group.files) this.#paths.add(path);
      const amount = amountOf(group);
      [this.#all, this.#unread] = [plus(this.#all, amount), plus(this.#unread, amount)];
    }
    this.#runs.push({ groups, at: 0 });
    this.#byId = null;
  }

  /** A part of the file was read. Files of which more is to be read take turns. */
  readPart(path: string, isWhole: boolean): void {
    this.#parts.delete(path);
    if (!isWhole) this.#parts.add(path);
  }

  /** The next file of which another part is to be read, if there is one. */
  #nextPart(): readonly string[] {
    return [...this.#parts.keys().take(1)];
  }

  get reading(): Reading {
    const [{ files, bytes: allBytes }, left] = [this.#all, this.#unread];
    const bytes = allBytes - left.bytes;
    const leftMs = bytes === 0 ? null : Math.round(((performance.now() - this.#began) / bytes) * left.bytes);
    const all = files + this.#parts.size;
    return { done: files - left.files, all, bytes, allBytes, leftMs, reachesMs: this.newestMs ?? 0 };
  }

  /** Modification time of the newest unread file; null if there is none. */
  get newestMs(): number | null {
    return this.#newest()?.modifiedMs ?? null;
  }

  #newest(): Group | undefined {
    let newest: Group | undefined;
    for (const run of this.#runs) {
      let group = run.groups[run.at];
      while (group !== undefined && !this.#left.has(group)) group = run.groups[++run.at];
      if (group !== undefined && (newest === undefined || group.modifiedMs > newest.modifiedMs)) newest = group;
    }
    return newest;
  }

  /** Takes the newest groups within the limits, at least one. */
  next(most: Most): readonly string[] {
    const taken: string[] = [];
    let [bytes, groups] = [0, 0];
    for (let group = this.#newest(); group !== undefined; group = this.#newest()) {
      if (groups > 0 && (!fits(group, taken.length, bytes, most) || groups === most.groups)) break;
      taken.push(...this.#take([group]));
      [bytes, groups] = [bytes + group.bytes, groups + 1];
    }
    this.#runs = this.#runs.filter(({ groups: { length }, at }) => at < length);
    return taken;
  }

  /**
   * The same, but the newest groups of each folder in turn: if a home is copied, its files are as new as those of agents
   * at work elsewhere. Groups that are too large do not hold up others.
   */
  nextOfEachFolder(most: Amount): readonly string[] {
    const taken: string[] = [];
    let bytes = 0;
    for (let leftOut = 0; leftOut < this.#folders.size; leftOut += 1) {
      const group = this.#nextInTurn();
      if (group === undefined || !fits(group, taken.length, bytes, most)) continue;
      taken.push(...this.#take([group]));
      bytes += group.bytes;
      leftOut = -1;
    }
    return taken.length > 0 ? taken : this.next(most);
  }

  /** What is to be read next: mostly the newest files, now and then those of each folder, and a part of a large one. */
  nextPortion(most: Amount): readonly string[] {
    this.#portions += 1;
    const isInTurn = this.#portions % IN_TURN_EVERY === 0;
    return [...(isInTurn ? this.nextOfEachFolder(most) : this.next(most)), ...this.#nextPart()];
  }

  #nextInTurn(): Group | undefined {
    for (const [folder, groups] of this.#folders) {
      this.#folders.delete(folder);
      let group = groups.pop();
      while (group !== undefined && !this.#left.has(group)) group = groups.pop();
      if (group === undefined) continue;
      // Taken if it fits.
      groups.push(group);
      this.#folders.set(folder, groups);
      return group;
    }
    return undefined;
  }

  /**
   * Files that may concern these trees: their name contains one of the ids, or they were modified after the tree began
   * and are in the folder of its transcripts, since a thread may begin as an unmarked copy of another one. Recordings
   * may concern any tree, wherever they are.
   */
  concerning(trees: readonly TreeNames[]): readonly string[] {
    if (trees.length === 0) return [];
    const byId = this.#ids();
    const began = new Map<string, number>();
    let first = Number.POSITIVE_INFINITY;
    for (const { folders, startedMs } of trees) {
      if (startedMs === null) continue;
      first = Math.min(first, startedMs);
      for (const folder of folders)
        began.set(folder, Math.min(began.get(folder) ?? Number.POSITIVE_INFINITY, startedMs));
    }
    const found = new Set(
      trees
        .flatMap(({ ids }) => ids.flatMap((id) => byId.get(id.toLowerCase()) ?? []))
        .filter((group) => this.#left.has(group)),
    );
    for (const group of this.#left) {
      const from = group.files.some(({ isRecorded }) => isRecorded) ? first : began.get(group.folder);
      if (from !== undefined && group.modifiedMs >= from) found.add(group);
    }
    return this.#take([...found]);
  }

  #take(groups: readonly Group[]): readonly string[] {
    for (const group of groups) {
      this.#left.delete(group);
      for (const { path } of group.files) this.#paths.delete(path);
      this.#unread = plus(this.#unread, amountOf(group), -1);
    }
    return groups.flatMap((group) => group.files.map((file) => file.path));
  }

  #ids(): ReadonlyMap<string, readonly Group[]> {
    if (this.#byId !== null) return this.#byId;
    const byId = new Map<string, Group[]>();
    for (const group of this.#left)
      for (const id of new Set(group.files.flatMap(({ path }) => path.toLowerCase().match(IDS) ?? []))) {
        const groups = byId.get(id) ?? [];
        if (groups.length === 0) byId.set(id, groups);
        groups.push(group);
      }
    this.#byId = byId;
    return byId;
  }
}
