import { open } from "node:fs/promises";
import type { RecordPlace } from "../../core/ports/store.ts";
import { MAX_RECORD } from "../../core/tools/limits.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { recordsIn } from "../../providers/kit/lines.ts";
import { noReads, readIfThere } from "../../transports/files.ts";
import { WITHOUT_WAITING } from "../../transports/regular.ts";
import { asSource } from "../ingest/discover.ts";
import { jsonLines } from "../ingest/json-lines.ts";
import type { Library } from "../ingest/library.ts";
import { objectRecord } from "../ingest/sync-database.ts";

/** Reads the events of one record again from its place; empty if it no longer exists. */
export async function draftsAt(
  library: Library,
  { path, place }: { readonly path: string; readonly place: RecordPlace },
): Promise<readonly EventDraft[]> {
  const source = library.source(path);
  if (source === undefined) return [];
  const parser = source.stream.open(asSource(source));
  if (!("row" in place)) {
    const { packed } = source.stream;
    const line =
      source.stream.shape === "document"
        ? readIfThere(path)
        : await (packed === undefined ? readLineAt(path, place.offset) : unpackLine(path, place, packed));
    return line === null ? [] : parser.events(line, place.line);
  }
  if (source.stream.shape !== "database" || source.object === undefined) return [];
  const found = await objectRecord({ ...source, stream: source.stream }, source.object, place.row, noReads());
  return found === null || found.record === null ? [] : parser.events(found.record, found.position, place.row);
}

const BLOCK = 64 * 1024;

/** Reads one line. Null if the file no longer exists. */
async function readLineAt(path: string, offset: number): Promise<Uint8Array | null> {
  const file = await open(path, WITHOUT_WAITING).catch(() => null);
  if (file === null) return null;
  try {
    const parts: Buffer[] = [];
    if (!(await file.stat()).isFile()) return null;
    for (let at = offset; at - offset <= MAX_RECORD; at += BLOCK) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(BLOCK), 0, BLOCK, at);
      const end = buffer.subarray(0, bytesRead).indexOf(10);
      parts.push(buffer.subarray(0, end >= 0 ? end : bytesRead));
      if (end >= 0 || bytesRead < BLOCK) return firstRecord(withoutZeroes(Buffer.concat(parts)));
    }
    // Longer than any record.
    return null;
  } finally {
    await file.close();
  }
}

/** A packed file must be unpacked from the start to find a line. */
async function unpackLine(
  path: string,
  { line: number, offset }: { readonly line: number; readonly offset: number },
  packed: "zstd",
): Promise<Uint8Array | null> {
  for await (const lines of jsonLines(path, noReads(), { offset, lines: number - 1 }, packed))
    for (const line of lines) if (line.is === "line" && line.number === number) return line.bytes;
  return null;
}

/** Other records may follow in the same line. */
function firstRecord(line: Buffer): Buffer {
  const [first] = recordsIn(line) ?? [];
  return first === undefined ? line : line.subarray(first.start, first.end);
}

/** A crash may leave zero bytes after the record. */
function withoutZeroes(line: Buffer): Buffer {
  let end = line.length;
  while (end > 0 && line[end - 1] === 0) end -= 1;
  return line.subarray(0, end);
}
