import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import { formatUri } from "../../core/facts/uri.ts";
import type { SearchHit } from "../../core/ports/store.ts";
import type { EventDraft, EventRef } from "../../core/views/event.ts";
import { excerpt, type FoundText, searchedText } from "../../core/views/found-text.ts";
import type { Library } from "../ingest/library.ts";
import { draftsAt } from "./record-at.ts";

/** Text to index before a search returns; the rest is postponed, unless the caller waits for it. */
export const SOME_TEXT = 64 << 20;

/** How far back a search reaches: every file that was written to after this is searched. */
export interface Unsearched {
  readonly files: number;
  readonly bytes: number;
  readonly reachesMs: number;
}

/** Text that is not searched yet, because it was not read or not indexed. */
export function unsearched({ reading, texts: { left } }: Library): Unsearched | null {
  if (reading === null && left === null) return null;
  return {
    files: (reading === null ? 0 : reading.all - reading.done) + (left?.files ?? 0),
    bytes: (reading === null ? 0 : reading.allBytes - reading.bytes) + (left?.bytes ?? 0),
    reachesMs: Math.min(Date.now(), Math.max(reading?.reachesMs ?? 0, left?.reachesMs ?? 0)),
  };
}

/** Reads and indexes missing text, newest first, up to this many bytes. */
export async function indexMissing(library: Library, bytes: number): Promise<void> {
  for (let left = bytes; left > 0; ) {
    const indexed = await library.indexTexts();
    left -= indexed;
    if (indexed > 0) continue;
    const { reading } = library;
    if (reading === null) return;
    await library.catchUp();
    left -= (library.reading?.bytes ?? reading.allBytes) - reading.bytes;
  }
}

/**
 * Texts that contain all the words, best match first. Indexes up to this many bytes of text first, if some is missing.
 */
export async function search(
  library: Library,
  words: readonly string[],
  limit: number,
  bytes = SOME_TEXT,
): Promise<FoundText[]> {
  await indexMissing(library, bytes);
  const findings: FoundText[] = [];
  for (const hit of library.store.search(words, library.under, limit)) {
    const finding = await lookUp(library, hit, words);
    if (finding !== null) findings.push(finding);
  }
  return findings;
}

/** The index contains positions, not texts, so the text is read from the file. */
async function lookUp(library: Library, hit: SearchHit, words: readonly string[]): Promise<FoundText | null> {
  const draft = await draftAt(library, hit, words);
  if (draft === null) return null;
  const { snippet, marks } = excerpt(searchedText(draft), words);
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
  const drafts = await draftsAt(library, hit);
  // One record may contain texts of several agents.
  const own = drafts.filter((draft) => draft.speaker === hit.speaker);
  const candidates = own.length > 0 ? own : drafts;
  const fits = (draft: EventDraft) => excerpt(searchedText(draft), words).marks.length > 0;
  return (
    candidates.find((draft) => draft.at === hit.at && fits(draft)) ?? candidates.find(fits) ?? candidates[0] ?? null
  );
}

const refOf = (library: Library, { path, place }: SearchHit): EventRef =>
  "row" in place
    ? { path: library.source(path)?.path ?? path, row: place.row }
    : { path, line: Math.max(1, place.line) };

function uriOf(library: Library, speaker: AgentKey): string {
  const { provider, thread, agent } = partsOf(speaker);
  const row = library.store.named(thread, library.under).find((r) => r.key === speaker);
  if (row !== undefined || agent === null) return row?.uri ?? formatUri(provider, thread, agent);
  // A copy of a thread names the agent of another one.
  const sameId = library.store
    .named(agent, library.under)
    .filter((r) => partsOf(r.key).provider === provider && r.agentId === agent);
  return sameId.length === 1 && sameId[0] !== undefined ? sameId[0].uri : formatUri(provider, thread, agent);
}
