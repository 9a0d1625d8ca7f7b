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

interface Amount {
  readonly files: number;
  readonly bytes: number;
}

/** Ids in the name of a file or folder. */
const IDS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\w{6,}/gi;

/** Unread files, newest group first. */
export class Backlog {
  readonly #left: Set<Group>;
  readonly #all: Amount;
  readonly #began = performance.now();
  #byId: ReadonlyMap<string, readonly Group[]> | null = null;

  constructor(files: readonly FileToRead[]) {
    this.#left = new Set(groupsOf(files));
    this.#all = this.#unread;
  }

  get reading(): Reading {
    const [{ files: all, bytes: allBytes }, left] = [this.#all, this.#unread];
    const bytes = allBytes - left.bytes;
    const leftMs = bytes === 0 ? null : Math.round(((performance.now() - this.#began) / bytes) * left.bytes);
    return { done: all - left.files, all, bytes, allBytes, leftMs, reachesMs: this.newestMs ?? 0 };
  }

  get #unread(): Amount {
    let [files, bytes] = [0, 0];
    for (const group of this.#left) [files, bytes] = [files + group.files.length, bytes + group.bytes];
    return { files, bytes };
  }

  /** Modification time of the newest unread file; null if there is none. */
  get newestMs(): number | null {
    const [newest] = this.#left;
    return newest?.modifiedMs ?? null;
  }

  /** Takes the newest groups within the limits, at least one. */
  next(most: { readonly bytes: number; readonly files: number; readonly groups?: number }): readonly string[] {
    const taken: Group[] = [];
    let [bytes, files] = [0, 0];
    for (const group of this.#left) {
      if (
        taken.length > 0 &&
        (bytes + group.bytes > most.bytes || files + group.files.length > most.files || taken.length === most.groups)
      )
        break;
      taken.push(group);
      [bytes, files] = [bytes + group.bytes, files + group.files.length];
    }
    return this.#take(taken);
  }

  /**
   * Files that may concern these trees: their name contains one of the ids, or they were modified after the tree began
   * and are in the folder of its transcripts, since a thread may begin as an unmarked copy of another one. Recordings
   * may concern any tree, wherever they are.
   */
  concerning(trees: readonly TreeNames[]): readonly string[] {
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
    for (const group of groups) this.#left.delete(group);
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
