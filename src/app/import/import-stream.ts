import { join, resolve } from "node:path";
import { type AgentKey, partsOf, threadOf } from "../../core/facts/ids.ts";
import { formatUri } from "../../core/facts/uri.ts";
import type { Parser, Provider } from "../../core/ports/provider.ts";
import { hash } from "../../core/tools/hash.ts";
import { decodeText, parseJson } from "../../core/tools/json.ts";
import { valuesIn } from "../../core/tools/json-values.ts";
import { MAX_RECORD } from "../../core/tools/limits.ts";
import { PrintedBy } from "../../providers/kit/printed.ts";
import { noReads, readIfThere, stampOf } from "../../transports/files.ts";
import { readLines } from "../../transports/lines.ts";
import { writePrivate } from "../../transports/private.ts";
import { type Env, importedStreams } from "../home.ts";
import type { Imported } from "./import.ts";
import { place, withStaging } from "./import-files.ts";

interface StreamOptions {
  readonly env: Env;
  readonly replace: boolean;
  readonly providers: readonly Provider[];
}

/** A recognised output stream. */
interface Output {
  readonly provider: Provider;
  /** In order of appearance. */
  readonly threads: readonly AgentKey[];
  /** The line that identified the product; unique for each run. */
  readonly mark: string;
}

/** Imports the output of an agent's command, from a file or a pipe. Null if the file is not one. */
export async function importStream(path: string, options: StreamOptions): Promise<Imported | null> {
  const output = await outputIn(linesOf(path), options.providers);
  if (output !== null) return keep(path, output, options);
  // Not one JSON value per line: pretty-printed, an array, or UTF-16 as written by shells on Windows.
  const values = stampOf(path).size > MAX_RECORD ? null : valuesIn(readIfThere(path) ?? new Uint8Array());
  const lines = values?.map((value) => Buffer.from(`${value}\n`)) ?? [];
  const found = await outputIn(lines, options.providers);
  if (found === null) return null;
  return withStaging(options.env, async (staging) => {
    const rewritten = join(staging, "lines");
    writePrivate(rewritten, Buffer.concat(lines));
    return keep(rewritten, found, options);
  });
}

async function* linesOf(path: string): AsyncGenerator<Uint8Array> {
  for await (const lines of readLines(path, noReads(), () => true))
    for (const line of lines) if (line.is === "line") yield line.bytes;
}

async function keep(
  path: string,
  { provider, threads, mark }: Output,
  { env, replace }: StreamOptions,
): Promise<Imported> {
  const uris = threads.map((key) => formatUri(partsOf(key).provider, partsOf(key).thread, null));
  const [thread] = threads;
  const uri = uris[0] ?? "";
  const name =
    thread === undefined
      ? ""
      : partsOf(thread)
          .thread.replace(/[^\w.-]/g, "_")
          .slice(0, 64);
  // The same or a longer output of one run gets the same name; another run gets another.
  const to = `${name}-${hash(mark).toString(36)}.jsonl`;
  const root = resolve(importedStreams(env, provider.name));
  const placed = await place([{ from: path, to, isDocument: false }], { env, root, uri, replace, folder: null });
  return { uri, uris, provider: provider.name, ...placed };
}

/** Reads all lines after the first ones identified the product; null if they do not, or if no thread is named. */
async function outputIn(
  lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  providers: readonly Provider[],
): Promise<Output | null> {
  const printedBy = new PrintedBy(providers);
  const threads = new Set<AgentKey>();
  const children = new Set<AgentKey>();
  const before: Uint8Array[] = [];
  let found: { readonly provider: Provider; readonly parser: Parser; readonly mark: string } | null = null;
  let number = 0;
  const read = (parser: Parser, line: Uint8Array) => {
    number += 1;
    for (const o of parser.push(line, number).observations) {
      threads.add(threadOf(o.speaker));
      if (o.type === "parent-named" || o.type === "call-spawned") children.add(o.child);
    }
  };
  for await (const line of lines) {
    if (found !== null) {
      read(found.parser, line);
      continue;
    }
    if (printedBy.isUndecidable) return null;
    // The buffer of a line is reused for the next one.
    before.push(Buffer.from(line));
    const { text } = decodeText(line);
    const provider = printedBy.read(text);
    if (provider?.printed === undefined) continue;
    const parser = provider.printed.stream.open({ path: "", bytes: 0, isForeign: true });
    found = { provider, parser, mark: JSON.stringify(parseJson(text)?.value) };
    for (const earlier of before) read(parser, earlier);
  }
  const roots = [...threads].filter((thread) => !children.has(thread));
  return found === null || roots.length === 0 ? null : { provider: found.provider, threads: roots, mark: found.mark };
}
