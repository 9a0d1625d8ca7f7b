import { open } from "node:fs/promises";
import type { EventDraft, EventKind, EventRef } from "../core/event.ts";
import { type AgentKey, partsOf } from "../core/ids.ts";
import type { Parser } from "../core/provider.ts";
import type { SearchHit } from "../core/store.ts";
import { formatUri } from "../core/uri.ts";
import { noReads, readIfThere, readLines, WITHOUT_WAITING } from "../transports/files.ts";
import { asSource, type Found } from "./discover.ts";
import type { Library } from "./library.ts";
import { wordsIn } from "./said.ts";
import { isWholeJson } from "./sync.ts";
import { objectRecord } from "./sync-database.ts";

export interface Finding {
  readonly uri: string;
  readonly kind: EventKind;
  readonly at: string | null;
  /** The words around the first match. */
  readonly snippet: string;
  /** Where in `snippet` the words stand: start and end, in order. */
  readonly marks: readonly (readonly [number, number])[];
  readonly ref: EventRef;
}

/** Everything said that holds all the words, best first. */
export async function search(library: Library, words: readonly string[], limit: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const hit of library.store.search(words, library.under, limit)) {
    const finding = await lookUp(library, hit, words);
    if (finding !== null) findings.push(finding);
  }
  return findings;
}

/** The index knows where the words stand, not the words: they are read from the file. */
async function lookUp(library: Library, hit: SearchHit, words: readonly string[]): Promise<Finding | null> {
  const draft = await draftAt(library, hit, words);
  if (draft === null) return null;
  const { snippet, marks } = excerpt(wordsIn(draft), words);
  return {
    uri: uriOf(library, hit.speaker),
    kind: draft.kind,
    at: hit.at === null ? null : new Date(hit.at).toISOString(),
    snippet,
    marks,
    ref: refOf(library, hit),
  };
}

async function draftAt(library: Library, hit: SearchHit, words: readonly string[]): Promise<EventDraft | null> {
  const source = library.source(hit.path);
  if (source === undefined) return null;
  const parser = source.stream.open(asSource(source));
  const drafts = await draftsAt(source, hit, parser);
  const fits = (draft: EventDraft) => excerpt(wordsIn(draft), words).marks.length > 0;
  return drafts.find((draft) => draft.at === hit.at && fits(draft)) ?? drafts.find(fits) ?? drafts[0] ?? null;
}

async function draftsAt(source: Found, { path, place }: SearchHit, parser: Parser): Promise<readonly EventDraft[]> {
  if (!("row" in place)) {
    const { packed } = source.stream;
    const line = place.line === 0 ? readIfThere(path) : await (packed === undefined ? readLineAt(path, place.offset) : unpackLine(path, place, packed));
    return line === null ? [] : parser.events(line, place.line);
  }
  if (source.stream.shape !== "database" || source.object === undefined) return [];
  const found = await objectRecord({ ...source, stream: source.stream }, source.object, place.row, noReads());
  return found === null || found.record === null ? [] : parser.events(found.record, found.position, place.row);
}

const refOf = (library: Library, { path, place }: SearchHit): EventRef =>
  "row" in place ? { path: library.source(path)?.path ?? path, row: place.row } : { path, line: Math.max(1, place.line) };

const BLOCK = 64 * 1024;

/** One line, from where it begins to its end. Null if the file is gone by now. */
async function readLineAt(path: string, offset: number): Promise<Uint8Array | null> {
  const file = await open(path, WITHOUT_WAITING).catch(() => null);
  if (file === null) return null;
  try {
    const parts: Buffer[] = [];
    for (let at = offset; ; at += BLOCK) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(BLOCK), 0, BLOCK, at);
      const end = buffer.subarray(0, bytesRead).indexOf(10);
      parts.push(buffer.subarray(0, end >= 0 ? end : bytesRead));
      if (end >= 0 || bytesRead < BLOCK) return withoutZeroes(Buffer.concat(parts));
    }
  } finally {
    await file.close();
  }
}

/** Nothing in a packed file can be found but by unpacking what is before it. */
async function unpackLine(
  path: string,
  { line: number, offset }: { readonly line: number; readonly offset: number },
  packed: "zstd",
): Promise<Uint8Array | null> {
  for await (const lines of readLines(path, noReads(), isWholeJson, { offset, lines: number - 1 }, { packed }))
    for (const line of lines) if (line.is === "line" && line.number === number) return line.bytes;
  return null;
}

/** A crash may have left some behind the record. */
function withoutZeroes(line: Buffer): Buffer {
  let end = line.length;
  while (end > 0 && line[end - 1] === 0) end -= 1;
  return line.subarray(0, end);
}

function uriOf(library: Library, speaker: AgentKey): string {
  const { provider, thread, agent } = partsOf(speaker);
  const row = library.store.named(thread, library.under).find((r) => r.key === speaker);
  return row?.uri ?? formatUri(provider, thread, agent);
}

const BEFORE = 60;
const SNIPPET = 200;

/** The text around the first of the words, on one line. */
export function excerpt(text: string, words: readonly string[]): Pick<Finding, "snippet" | "marks"> {
  const flat = text.replace(/\s+/g, " ").trim();
  const terms = words.flatMap((word) => word.match(/[\p{L}\p{N}]+/gu) ?? []).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (terms.length === 0) return { snippet: flat.slice(0, SNIPPET), marks: [] };
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${terms.join("|")})`, "giu");
  const first = flat.search(pattern);
  const start = Math.max(0, first - BEFORE);
  const snippet = `${start > 0 ? "…" : ""}${flat.slice(start, start + SNIPPET)}${start + SNIPPET < flat.length ? "…" : ""}`;
  return { snippet, marks: [...snippet.matchAll(pattern)].map((m) => [m.index, m.index + m[0].length] as const) };
}
