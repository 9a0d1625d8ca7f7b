import { existsSync, lstatSync } from "node:fs";
import type { Problem } from "../../core/facts/problem.ts";
import type { Provider, SourceFile, Stream } from "../../core/ports/provider.ts";
import { type FolderKey, folderKey, type Seals } from "../../core/ports/store.ts";
import { cached } from "../../core/tools/collections.ts";
import { hash } from "../../core/tools/hash.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { databaseStamp, LOG_SUFFIX } from "../../transports/database.ts";
import {
  type FileStamp,
  foldersLike,
  headOf,
  isMisread,
  NOT_UTF8,
  newFolders,
  type OtherEntry,
  ROOT_ITSELF,
  stampOf,
  WHOLE_ROOT,
  walk,
} from "../../transports/files.ts";
import { readText } from "../../transports/regular.ts";
import { mountOf } from "../../transports/system/linux-mounts.ts";
import { basename, dirname, inside as insideOf, join, normal } from "../../transports/system/paths.ts";
import { type Env, importedRoot, importedStreams, recordingsRoot, userHome } from "../home.ts";
import { foldersBeside, followedPlaces, type LooseTranscript, looseStream } from "./followed.ts";

/** A file that a provider can read, as found on disk. */
export interface Found {
  readonly provider: Provider;
  readonly stream: Stream;
  readonly root: string;
  readonly path: string;
  readonly stamp: FileStamp;
  /** Copied by `retinue import`. */
  readonly imported: boolean;
  /** In a folder of recordings. */
  readonly recorded: boolean;
  /** Id of an object in the database at `path`; `stamp` is then the object's. */
  readonly object?: string;
}

/** The path used for an object of a database. */
export const objectPath = (database: string, object: string) => `${database}#${object}`;

export interface RootSeen {
  readonly provider: Provider;
  readonly path: string;
  readonly imported: boolean;
  /** A folder of recordings. If also `imported`, it holds imported output. */
  readonly recorded: boolean;
  /** In a folder that is not a root folder of the product: the transcripts to read there; null for a root folder. */
  readonly loose: readonly LooseTranscript[] | null;
  /** Several products may use it; the content of a file then shows whose it is. */
  readonly isShared: boolean;
  readonly exists: boolean;
  /** The folders to search below it. A folder that several roots link to is searched once. */
  readonly folders: readonly string[];
  readonly files: number;
  readonly bytes: number;
}

/** A root folder before it is searched. */
type Root = Pick<RootSeen, "provider" | "path" | "imported" | "recorded" | "loose" | "isShared">;

/** A folder as found on disk. */
export interface FolderSeen {
  readonly key: FolderKey;
  /**
   * Hash of the stamps of all relevant files in it; differs if anything changed. Null if nothing should be remembered.
   */
  readonly seal: number | null;
  readonly files: readonly Found[];
}

export interface Discovery {
  readonly roots: readonly RootSeen[];
  readonly problems: readonly Problem[];
}

/** Root folders that replace those of the environment, by provider. */
export type OtherRoots = ReadonlyMap<string, readonly string[]>;

/**
 * Lists the files of all providers without opening any. `sealed`: folders that have been read completely, with their
 * seals. Changed and deleted folders are passed to `onFolder` one by one.
 */
export async function discover(
  env: Env,
  sealed: Seals,
  providers: readonly Provider[] = PROVIDERS,
  others: OtherRoots = new Map(),
  onFolder: (folder: FolderSeen) => void,
): Promise<Discovery> {
  const roots: RootSeen[] = [];
  const problems: Problem[] = [];
  const seenBy = new Map<Provider, Set<string>>();
  const left = new Set(sealed.keys());
  for (const root of rootsOf(env, providers, others)) {
    const exists = existsSync(root.path);
    const isFile =
      root.provider.rootFiles === true && lstatSync(root.path, { throwIfNoEntry: false })?.isFile() === true;
    const seen = cached(seenBy, root.provider, () => new Set());
    const folders = isFile ? [] : await newFolders(root.path, foldersIn(root), seen);
    let [files, bytes] = [0, 0];
    for await (const folder of isFile ? [fileFolder(root, problems)] : foldersBelow(root, folders, problems)) {
      if (folder.files.length === 0 && !isFile && !sealed.has(folder.key)) continue;
      files += folder.files.length;
      bytes += folder.files.reduce((sum, found) => sum + found.stamp.size, 0);
      left.delete(folder.key);
      if (folder.seal === null || sealed.get(folder.key) !== folder.seal) onFolder(folder);
    }
    roots.push({ ...root, exists, folders, files, bytes });
  }
  // Deleted folders below the searched roots.
  const isBelow = (key: FolderKey) =>
    roots.some(({ provider, path }) => `${key}/`.startsWith(`${folderKey(provider.name, path)}/`));
  for (const key of left) if (isBelow(key)) onFolder({ key, seal: null, files: [] });
  return { roots, problems };
}

const notNull = (list: readonly (Found | null)[]) => list.filter((found) => found !== null);

const unreadable = (path: string, detail: string): Problem => ({ code: "file-unreadable", where: path, detail });

/** A root that is a file. */
const fileFolder = (root: Root, problems: Problem[]): FolderSeen => ({
  key: folderKey(root.provider.name, root.path),
  seal: null,
  files: notNull([foundAt(root, root.path, basename(root.path), problems)]),
});

/** The folders of a root with their relevant files. Adds to `problems` what cannot be read. */
async function* foldersBelow(root: Root, folders: readonly string[], problems: Problem[]): AsyncGenerator<FolderSeen> {
  const onError = (path: string, error: Error) => void problems.push(unreadable(path, error.message));
  const onOther = (path: string, is: OtherEntry) => {
    const where = join(root.path, path);
    // Other files next to a loose transcript are ignored.
    if (is === "link" && (root.loose === null || path.includes("/")))
      problems.push({ code: "link-not-followed", where, detail: "a link" });
    else if (streamIn(root, path) !== null) problems.push(unreadable(where, `it is a ${is}, not a file`));
  };
  for await (const { folder, paths } of walk(root.path, folders, onError, onOther)) {
    const files = notNull(paths.map((path) => foundAt(root, join(root.path, path), path, problems)));
    yield { key: folderKey(root.provider.name, join(root.path, folder)), seal: sealOf(files), files };
  }
}

/** The file, if the provider reads it. `path` is relative to the root. */
function foundAt(root: Root, full: string, path: string, problems: Problem[]): Found | null {
  const { provider, imported, recorded } = root;
  const stream = streamIn(root, path);
  if (stream === null && isLogAlone(full, path, provider)) problems.push(aloneAt(full));
  if (stream === null || isOthers(root, full)) return null;
  try {
    return { provider, stream, root: root.path, path: full, stamp: stampFor(stream, full), imported, recorded };
  } catch (error) {
    problems.push(unreadable(full, isMisread(full) ? NOT_UTF8 : (error as Error).message));
    return null;
  }
}

/** Changes if any file changes, appears or disappears. */
function sealOf(files: readonly Found[]): number {
  return hash(
    files.map(({ path, stamp }) => `${path}\n${stamp.identity} ${stamp.size} ${stamp.modifiedMs}`).join("\n"),
  );
}

const stampFor = (stream: Stream, path: string) => (stream.shape === "database" ? databaseStamp(path) : stampOf(path));

const isLogAlone = (full: string, path: string, provider: Provider) =>
  path.endsWith(LOG_SUFFIX) &&
  provider.stream(path.slice(0, -LOG_SUFFIX.length))?.shape === "database" &&
  !existsSync(full.slice(0, -LOG_SUFFIX.length));

const aloneAt = (path: string): Problem => ({
  code: "log-without-database",
  where: path,
  detail: `${basename(path, LOG_SUFFIX)} is not in ${dirname(path)}`,
});

/** The stream of a file below a root: a transcript, a recording or imported output. */
export function streamIn(
  { provider, recorded, imported, loose }: Pick<RootSeen, "provider" | "recorded" | "imported" | "loose">,
  path: string,
): Stream | null {
  if (recorded && imported) return path.endsWith(".jsonl") ? (provider.printed?.stream ?? null) : null;
  if (loose !== null) return looseStream(provider, loose, path);
  return recorded ? (provider.recorded?.(path) ?? null) : provider.stream(path);
}

/** Bytes at the beginning of a file that show whose it is. */
const HEAD_BYTES = 64;

/** Whether a file in a shared root is another product's. */
const isOthers = ({ provider, isShared }: Pick<RootSeen, "provider" | "isShared">, path: string) =>
  isShared && provider.isOwn?.(headOf(path, HEAD_BYTES)) === false;

/** Normalises a changed path: a change of a database's WAL is a change of the database. */
export const knownAs = (path: string) => normal(path.endsWith(LOG_SUFFIX) ? path.slice(0, -LOG_SUFFIX.length) : path);

/** Finds single files below the roots. The possible streams of a path are cached, because growing files are found often. */
export class Lookup {
  readonly #roots: readonly RootSeen[];
  readonly #places = new Map<string, readonly Place[]>();

  constructor(roots: readonly RootSeen[]) {
    this.#roots = roots;
  }

  /** The file at `path`, if it exists and belongs to a provider. */
  at(path: string): Found | null {
    const known = this.#places.get(path);
    const places = known ?? placesOf(path, this.#roots);
    if (known === undefined && this.#places.size >= KNOWN_PLACES) this.#places.clear();
    if (known === undefined) this.#places.set(path, places);
    for (const { isShared, ...place } of places) {
      if (isOthers({ provider: place.provider, isShared }, path)) continue;
      try {
        return { ...place, path, stamp: stampFor(place.stream, path) };
      } catch {
        // The file was deleted in the meantime.
      }
    }
    return null;
  }
}

const KNOWN_PLACES = 1_000;
type Place = Pick<Found, "provider" | "stream" | "root" | "imported" | "recorded"> & Pick<RootSeen, "isShared">;

function placesOf(path: string, roots: readonly RootSeen[]): Place[] {
  const places: Place[] = [];
  for (const { provider, path: root, imported, recorded, loose, isShared, folders } of roots) {
    const inside = path === root ? basename(root) : insideOf(root, path);
    const isSearched = (folder: string) =>
      folder === WHOLE_ROOT ||
      (folder === ROOT_ITSELF ? inside?.includes("/") === false : inside?.startsWith(`${folder}/`) === true);
    const stream =
      inside !== null && (path === root || folders.some(isSearched))
        ? streamIn({ provider, recorded, imported, loose }, inside)
        : null;
    if (stream !== null) places.push({ provider, stream, root, imported, recorded, isShared });
  }
  return places;
}

/** All possible roots, without listing their contents. */
export function knownRoots(env: Env, others: OtherRoots): RootSeen[] {
  return rootsOf(env, PROVIDERS, others).map((root) => ({
    ...root,
    exists: existsSync(root.path),
    folders: foldersIn(root),
    files: 0,
    bytes: 0,
  }));
}

function foldersIn({ provider, recorded, loose }: Root): readonly string[] {
  if (loose !== null) return [ROOT_ITSELF, ...foldersBeside(provider, loose)];
  return recorded ? [WHOLE_ROOT] : provider.rootFiles === true ? [ROOT_ITSELF, ...provider.folders] : provider.folders;
}

function rootsOf(env: Env, providers: readonly Provider[], others: OtherRoots): readonly Root[] {
  const all = allRootsOf(env, providers, others);
  const byPath = Map.groupBy(all, ({ path }) => path);
  return all.map((one) => ({ ...one, isShared: (byPath.get(one.path)?.length ?? 0) > 1 }));
}

/** Maximum size of a file that lists root folders. */
const MAX_ROOT_LIST = 4 << 20;

function ownRoots(env: Env, { roots, rootList }: Provider): readonly string[] {
  const home = userHome(env);
  return [...roots(env, home), ...(rootList?.rootsIn(readIfPresent(rootList.file(env, home))) ?? [])];
}

function readIfPresent(path: string): string {
  try {
    return readText(path, MAX_ROOT_LIST);
  } catch {
    // Missing, or not a file: the product has not listed anything.
    return "";
  }
}

function allRootsOf(env: Env, providers: readonly Provider[], others: OtherRoots) {
  return providers.flatMap((provider) => {
    const usual = (others.get(provider.name) ?? ownRoots(env, provider)).map(normal).flatMap(foldersLike);
    const followed = followedPlaces(env, provider, usual);
    const [imported, recordings] = [importedRoot(env, provider.name), recordingsRoot(env, provider.name)];
    const streams = importedStreams(env, provider.name);
    const own = { provider, imported: false, recorded: false, loose: null };
    return [
      ...[...new Set([...usual, ...followed.roots])].map((path) => ({ ...own, path })),
      ...(existsSync(imported) ? [{ ...own, path: imported, imported: true }] : []),
      ...(provider.printed !== undefined && existsSync(streams)
        ? [{ ...own, path: streams, imported: true, recorded: true }]
        : []),
      ...(provider.recorded !== undefined && existsSync(recordings)
        ? [{ ...own, path: recordings, recorded: true }]
        : []),
      ...[...followed.loose].map(([path, loose]) => ({ ...own, path, loose })),
    ];
  });
}

/**
 * The file as its parser gets it. The modification time of a copy or of a database is independent of the content, so
 * it is omitted. On WSL, files on a Windows drive name Windows processes, which are not visible there.
 */
export function asSource({ path, stamp, imported, object }: Found): SourceFile {
  const file =
    object === undefined
      ? { path, bytes: stamp.size, bornMs: stamp.bornMs }
      : { path: objectPath(path, object), bytes: stamp.size, bornMs: null };
  if (imported) return { ...file, bornMs: null, isForeign: true };
  return mountOf(path).isWindows ? { ...file, isForeign: true } : file;
}
