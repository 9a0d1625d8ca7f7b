import { chmod, copyFile, lstat, mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Provider, Recognised } from "../core/provider.ts";
import { PROVIDERS } from "../providers/index.ts";
import { continues, readHead, walk } from "../transports/files.ts";
import { Failure } from "./failure.ts";
import { type Env, importedRoot, retinueHome } from "./home.ts";

/** `continued`: what was here is the beginning of what came. */
export type Fate = "added" | "continued" | "replaced" | "same";

export interface Imported {
  readonly uri: string;
  readonly provider: string;
  /** What became of the thread as a whole. */
  readonly did: Fate;
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly did: Fate }[];
}

export interface ImportOptions {
  readonly env: Env;
  /** Take what came even where it contradicts what is here. */
  readonly replace: boolean;
  readonly providers?: readonly Provider[];
}

/** A file that belongs to what is imported, and where it goes below the root. */
interface Piece {
  readonly from: string;
  readonly to: string;
}

interface Staged extends Piece {
  readonly copy: string;
  readonly bytes: number;
  readonly did: Fate;
  /** Why it may not take the place of what is here. */
  readonly refused: string | null;
}

/**
 * Copies a transcript from elsewhere, with what lies beside it, to where its provider will find it.
 * Twice is as good as once. Nothing is written outside of retinue's own folder, and nothing there changes unless everything can be taken.
 */
export async function importFile(path: string, options: ImportOptions): Promise<Imported> {
  const from = resolve(path);
  const { provider, found } = await recognise(from, options.providers ?? PROVIDERS);
  const pieces = await collect(from, provider, found);
  const root = resolve(importedRoot(options.env, provider.name));
  const uri = `${provider.name}://${found.thread}${found.agent === null ? "" : `/${found.agent}`}`;

  const home = resolve(retinueHome(options.env));
  await checkInside(
    home,
    root,
    pieces.map((piece) => join(root, piece.to)),
  );
  const staging = await writing(home, async () => {
    await mkdir(dirname(root), { recursive: true, mode: 0o700 });
    return mkdtemp(join(dirname(root), ".staging-"));
  });
  try {
    const staged: Staged[] = [];
    for (const piece of pieces) staged.push(await stage(piece, join(staging, String(staged.length)), root, provider));
    const refused = staged.find((piece) => piece.refused !== null);
    if (refused !== undefined && !options.replace) throw contradiction(uri, join(root, refused.to), refused);
    await writing(home, () => (refused !== undefined && found.agent === null ? swap(staged, root, found.folder, staging) : put(staged, root)));
    const files = staged.map(({ to, bytes, did }) => ({ path: join(root, to), bytes, did }));
    return { uri, provider: provider.name, did: refused === undefined ? overall(files.map((file) => file.did)) : "replaced", files };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function recognise(path: string, providers: readonly Provider[]): Promise<{ provider: Provider; found: Recognised }> {
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure("not_found", error.code === "ENOENT" ? `no file ${path}` : `cannot read ${path}: ${error.message}`, [], error);
  });
  if (!info.isFile()) throw new Failure("failed", `${path} is ${info.isDirectory() ? "a folder" : "no ordinary file"}`, ["name the transcript itself"]);
  const head = await reading(path, () => readHead(path));
  for (const provider of providers) {
    const found = provider.portable?.recognise(basename(path), head) ?? null;
    if (found !== null) return { provider, found };
  }
  throw new Failure(
    "failed",
    `${path} is no transcript that can be imported`,
    providers.flatMap(({ product, portable }) => (portable === undefined ? [] : [`looked for: ${product}, ${portable.form}`])),
  );
}

/** The file itself and what lies beside it; of that only what the provider reads. */
async function collect(path: string, provider: Provider, found: Recognised): Promise<Piece[]> {
  const folder = dirname(path);
  const own = [{ from: path, to: `${found.folder}/${found.file}` }];
  const beside = (await Promise.all(found.beside.map(({ name, to }) => piecesBelow(folder, name, `${found.folder}/${to}`)))).flat();
  const parts: Piece[] = [];
  for (const name of found.parts === null ? [] : await reading(folder, () => readdir(folder))) {
    if (found.parts?.test(name) !== true || name === basename(path)) continue;
    const part = join(folder, name);
    if ((await lstat(part).catch(() => null))?.isFile() !== true) continue;
    const is = provider.portable?.recognise(name, await reading(part, () => readHead(part))) ?? null;
    if (is?.folder === found.folder && is.agent !== null) parts.push({ from: part, to: `${is.folder}/${is.file}` });
  }
  const taken = new Set<string>();
  return [...own, ...beside, ...parts].filter(({ to }) => {
    const isWanted = !taken.has(to) && provider.stream(to) !== null;
    taken.add(to);
    return isWanted;
  });
}

async function piecesBelow(folder: string, name: string, to: string): Promise<Piece[]> {
  const info = await lstat(join(folder, name)).catch(() => null);
  if (info?.isFile() === true) return [{ from: join(folder, name), to }];
  if (info?.isDirectory() !== true) return [];
  const pieces: Piece[] = [];
  const stop = (path: string, error: Error) => {
    throw new Failure("failed", `cannot read ${path}: ${error.message}`, [], error);
  };
  for await (const { paths } of walk(folder, [name], stop))
    for (const path of paths) pieces.push({ from: join(folder, path), to: `${to}${path.slice(name.length)}` });
  return pieces;
}

/** Copied first and compared then, so that a file that grows meanwhile is judged by what was really taken. */
async function stage(piece: Piece, copy: string, root: string, provider: Provider): Promise<Staged> {
  await reading(piece.from, () => copyFile(piece.from, copy), "copy");
  // Private, as the product keeps its own, and not to be written to by mistake.
  await chmod(copy, 0o400);
  const { size } = await stat(copy);
  const here = join(root, piece.to);
  const old = await stat(here).catch(() => null);
  if (old === null) return { ...piece, copy, bytes: size, did: "added", refused: null };
  if (old.size === size && (await continues(here, copy))) return { ...piece, copy, bytes: size, did: "same", refused: null };
  // A document is replaced as a whole by its product, too.
  if (provider.stream(piece.to)?.shape === "document") return { ...piece, copy, bytes: size, did: "replaced", refused: null };
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
    await mkdir(dirname(join(root, to)), { recursive: true, mode: 0o700 });
    await rename(copy, join(root, to));
  }
}

/** The whole thread at once, so that nothing of the other one stays among it. */
async function swap(staged: readonly Staged[], root: string, folder: string, staging: string): Promise<void> {
  const fresh = join(staging, "fresh");
  for (const { copy, to } of staged) {
    const target = join(fresh, relative(folder, to));
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await rename(copy, target);
  }
  await rename(join(root, folder), join(staging, "gone"));
  await rename(fresh, join(root, folder));
}

function overall(fates: readonly Fate[]): Fate {
  const [only, ...others] = new Set(fates);
  return only !== undefined && others.length === 0 ? only : "continued";
}

/** Neither by a name nor through a link may anything be written outside of retinue's own folder. */
async function checkInside(home: string, root: string, targets: readonly string[]): Promise<void> {
  for (const target of targets) {
    if (!target.startsWith(`${root}${sep}`)) throw new Error(`${target} is not in ${root}`);
    const steps = relative(home, dirname(target)).split(sep);
    for (const [i] of steps.entries()) {
      const step = join(home, ...steps.slice(0, i + 1));
      const info = await lstat(step).catch(() => null);
      if (info === null) break;
      if (info.isSymbolicLink()) throw new Failure("failed", `${step} is a link, which may lead out of ${home}`, ["remove it, or set RETINUE_HOME"]);
    }
  }
}

async function reading<T>(path: string, read: () => Promise<T>, how = "read"): Promise<T> {
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
