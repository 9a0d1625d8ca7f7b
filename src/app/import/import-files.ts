import { chmod, copyFile, lstat, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { relative } from "node:path";
import { continues } from "../../transports/files.ts";
import { privateFolder } from "../../transports/private.ts";
import { dirname, inside, join, resolve } from "../../transports/system/paths.ts";
import { renameOver } from "../../transports/system/rename.ts";
import { Failure } from "../failure.ts";
import { type Env, retinueHome } from "../home.ts";

/** `continued`: the imported file continues the existing one. */
export type ImportAction = "added" | "continued" | "replaced" | "same";

/** A file to import, and its path below the root. */
export interface Piece {
  readonly from: string;
  readonly to: string;
  /** The product rewrites it as a whole, so a different version is not a conflict. */
  readonly isDocument: boolean;
}

interface Staged extends Piece {
  readonly copy: string;
  readonly bytes: number;
  readonly did: ImportAction;
  /** Why it must not replace the existing file. */
  readonly refused: string | null;
}

export interface Placing {
  readonly env: Env;
  readonly root: string;
  readonly uri: string;
  /** Replace existing files even if they differ. */
  readonly replace: boolean;
  /**
   * A folder below the root that holds nothing else and is replaced as a whole. Null if files are replaced one by one.
   */
  readonly folder: string | null;
}

export interface Placed {
  readonly did: ImportAction;
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly did: ImportAction }[];
}

/** Creates a temporary folder on the same disk as the imported files, for the duration of `work`. */
export async function withStaging<T>(env: Env, work: (staging: string) => Promise<T>): Promise<T> {
  const home = resolve(retinueHome(env));
  const staging = await writing(home, async () => {
    privateFolder(join(home, "imported"));
    return mkdtemp(join(home, "imported", ".staging-"));
  });
  try {
    return await work(staging);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Copies all files, or none if one conflicts with an existing file. Writes only to retinue's own folder. */
export async function place(pieces: readonly Piece[], { env, root, uri, replace, folder }: Placing): Promise<Placed> {
  const home = resolve(retinueHome(env));
  await checkInside(
    home,
    root,
    pieces.map((piece) => join(root, piece.to)),
  );
  return withStaging(env, async (staging) => {
    const staged: Staged[] = [];
    for (const piece of pieces) staged.push(await stage(piece, join(staging, String(staged.length)), root));
    const refused = staged.find((piece) => piece.refused !== null);
    if (refused !== undefined && !replace) throw conflict(uri, join(root, refused.to), refused);
    await writing(home, () =>
      refused !== undefined && folder !== null ? swap(staged, root, folder, staging) : put(staged, root),
    );
    const files = staged.map(({ to, bytes, did }) => ({ path: join(root, to), bytes, did }));
    return { did: refused === undefined ? overall(files.map((file) => file.did)) : "replaced", files };
  });
}

/** Copies first and compares the copy, because the original may grow in the meantime. */
async function stage(piece: Piece, copy: string, root: string): Promise<Staged> {
  await reading(piece.from, () => copyFile(piece.from, copy), "copy");
  // Private like the product's own files, and read-only. Not on Windows, where a read-only file cannot be replaced.
  if (process.platform !== "win32") await chmod(copy, 0o400);
  const { size } = await stat(copy);
  const here = join(root, piece.to);
  const old = await stat(here).catch(() => null);
  if (old === null) return { ...piece, copy, bytes: size, did: "added", refused: null };
  if (old.size === size && (await continues(here, copy)))
    return { ...piece, copy, bytes: size, did: "same", refused: null };
  // The product replaces documents as a whole, too.
  if (piece.isDocument) return { ...piece, copy, bytes: size, did: "replaced", refused: null };
  if (old.size < size && (await continues(here, copy)))
    return { ...piece, copy, bytes: size, did: "continued", refused: null };
  const isShorter = size < old.size && (await continues(copy, here));
  return {
    ...piece,
    copy,
    bytes: size,
    did: "replaced",
    refused: isShorter ? "the existing copy is longer" : "neither continues the other",
  };
}

function conflict(uri: string, here: string, { from, refused }: Staged): Failure {
  return new Failure("failed", `${uri} is already imported and differs: ${refused}`, [
    `existing: ${here}`,
    `new: ${from}`,
    "next: --replace to replace it",
  ]);
}

async function put(staged: readonly Staged[], root: string): Promise<void> {
  for (const { copy, to, did } of staged) {
    if (did === "same") continue;
    privateFolder(dirname(join(root, to)));
    renameOver(copy, join(root, to));
  }
}

/** Replaces the whole folder of the thread, so that no old file remains. */
async function swap(staged: readonly Staged[], root: string, folder: string, staging: string): Promise<void> {
  const fresh = join(staging, "fresh");
  for (const { copy, to } of staged) {
    const target = join(fresh, relative(folder, to));
    privateFolder(dirname(target));
    await rename(copy, target);
  }
  renameOver(join(root, folder), join(staging, "gone"));
  renameOver(fresh, join(root, folder));
}

function overall(actions: readonly ImportAction[]): ImportAction {
  const [only, ...others] = new Set(actions);
  return only !== undefined && others.length === 0 ? only : "continued";
}

/** Refuses targets outside of retinue's own folder, by name or through a symbolic link. */
async function checkInside(home: string, root: string, targets: readonly string[]): Promise<void> {
  for (const target of targets) {
    if (inside(root, target) === null) throw new Error(`${target} is not in ${root}`);
    const steps = relative(home, dirname(target)).split(/[\\/]/);
    for (const [i] of steps.entries()) {
      const step = join(home, ...steps.slice(0, i + 1));
      const info = await lstat(step).catch(() => null);
      if (info === null) break;
      if (info.isSymbolicLink())
        throw new Failure("failed", `${step} is a symbolic link and may point outside of ${home}`, [
          "remove it, or set RETINUE_HOME",
        ]);
    }
  }
}

export async function reading<T>(path: string, read: () => Promise<T>, how = "read"): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new Failure("failed", `cannot ${how} ${path}: ${(error as Error).message}`, [], error);
  }
}

async function writing<T>(home: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw new Failure(
      "failed",
      `cannot write to ${home}: ${(error as Error).message}`,
      ["set RETINUE_HOME to a writable folder"],
      error,
    );
  }
}
