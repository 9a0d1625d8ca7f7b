import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Problem } from "../core/problem.ts";
import type { Provider, SourceFile, Stream } from "../core/provider.ts";
import { PROVIDERS } from "../providers/index.ts";
import { type FileStamp, foldersLike, type OtherEntry, stampOf, unseenFolders, walk } from "../transports/files.ts";
import { type Env, importedRoot, userHome } from "./home.ts";

/** A file some provider can read, as it lies there now. */
export interface Found {
  readonly provider: Provider;
  readonly stream: Stream;
  readonly root: string;
  readonly path: string;
  readonly stamp: FileStamp;
  /** Copied here from elsewhere. */
  readonly imported: boolean;
}

export interface RootSeen {
  readonly provider: Provider;
  readonly path: string;
  readonly imported: boolean;
  readonly exists: boolean;
  /** Those of the provider's folders that are looked at here: one that another root links to is looked at once. */
  readonly folders: readonly string[];
  readonly files: number;
  readonly bytes: number;
}

export interface Discovery {
  readonly roots: readonly RootSeen[];
  readonly files: ReadonlyMap<string, Found>;
  readonly problems: readonly Problem[];
}

/** Folders to look in instead of those that the environment names, by provider. */
export type OtherRoots = ReadonlyMap<string, readonly string[]>;

/** Walks all providers' folders and looks at every file of theirs, without opening any. */
export async function discover(env: Env, providers: readonly Provider[] = PROVIDERS, others: OtherRoots = new Map()): Promise<Discovery> {
  const files = new Map<string, Found>();
  const roots: RootSeen[] = [];
  const problems: Problem[] = [];
  const unreadable = (path: string, error: Error) => problems.push({ code: "file-unreadable", where: path, detail: error.message });
  const seenBy = new Map<Provider, Set<string>>();
  for (const { provider, root, imported } of rootsOf(env, providers, others)) {
    const mine: Found[] = [];
    const seen = seenBy.get(provider) ?? new Set<string>();
    seenBy.set(provider, seen);
    const folders = await unseenFolders(root, provider.folders, seen);
    const other = (path: string, is: OtherEntry) => {
      if (is === "link") problems.push({ code: "link-not-followed", where: join(root, path), detail: "a link" });
      else if (provider.stream(path) !== null) unreadable(join(root, path), new Error(`it is a ${is}, not a file`));
    };
    for await (const path of walk(root, folders, unreadable, other)) {
      const stream = provider.stream(path);
      if (stream === null) continue;
      const full = join(root, path);
      const stamp = await stampOf(full).catch((error: Error) => unreadable(full, error));
      if (typeof stamp === "object") mine.push({ provider, stream, root, path: full, stamp, imported });
    }
    for (const found of mine) files.set(found.path, found);
    const bytes = mine.reduce((sum, f) => sum + f.stamp.size, 0);
    roots.push({ provider, path: root, imported, exists: existsSync(root), folders, files: mine.length, bytes });
  }
  return { roots, files, problems };
}

/** One file, if it is there and some provider's. */
export async function lookAt(path: string, roots: readonly RootSeen[]): Promise<Found | null> {
  for (const { provider, path: root, imported, folders } of roots) {
    const inside = path.startsWith(`${root}/`) ? path.slice(root.length + 1).replaceAll("\\", "/") : null;
    const stream = inside !== null && folders.some((folder) => folder === "" || inside.startsWith(`${folder}/`)) ? provider.stream(inside) : null;
    // It may be gone again already; that is what is being asked.
    const stamp = stream === null ? null : await stampOf(path).catch(() => null);
    if (stream !== null && stamp !== null) return { provider, stream, root, path, stamp, imported };
  }
  return null;
}

function rootsOf(env: Env, providers: readonly Provider[], others: OtherRoots) {
  return providers.flatMap((provider) => {
    const roots = (others.get(provider.name) ?? provider.roots(env, userHome(env))).flatMap(foldersLike);
    const imported = importedRoot(env, provider.name);
    return [
      ...[...new Set(roots)].map((root) => ({ provider, root, imported: false })),
      ...(existsSync(imported) ? [{ provider, root: imported, imported: true }] : []),
    ];
  });
}

/** A file as its parser gets it. When a copy was made says nothing about what stands in it. */
export const asSource = ({ path, stamp, imported }: Found): SourceFile =>
  imported ? { path, bytes: stamp.size, bornMs: null, isForeign: true } : { path, bytes: stamp.size, bornMs: stamp.bornMs };
