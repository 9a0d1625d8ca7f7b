import { createWriteStream } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { formatUri } from "../../core/facts/uri.ts";
import type { Provider, Recognised } from "../../core/ports/provider.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { readHead, walk } from "../../transports/files.ts";
import { openPrivate } from "../../transports/private.ts";
import { Failure } from "../failure.ts";
import { type Env, importedRoot } from "../home.ts";
import { type ImportAction, type Piece, type Placed, place, reading, withStaging } from "./import-files.ts";
import { importStream } from "./import-stream.ts";

/** The file argument for stdin. */
const STDIN = "-";

export interface Imported extends Placed {
  readonly uri: string;
  /** All threads in it; an output may contain several. */
  readonly uris: readonly string[];
  readonly provider: string;
}

export type { ImportAction };

export interface ImportOptions {
  readonly env: Env;
  /** Replace existing files even if they differ. */
  readonly replace: boolean;
  /** Read to its end if the path is `-`. */
  readonly stdin?: Readable;
  readonly providers?: readonly Provider[];
}

/**
 * Copies a transcript with the files that belong to it, or the output of an agent's command, to where its provider
 * finds it. Idempotent. Writes only to retinue's own folder, and only if all files can be imported.
 */
export function importFile(path: string, options: ImportOptions): Promise<Imported> {
  const given = resolve(path);
  return path === STDIN
    ? withStaging(options.env, async (staging) => take(await received(options, staging), "stdin", options))
    : take(given, given, options);
}

/** `called` is the name shown to the user. */
async function take(path: string, called: string, options: ImportOptions): Promise<Imported> {
  const { env, replace, providers = PROVIDERS } = options;
  await checkFile(path, called);
  const head = await reading(called, () => readHead(path));
  for (const provider of providers) {
    const found = provider.portable?.recognise(called === path ? basename(path) : "", head) ?? null;
    if (found === null) continue;
    const uri = formatUri(provider.name, found.thread, found.agent);
    const pieces =
      called === path
        ? await collect(path, provider, found)
        : [pieceOf(path, `${found.folder}/${found.file}`, provider)];
    const root = resolve(importedRoot(env, provider.name));
    const placed = await place(pieces, { env, root, uri, replace, folder: found.agent === null ? found.folder : null });
    return { uri, uris: [uri], provider: provider.name, ...placed };
  }
  return (await importStream(path, { env, replace, providers })) ?? unknown(called, head.length === 0, providers);
}

/** Copies stdin to a file. */
async function received({ stdin }: ImportOptions, staging: string): Promise<string> {
  const path = join(staging, "stdin");
  if (stdin === undefined) throw new Failure("usage", "stdin is not available", ["give a file name"]);
  await reading("stdin", () => pipeline(stdin, createWriteStream(path, { fd: openPrivate(path, "wx") })));
  return path;
}

async function checkFile(path: string, called: string): Promise<void> {
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure(
      "not_found",
      error.code === "ENOENT" ? `no file ${called}` : `cannot read ${called}: ${error.message}`,
      [],
      error,
    );
  });
  if (!info.isFile())
    throw new Failure("failed", `${called} is ${info.isDirectory() ? "a folder" : "not a regular file"}`, [
      "give the path of the transcript, or - for stdin",
    ]);
}

function unknown(called: string, isEmpty: boolean, providers: readonly Provider[]): never {
  throw new Failure(
    "failed",
    `${called} is not a transcript or output that can be imported${isEmpty ? ": it is empty" : ""}`,
    [
      ...providers.flatMap(({ product, portable }) =>
        portable === undefined ? [] : [`supported: ${portable.form} (${product})`],
      ),
      ...providers.flatMap(({ product, printed }) =>
        printed === undefined ? [] : [`supported: the output of \`${printed.form}\` (${product})`],
      ),
    ],
  );
}

const pieceOf = (from: string, to: string, provider: Provider): Piece => ({
  from,
  to,
  isDocument: provider.stream(to)?.shape === "document",
});

/** The file and those files next to it that the provider reads. */
async function collect(path: string, provider: Provider, found: Recognised): Promise<Piece[]> {
  const folder = dirname(path);
  const piece = (from: string, to: string) => pieceOf(from, to, provider);
  const own = [piece(path, `${found.folder}/${found.file}`)];
  const beside = (
    await Promise.all(found.beside.map(({ name, to }) => piecesBelow(folder, name, `${found.folder}/${to}`, piece)))
  ).flat();
  const parts: Piece[] = [];
  for (const name of found.parts === null ? [] : await reading(folder, () => readdir(folder))) {
    if (found.parts?.test(name) !== true || name === basename(path)) continue;
    const part = join(folder, name);
    if ((await lstat(part).catch(() => null))?.isFile() !== true) continue;
    const is = provider.portable?.recognise(name, await reading(part, () => readHead(part))) ?? null;
    if (is?.folder === found.folder && is.agent !== null) parts.push(piece(part, `${is.folder}/${is.file}`));
  }
  const taken = new Set<string>();
  return [...own, ...beside, ...parts].filter(({ to }) => {
    const isWanted = !taken.has(to) && provider.stream(to) !== null;
    taken.add(to);
    return isWanted;
  });
}

async function piecesBelow(
  folder: string,
  name: string,
  to: string,
  piece: (from: string, to: string) => Piece,
): Promise<Piece[]> {
  const info = await lstat(join(folder, name)).catch(() => null);
  if (info?.isFile() === true) return [piece(join(folder, name), to)];
  if (info?.isDirectory() !== true) return [];
  const pieces: Piece[] = [];
  const stop = (path: string, error: Error) => {
    throw new Failure("failed", `cannot read ${path}: ${error.message}`, [], error);
  };
  for await (const { paths } of walk(folder, [name], stop))
    for (const path of paths) pieces.push(piece(join(folder, path), `${to}${path.slice(name.length)}`));
  return pieces;
}
