import { existsSync, lstatSync } from "node:fs";
import { hash } from "../core/hash.ts";
import type { Problem } from "../core/problem.ts";
import type { Provider, SourceFile, Stream } from "../core/provider.ts";
import { type FolderKey, folderKey, type Seals } from "../core/store.ts";
import { PROVIDERS } from "../providers/index.ts";
import { databaseStamp, LOG_SUFFIX } from "../transports/database.ts";
import { type FileStamp, foldersLike, type OtherEntry, ROOT_ITSELF, stampOf, unseenFolders, WHOLE_ROOT, walk } from "../transports/files.ts";
import { mountOf } from "../transports/system/linux-mounts.ts";
import { basename, dirname, inside as insideOf, join, normal } from "../transports/system/paths.ts";
import { foldersBeside, followedPlaces, type LooseTranscript, looseStream } from "./followed.ts";
import { type Env, importedRoot, importedStreams, recordingsRoot, userHome } from "./home.ts";

/** A file some provider can read, as it lies there now. */
export interface Found {
  readonly provider: Provider;
  readonly stream: Stream;
  readonly root: string;
  readonly path: string;
  readonly stamp: FileStamp;
  /** Copied here from elsewhere. */
  readonly imported: boolean;
  /** The id of an object in the database at `path`; then the stamp is the object's. */
  readonly object?: string;
}

/** What an object of a database is called where files have paths. */
export const objectPath = (database: string, object: string) => `${database}#${object}`;

export interface RootSeen {
  readonly provider: Provider;
  readonly path: string;
  readonly imported: boolean;
  /** Ours: what live sources said is kept there; where it is imported, too, as it was printed. */
  readonly recorded: boolean;
  /** Of a folder that is no root of the product's: the transcripts in it that are read; null for a root. */
  readonly loose: readonly LooseTranscript[] | null;
  readonly exists: boolean;
  /** Those of the provider's folders that are looked at here: one that another root links to is looked at once. */
  readonly folders: readonly string[];
  readonly files: number;
  readonly bytes: number;
}

/** A folder as it lies there now. */
export interface FolderSeen {
  readonly key: FolderKey;
  /** Of all files in it that concern us; another one means that something changed. Null where nothing is to be remembered of it. */
  readonly seal: number | null;
  readonly files: readonly Found[];
}

export interface Discovery {
  readonly roots: readonly RootSeen[];
  readonly problems: readonly Problem[];
}

/** Folders to look in instead of those that the environment names, by provider. */
export type OtherRoots = ReadonlyMap<string, readonly string[]>;

/**
 * Walks all providers' folders and looks at every file of theirs, without opening any.
 * `sealed` are the folders whose files have all been read, with their seals. Those that are not any more as they were then, and those that are gone, are told
 * to `onFolder`, one after the other.
 */
export async function discover(
  env: Env,
  sealed: Seals,
  providers: readonly Provider[] = PROVIDERS,
  others: OtherRoots = new Map(),
  onFolder: (folder: FolderSeen) => void = () => {},
): Promise<Discovery> {
  const roots: RootSeen[] = [];
  const problems: Problem[] = [];
  const unreadable = (path: string, error: Error) => problems.push({ code: "file-unreadable", where: path, detail: error.message });
  const seenBy = new Map<Provider, Set<string>>();
  const left = new Set(sealed.keys());
  for (const { provider, root, imported, recorded, loose } of rootsOf(env, providers, others)) {
    const seen = seenBy.get(provider) ?? new Set<string>();
    seenBy.set(provider, seen);
    const isFile = provider.rootFiles === true && lstatSync(root, { throwIfNoEntry: false })?.isFile() === true;
    const folders = isFile ? [] : await unseenFolders(root, foldersIn({ provider, recorded, loose }), seen);
    const streamAt = (path: string) => streamIn({ provider, recorded, imported, loose }, path);
    const other = (path: string, is: OtherEntry) => {
      // The folder of a loose transcript is nobody's: what else lies in it is passed over.
      if (is === "link" && (loose === null || path.includes("/"))) problems.push({ code: "link-not-followed", where: join(root, path), detail: "a link" });
      else if (streamAt(path) !== null) unreadable(join(root, path), new Error(`it is a ${is}, not a file`));
    };
    const look = (full: string, path: string): Found | null => {
      const stream = streamAt(path);
      if (stream === null && isLogAlone(full, path, provider)) problems.push(aloneAt(full));
      if (stream === null) return null;
      try {
        return { provider, stream, root, path: full, stamp: stampFor(stream, full), imported };
      } catch (error) {
        unreadable(full, error as Error);
        return null;
      }
    };
    let [files, bytes] = [0, 0];
    const take = (key: FolderKey, mine: readonly Found[], seal: number | null) => {
      files += mine.length;
      bytes += mine.reduce((sum, found) => sum + found.stamp.size, 0);
      left.delete(key);
      if (seal === null || sealed.get(key) !== seal) onFolder({ key, seal, files: mine });
    };
    if (isFile) take(folderKey(provider.name, root), notNull([look(root, basename(root))]), null);
    for await (const { folder, paths } of walk(root, folders, unreadable, other)) {
      const mine = notNull(paths.map((path) => look(join(root, path), path)));
      const key = folderKey(provider.name, join(root, folder));
      if (mine.length > 0 || sealed.has(key)) take(key, mine, sealOf(mine));
    }
    roots.push({ provider, path: root, imported, recorded, loose, exists: existsSync(root), folders, files, bytes });
  }
  // Of those that are gone, the ones that would have been looked at.
  const isBelow = (key: FolderKey) => roots.some(({ provider, path }) => `${key}/`.startsWith(`${folderKey(provider.name, path)}/`));
  for (const key of left) if (isBelow(key)) onFolder({ key, seal: null, files: [] });
  return { roots, problems };
}

const notNull = (list: readonly (Found | null)[]) => list.filter((found) => found !== null);

/** Changes as soon as any of the files does, or one comes or goes. */
function sealOf(files: readonly Found[]): number {
  return hash(files.map(({ path, stamp }) => `${path}\n${stamp.identity} ${stamp.size} ${stamp.modifiedMs}`).join("\n"));
}

const stampFor = (stream: Stream, path: string) => (stream.shape === "database" ? databaseStamp(path) : stampOf(path));

const isLogAlone = (full: string, path: string, provider: Provider) =>
  path.endsWith(LOG_SUFFIX) && provider.stream(path.slice(0, -LOG_SUFFIX.length))?.shape === "database" && !existsSync(full.slice(0, -LOG_SUFFIX.length));

const aloneAt = (path: string): Problem => ({ code: "log-without-database", where: path, detail: `${basename(path, LOG_SUFFIX)} is not in ${dirname(path)}` });

/** What a file below a root is: the product's own, a recording of ours, or output that was imported. */
export function streamIn({ provider, recorded, imported, loose }: Pick<RootSeen, "provider" | "recorded" | "imported" | "loose">, path: string): Stream | null {
  if (recorded && imported) return path.endsWith(".jsonl") ? (provider.printed?.stream ?? null) : null;
  if (loose !== null) return looseStream(provider, loose, path);
  return recorded ? (provider.recorded?.(path) ?? null) : provider.stream(path);
}

/** What a provider may know a path as that the operating system tells of: a change in a database's log is one of the database. */
export const knownAs = (path: string) => normal(path.endsWith(LOG_SUFFIX) ? path.slice(0, -LOG_SUFFIX.length) : path);

/** One file, if it is there and some provider's. */
export function lookAt(path: string, roots: readonly RootSeen[]): Found | null {
  for (const { provider, path: root, imported, recorded, loose, folders } of roots) {
    const inside = path === root ? basename(root) : insideOf(root, path);
    const isLookedAt = (folder: string) =>
      folder === WHOLE_ROOT || (folder === ROOT_ITSELF ? inside?.includes("/") === false : inside?.startsWith(`${folder}/`) === true);
    const stream = inside !== null && (path === root || folders.some(isLookedAt)) ? streamIn({ provider, recorded, imported, loose }, inside) : null;
    if (stream === null) continue;
    try {
      return { provider, stream, root, path, stamp: stampFor(stream, path), imported };
    } catch {
      // It may be gone again already; that is what is being asked.
    }
  }
  return null;
}

/** Every root there may be, without a look at what lies in it. */
export function knownRoots(env: Env, others: OtherRoots): RootSeen[] {
  return rootsOf(env, PROVIDERS, others).map(({ root, ...seen }) => ({
    ...seen,
    path: root,
    exists: existsSync(root),
    folders: foldersIn(seen),
    files: 0,
    bytes: 0,
  }));
}

function foldersIn({ provider, recorded, loose }: Pick<RootSeen, "provider" | "recorded" | "loose">): readonly string[] {
  if (loose !== null) return [ROOT_ITSELF, ...foldersBeside(provider, loose)];
  return recorded ? [WHOLE_ROOT] : provider.rootFiles === true ? [ROOT_ITSELF, ...provider.folders] : provider.folders;
}

function rootsOf(env: Env, providers: readonly Provider[], others: OtherRoots) {
  return providers.flatMap((provider) => {
    const usual = (others.get(provider.name) ?? provider.roots(env, userHome(env))).map(normal).flatMap(foldersLike);
    const followed = followedPlaces(env, provider, usual);
    const [imported, recordings] = [importedRoot(env, provider.name), recordingsRoot(env, provider.name)];
    const streams = importedStreams(env, provider.name);
    const own = { provider, imported: false, recorded: false, loose: null };
    return [
      ...[...new Set([...usual, ...followed.roots])].map((root) => ({ ...own, root })),
      ...(existsSync(imported) ? [{ ...own, root: imported, imported: true }] : []),
      ...(provider.printed !== undefined && existsSync(streams) ? [{ ...own, root: streams, imported: true, recorded: true }] : []),
      ...(provider.recorded !== undefined && existsSync(recordings) ? [{ ...own, root: recordings, recorded: true }] : []),
      ...[...followed.loose].map(([root, loose]) => ({ ...own, root, loose })),
    ];
  });
}

/**
 * A file as its parser gets it. When a copy was made says nothing about what stands in it, nor does the age of a database about an object.
 * Below WSL, files on a drive of Windows name processes of Windows, which are not seen from there.
 */
export function asSource({ path, stamp, imported, object }: Found): SourceFile {
  const file = object === undefined ? { path, bytes: stamp.size, bornMs: stamp.bornMs } : { path: objectPath(path, object), bytes: stamp.size, bornMs: null };
  if (imported) return { ...file, bornMs: null, isForeign: true };
  return mountOf(path).isWindows ? { ...file, isForeign: true } : file;
}
