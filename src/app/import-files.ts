import { chmod, copyFile, lstat, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { relative } from "node:path";
import { continues } from "../transports/files.ts";
import { privateFolder } from "../transports/private.ts";
import { dirname, inside, join, resolve } from "../transports/system/paths.ts";
import { renameOver } from "../transports/system/rename.ts";
import { Failure } from "./failure.ts";
import { type Env, retinueHome } from "./home.ts";

/** `continued`: what was here is the beginning of what came. */
export type Fate = "added" | "continued" | "replaced" | "same";

/** A file that belongs to what is imported, and where it goes below the root. */
export interface Piece {
  readonly from: string;
  readonly to: string;
  /** Its product replaces it as a whole when it changes, so that a different one contradicts nothing. */
  readonly isDocument: boolean;
}

interface Staged extends Piece {
  readonly copy: string;
  readonly bytes: number;
  readonly did: Fate;
  /** Why it may not take the place of what is here. */
  readonly refused: string | null;
}

export interface Placing {
  readonly env: Env;
  readonly root: string;
  readonly uri: string;
  /** Take what came even where it contradicts what is here. */
  readonly replace: boolean;
  /** Below the root: holds nothing else, and goes as a whole where it is replaced. Null where pieces are replaced one by one. */
  readonly folder: string | null;
}

export interface Placed {
  readonly did: Fate;
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly did: Fate }[];
}

/** Makes a folder of our own for the time of `work`, on the disk where imported files will lie. */
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

/** Copies the pieces to where they go: all of them, or none where one contradicts what is here. Nothing is written outside of retinue's own folder. */
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
    if (refused !== undefined && !replace) throw contradiction(uri, join(root, refused.to), refused);
    await writing(home, () => (refused !== undefined && folder !== null ? swap(staged, root, folder, staging) : put(staged, root)));
    const files = staged.map(({ to, bytes, did }) => ({ path: join(root, to), bytes, did }));
    return { did: refused === undefined ? overall(files.map((file) => file.did)) : "replaced", files };
  });
}

/** Copied first and compared then, so that a file that grows meanwhile is judged by what was really taken. */
async function stage(piece: Piece, copy: string, root: string): Promise<Staged> {
  await reading(piece.from, () => copyFile(piece.from, copy), "copy");
  // Private, as the product keeps its own, and not to be written to by mistake.
  // On Windows that would be the attribute "read-only", which keeps even us from replacing it.
  if (process.platform !== "win32") await chmod(copy, 0o400);
  const { size } = await stat(copy);
  const here = join(root, piece.to);
  const old = await stat(here).catch(() => null);
  if (old === null) return { ...piece, copy, bytes: size, did: "added", refused: null };
  if (old.size === size && (await continues(here, copy))) return { ...piece, copy, bytes: size, did: "same", refused: null };
  // A document is replaced as a whole by its product, too.
  if (piece.isDocument) return { ...piece, copy, bytes: size, did: "replaced", refused: null };
  if (old.size < size && (await continues(here, copy))) return { ...piece, copy, bytes: size, did: "continued", refused: null };
  const isShorter = size < old.size && (await continues(copy, here));
  return { ...piece, copy, bytes: size, did: "replaced", refused: isShorter ? "what is here goes on further" : "neither goes on where the other ends" };
}

function contradiction(uri: string, here: string, { from, refused }: Staged): Failure {
  return new Failure("failed", `${uri} is here already, and another one: ${refused}`, [
    `here: ${here}`,
    `there: ${from}`,
    "next: --replace takes what is there instead of what is here",
  ]);
}

async function put(staged: readonly Staged[], root: string): Promise<void> {
  for (const { copy, to, did } of staged) {
    if (did === "same") continue;
    privateFolder(dirname(join(root, to)));
    renameOver(copy, join(root, to));
  }
}

/** The whole thread at once, so that nothing of the other one stays among it. */
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

function overall(fates: readonly Fate[]): Fate {
  const [only, ...others] = new Set(fates);
  return only !== undefined && others.length === 0 ? only : "continued";
}

/** Neither by a name nor through a link may anything be written outside of retinue's own folder. */
async function checkInside(home: string, root: string, targets: readonly string[]): Promise<void> {
  for (const target of targets) {
    if (inside(root, target) === null) throw new Error(`${target} is not in ${root}`);
    const steps = relative(home, dirname(target)).split(/[\\/]/);
    for (const [i] of steps.entries()) {
      const step = join(home, ...steps.slice(0, i + 1));
      const info = await lstat(step).catch(() => null);
      if (info === null) break;
      if (info.isSymbolicLink()) throw new Failure("failed", `${step} is a link, which may lead out of ${home}`, ["remove it, or set RETINUE_HOME"]);
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
    throw new Failure("failed", `cannot write to ${home}: ${(error as Error).message}`, ["set RETINUE_HOME to a folder that you may write to"], error);
  }
}
