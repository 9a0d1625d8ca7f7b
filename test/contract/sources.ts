/** The fixtures of a provider: every file that it can read, split into records as the transport does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as sqlite from "node:sqlite";
import { zstdDecompressSync } from "node:zlib";
import { objectPath } from "../../src/app/ingest/discover.ts";
import type { DatabaseStream, Findings, Provider, SourceFile, Stream } from "../../src/core/ports/provider.ts";
import { ProductDatabase, type RecordRow } from "../../src/transports/database.ts";
import { foldersLike, noReads } from "../../src/transports/files.ts";
import { filesBelow, homeEnv } from "../support/fixtures.ts";

export interface FixtureSource {
  /** Relative to the fixtures folder. */
  readonly name: string;
  readonly stream: Stream;
  readonly file: SourceFile;
  readonly records: readonly Uint8Array[];
  /** Of a database: the name that the transport gives each record. */
  readonly rows?: readonly Pick<RecordRow, "row" | "position">[];
}

const NEWLINE = 10;

export function fixtureSources(provider: Provider, folder: string): FixtureSource[] {
  return filesBelow(folder).flatMap((name) => {
    const path = join(folder, name);
    const live = provider.recorded?.(name.replace(/^[^/]+\/recordings\/[^/]+\//, "")) ?? null;
    if (live !== null && name.includes("/recordings/"))
      return [{ name, stream: live, file: { path: name, bytes: 0 }, records: [...linesOf(readFileSync(path))] }];
    const [, recording = "", inside = ""] = /^(.*?)\/(home[^/]*|tmp)\//.exec(name) ?? [];
    const home = join(folder, recording, inside === "tmp" ? "home" : inside);
    const roots = inside === "" ? [] : provider.roots(homeEnv(home), home).flatMap(foldersLike);
    const root = roots.find((dir) => path.startsWith(`${dir}/`));
    const stream = root === undefined ? null : provider.stream(path.slice(root.length + 1));
    if (stream === null) return [];
    if (stream.shape === "database") return objectsIn(name, path, stream);
    const bytes = stream.packed === undefined ? readFileSync(path) : zstdDecompressSync(readFileSync(path));
    return [
      {
        name,
        stream,
        file: { path: name, bytes: bytes.length },
        records: stream.shape === "document" ? [bytes] : [...linesOf(bytes)],
      },
    ];
  });
}

function objectsIn(name: string, path: string, stream: DatabaseStream): FixtureSource[] {
  const db = new ProductDatabase(sqlite, path, noReads());
  try {
    const plan = stream.plan(db.schema());
    if ("unknown" in plan) throw new Error(`${path}: ${plan.unknown}`);
    return db.all(plan.objects).map(({ object }) => {
      const rows = [...db.records(plan.rows(String(object), null))].sort((a, b) => a.position - b.position);
      return {
        name: objectPath(name, String(object)),
        stream,
        file: { path: objectPath(name, String(object)), bytes: 0 },
        records: rows.flatMap((r) => r.record ?? []),
        rows,
      };
    });
  } finally {
    db.close();
  }
}

/** Equal records on different lines are different records, so the line number is passed. */
export function readAll(source: FixtureSource): Findings[] {
  const parser = source.stream.open(source.file);
  return source.records.map((record, i) => parser.push(record, ...placeIn(source, i)));
}

/** A document has no line numbers, and rows of a database have names. */
export function placeIn({ stream, rows }: FixtureSource, index: number): [line: number, row?: string] {
  if (stream.shape === "database") return [rows?.[index]?.position ?? index, rows?.[index]?.row ?? `row ${index}`];
  return [stream.shape === "document" ? 0 : index + 1];
}

function* linesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, start);
    const stop = end < 0 ? bytes.length : end;
    if (stop > start) yield bytes.subarray(start, stop);
    start = stop + 1;
  }
}
