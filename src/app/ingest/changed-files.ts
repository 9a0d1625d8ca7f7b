import type { Provider } from "../../core/ports/provider.ts";
import type { FileState, FolderKey, Store } from "../../core/ports/store.ts";
import { boundReading } from "../../stores/heap.ts";
import type { Env } from "../home.ts";
import { type Discovery, discover, type FolderSeen, type Found, type OtherRoots } from "./discover.ts";
import { isUnchanged } from "./sync.ts";

/** The files on disk that differ from the store. */
interface ChangedFiles extends Discovery {
  /** Files to read, and deleted files (null). */
  readonly files: ReadonlyMap<string, Found | null>;
  readonly known: ReadonlyMap<string, FileState>;
  /** Stores the seals of the folders that have been read. */
  seal(): void;
}

interface DiscoveryOptions {
  readonly env: Env;
  readonly store: Store;
  readonly providers?: readonly Provider[] | undefined;
  readonly roots?: OtherRoots | undefined;
  /** Receives the files to read instead of `files`: they may be too many for memory. Their folders are not sealed. */
  readonly onFresh?: (found: Found) => void;
}

/** Folders between two checks of the heap. */
const FOLDERS_PER_CHECK = 32;

/** Lists all folders. For folders that have been read, this takes only a stat of each file. */
export async function findChangedFiles(options: DiscoveryOptions): Promise<ChangedFiles> {
  const { env, store, providers, roots, onFresh } = options;
  const files = new Map<string, Found | null>();
  const known = new Map<string, FileState>();
  const seals = new Map<FolderKey, number | null>();
  const unsealed: FolderSeen[] = [];
  const discovery = await discover(env, store.seals(), providers, roots, (folder) => {
    // The found files stay in memory, and V8 would let the young generation grow meanwhile.
    if (unsealed.length % FOLDERS_PER_CHECK === 0) boundReading();
    const states = statesIn(store, folder.key);
    const fresh = folder.files.filter((found) => !isUnchanged(states.get(found.path), found));
    const there = new Set(folder.files.map((found) => found.path));
    const missing = [...states.values()].filter((state) => !state.gone && !there.has(state.path));
    if (fresh.length === 0 && missing.length === 0) {
      seals.set(folder.key, folder.seal);
      return;
    }
    for (const state of missing) addDeleted(store, state, files, known);
    if (onFresh !== undefined) return fresh.forEach(onFresh);
    unsealed.push(folder);
    for (const found of fresh) {
      const state = states.get(found.path);
      files.set(found.path, found);
      if (state !== undefined) known.set(found.path, state);
    }
  });
  return {
    ...discovery,
    files,
    known,
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

/** Adds a deleted file, and all objects if it is a database. */
export function addDeleted(
  store: Store,
  state: FileState,
  files: Map<string, Found | null>,
  known: Map<string, FileState>,
): void {
  for (const gone of [state, ...store.objectsIn(state.path)]) {
    files.set(gone.path, null);
    known.set(gone.path, gone);
  }
}
