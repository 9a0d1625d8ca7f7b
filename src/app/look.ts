import type { Provider } from "../core/provider.ts";
import type { FileState, FolderKey, Store } from "../core/store.ts";
import { type Discovery, discover, type FolderSeen, type Found, type OtherRoots } from "./discover.ts";
import type { Env } from "./home.ts";
import { isUnchanged } from "./sync.ts";

export interface FileToRead {
  readonly path: string;
  readonly size: number;
}

/** What lies there, against what the store knows of it. */
export interface Outlook extends Discovery {
  /** Files to be read, and those that are gone (null); what the store knows of them. */
  readonly files: ReadonlyMap<string, Found | null>;
  readonly known: ReadonlyMap<string, FileState>;
  /** The files to be read are so many that they were only counted. */
  readonly toRead: readonly FileToRead[] | null;
  /** Remembers in the store which folders have been read by now. */
  seal(): void;
}

export interface LookOptions {
  readonly env: Env;
  readonly store: Store;
  readonly providers?: readonly Provider[] | undefined;
  readonly roots?: OtherRoots | undefined;
  /** From so many bytes to be read on, they are only counted: where everything is new, all of it would be a lot to remember. */
  readonly much: number;
}

/** Looks around, folder by folder: those that were read already cost nothing but a look at their files. */
export async function lookAround({ env, store, providers, roots, much }: LookOptions): Promise<Outlook> {
  const files = new Map<string, Found | null>();
  const known = new Map<string, FileState>();
  const seals = new Map<FolderKey, number | null>();
  const toRead: FileToRead[] = [];
  let unsealed: FolderSeen[] = [];
  let bytes = 0;
  const discovery = await discover(env, store.seals(), providers, roots, (folder) => {
    const states = statesIn(store, folder.key);
    const fresh = folder.files.filter((found) => !isUnchanged(states.get(found.path), found));
    const there = new Set(folder.files.map((found) => found.path));
    const missing = [...states.values()].filter((state) => !state.gone && !there.has(state.path));
    if (fresh.length === 0 && missing.length === 0) {
      seals.set(folder.key, folder.seal);
      return;
    }
    for (const { path, stamp } of fresh) {
      toRead.push({ path, size: stamp.size });
      bytes += stamp.size;
    }
    if (bytes >= much) {
      unsealed = [];
      files.clear();
      known.clear();
      return;
    }
    unsealed.push(folder);
    for (const found of fresh) {
      const state = states.get(found.path);
      files.set(found.path, found);
      if (state !== undefined) known.set(found.path, state);
    }
    for (const state of missing) miss(store, state, files, known);
  });
  return {
    ...discovery,
    files,
    known,
    toRead: bytes >= much ? toRead : null,
    seal: () => {
      for (const { key, seal, files: inside } of unsealed) {
        const states = statesIn(store, key);
        seals.set(key, inside.every((found) => isUnchanged(states.get(found.path), found)) ? seal : null);
      }
      store.seal(seals);
    },
  };
}

function statesIn(store: Store, folder: FolderKey): ReadonlyMap<string, FileState> {
  return new Map(store.filesIn(folder).map((state) => [state.path, state]));
}

/** A file that is not there any more, with all that lay in it. */
export function miss(store: Store, state: FileState, files: Map<string, Found | null>, known: Map<string, FileState>): void {
  for (const gone of [state, ...store.objectsIn(state.path)]) {
    files.set(gone.path, null);
    known.set(gone.path, gone);
  }
}
