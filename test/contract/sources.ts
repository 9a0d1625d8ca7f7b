/** What a provider's fixtures hold: every file it says it can read, cut into records the way the transport does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Findings, Provider, SourceFile, Stream } from "../../src/core/provider.ts";
import { foldersLike } from "../../src/transports/files.ts";
import { filesBelow, homeEnv } from "../fixtures.ts";

export interface FixtureSource {
  /** From the fixtures folder. */
  readonly name: string;
  readonly stream: Stream;
  readonly file: SourceFile;
  readonly records: readonly Uint8Array[];
}

const NEWLINE = 10;

export function fixtureSources(provider: Provider, folder: string): FixtureSource[] {
  return filesBelow(folder).flatMap((name) => {
    const path = join(folder, name);
    const [, recording = "", inside = ""] = /^(.*?)\/(home[^/]*|tmp)\//.exec(name) ?? [];
    const home = join(folder, recording, inside === "tmp" ? "home" : inside);
    const roots = inside === "" ? [] : provider.roots(homeEnv(home), home).flatMap(foldersLike);
    const root = roots.find((dir) => path.startsWith(`${dir}/`));
    const stream = root === undefined ? null : provider.stream(path.slice(root.length + 1));
    if (stream === null) return [];
    const bytes = readFileSync(path);
    return [{ name, stream, file: { path: name, bytes: bytes.length }, records: stream.shape === "document" ? [bytes] : [...linesOf(bytes)] }];
  });
}

/** The same record twice in a row is one record read twice; line numbers are what makes it another. */
export function readAll({ stream, file, records }: FixtureSource): Findings[] {
  const parser = stream.open(file);
  return records.map((record, i) => parser.push(record, lineNumber(stream, i)));
}

/** A document has no lines. */
export const lineNumber = (stream: Stream, index: number) => (stream.shape === "document" ? 0 : index + 1);

function* linesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, start);
    const stop = end < 0 ? bytes.length : end;
    if (stop > start) yield bytes.subarray(start, stop);
    start = stop + 1;
  }
}
