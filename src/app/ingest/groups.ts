import { dirname } from "../../transports/system/paths.ts";
import type { Found } from "./discover.ts";

export interface FileToRead {
  readonly path: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** Read first, because it names the running processes. */
  readonly isFleeting: boolean;
  /** A recording: may concern any thread that was running at the time. */
  readonly isRecorded: boolean;
  /** Key of files that are read together although their paths do not show it. */
  readonly together: string | null;
}

/** Files that are read together: a transcript and the folder named after it. */
export interface Group {
  readonly files: readonly FileToRead[];
  readonly bytes: number;
  /** Of the newest file. */
  readonly modifiedMs: number;
  readonly folder: string;
}

export function toRead({ path, stamp, stream, root, recorded }: Found): FileToRead {
  return {
    path,
    size: stamp.size,
    modifiedMs: stamp.modifiedMs,
    isFleeting: stream.fleeting === true,
    isRecorded: recorded,
    together: stream.together === undefined ? null : `${root}/${stream.together}`,
  };
}

/** Newest first. Files older than their transcript are in its group. */
export function groupsOf(files: readonly FileToRead[]): Group[] {
  const groups = new Map<string, FileToRead[]>();
  /** Groups by the folder that holds the transcripts of the agents. */
  const owners = new Map<string, FileToRead[]>();
  // Sorted, a transcript comes before its folder.
  for (const file of files.toSorted(byPath)) {
    const name = file.isFleeting ? "" : (file.together ?? file.path);
    const group = (file.isFleeting ? undefined : ownerOf(file.path, owners)) ?? groups.get(name) ?? [];
    if (group.length === 0) groups.set(name, group);
    group.push(file);
    if (!file.isFleeting) owners.set(file.path.replace(/\.\w+$/, ""), group);
  }
  return [...groups.values()].map(groupOf).sort(newestFirst);
}

/** The same files, newest group first. */
export const inReadingOrder = (files: readonly FileToRead[]): readonly FileToRead[] =>
  groupsOf(files).flatMap((group) => group.files);

function ownerOf(path: string, owners: ReadonlyMap<string, FileToRead[]>): FileToRead[] | undefined {
  for (let folder = dirname(path); folder.length > 1; folder = dirname(folder)) {
    const owner = owners.get(folder);
    if (owner !== undefined || dirname(folder) === folder) return owner;
  }
  return undefined;
}

function groupOf(files: readonly FileToRead[]): Group {
  const [first] = files;
  return {
    files,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    modifiedMs:
      first?.isFleeting === true
        ? Number.POSITIVE_INFINITY
        : files.reduce((newest, file) => Math.max(newest, file.modifiedMs), 0),
    folder: dirname(first?.path ?? ""),
  };
}

const byPath = (a: FileToRead, b: FileToRead) => (a.path < b.path ? -1 : 1);
const newestFirst = (a: Group, b: Group) =>
  b.modifiedMs - a.modifiedMs || ((a.files[0]?.path ?? "") < (b.files[0]?.path ?? "") ? -1 : 1);
