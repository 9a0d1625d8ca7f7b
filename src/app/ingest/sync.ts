import type { Exchange } from "../../core/facts/exchange.ts";
import { FactColumns } from "../../core/facts/fact-columns.ts";
import type { Problem, ProblemCode } from "../../core/facts/problem.ts";
import type { Stream } from "../../core/ports/provider.ts";
import type { FileBatch, FileState, IndexedText, Store } from "../../core/ports/store.ts";
import { StoreFault } from "../../stores/fault.ts";
import { type ReadCounts, readWhole, tailAfter, tailBefore } from "../../transports/files.ts";
import { type Line, type LinePosition, positionAfter } from "../../transports/lines.ts";
import { inside, join } from "../../transports/system/paths.ts";
import { BATCH_BYTES, fresh, NewFacts, type OnWritten, ProblemsOfFile, stampIn, Writer } from "./batches.ts";
import { asSource, type Found, type RootSeen, streamIn } from "./discover.ts";
import { inReadingOrder, toRead } from "./groups.ts";
import { indexedTexts, indexedTextsOfLine } from "./indexed-text.ts";
import { findingsIn, jsonLines } from "./json-lines.ts";
import type { OnProgress } from "./library-options.ts";
import { syncDatabase } from "./sync-database.ts";

export interface SyncOptions {
  readonly counts: ReadCounts;
  readonly onUnreadable: (problem: Problem) => void;
  readonly onWritten?: OnWritten;
  readonly onProgress?: OnProgress;
  /** Called with files whose text is indexed later. */
  readonly onTextsLeft?: (paths: ReadonlySet<string>) => void;
}

/** If more bytes than this are new, their text is indexed later, otherwise together with the records. */
const LITTLE_TEXT = 256 << 10;

/** Files as found on disk; null for missing ones. */
export interface Looked {
  readonly files: ReadonlyMap<string, Found | null>;
  readonly rootOf: (path: string) => RootSeen | undefined;
}

/**
 * Reads new data from disk into the store. Returns the changes. Unchanged files are not opened; of files that grew,
 * only the new bytes are read.
 */
export async function sync(
  store: Store,
  looked: Looked,
  known: ReadonlyMap<string, FileState>,
  options: SyncOptions,
): Promise<readonly string[]> {
  const there = [...looked.files.values()]
    .filter((found) => found !== null)
    .filter((found) => !isUnchanged(known.get(found.path), found));
  const changed = inReadingOrder(there.map((found) => toRead(found, false)))
    .map(({ path }) => looked.files.get(path))
    .filter((found) => found != null);
  const arrived = changed.filter(({ path }) => known.get(path)?.gone ?? true);
  const allBytes = changed.reduce((sum, { stamp }) => sum + stamp.size, 0);
  const newBytes = changed.reduce((sum, { path, stamp }) => sum + stamp.size - (known.get(path)?.offset ?? 0), 0);
  const writer = new Writer(store, newBytes, options.onWritten);
  let [done, doneBytes] = [0, 0];
  for (const found of changed) {
    try {
      if (found.stream.shape === "database")
        await syncDatabase({ ...found, stream: found.stream }, known.get(found.path) ?? null, store, writer, options);
      else await readOn(found, known.get(found.path) ?? null, writer, options.counts);
    } catch (error) {
      if (error instanceof StoreFault) throw error;
      // Earlier facts stay; the next sync tries again.
      options.onUnreadable({ code: "file-unreadable", where: found.path, detail: (error as Error).message });
    }
    done += 1;
    doneBytes += found.stamp.size;
    options.onProgress?.(done, changed.length, { done: doneBytes, all: allBytes });
  }
  for (const batch of vanished(store, looked, known)) writer.add(batch);
  writer.flush();
  for (const batch of movedHere(store, arrived)) writer.add(batch);
  writer.flush();
  options.onTextsLeft?.(writer.textsLeft);
  return changed.map((found) => found.path);
}

export function isUnchanged(state: FileState | null | undefined, { stamp }: Found): boolean {
  return (
    state != null &&
    !state.gone &&
    state.identity === stamp.identity &&
    state.size === stamp.size &&
    state.modifiedMs === stamp.modifiedMs
  );
}

async function readOn(found: Found, before: FileState | null, writer: Writer, counts: ReadCounts): Promise<void> {
  if (found.stream.shape === "document") {
    writer.add(readDocument(found, before, counts));
    return;
  }
  const goesOn = before !== null && found.stream.packed === undefined && isAppended(found, before, counts);
  await readTranscript(found, before, goesOn, writer, counts);
}

/** The same file, not shorter, with the same bytes before the position that was read to. */
function isAppended({ path, stamp }: Found, before: FileState, counts: ReadCounts): boolean {
  if (before.identity !== stamp.identity || stamp.size < before.offset) return false;
  return tailBefore(path, before.offset, counts) === before.tail;
}

function readDocument(found: Found, before: FileState | null, counts: ReadCounts): FileBatch {
  const bytes = readWhole(found.path, counts);
  const parser = found.stream.open({ ...asSource(found), bytes: bytes.length });
  const findings = parser.push(bytes, 0);
  const hasText =
    findings.observations.length > 0 && parser.events(bytes, 0).some((draft) => indexedTexts(draft, WHOLE).length > 0);
  const after = { ...fresh(found, before), offset: bytes.length, lines: 0 };
  const facts = new NewFacts(found.path, false);
  facts.add(findings);
  return { before, after, ...facts.take(true), problems: findings.problems, texts: hasText ? null : [] };
}

/** The position of a document in its file. */
export const WHOLE = { line: 0, offset: 0 };

async function readTranscript(
  found: Found,
  before: FileState | null,
  goesOn: boolean,
  writer: Writer,
  counts: ReadCounts,
): Promise<void> {
  let state = goesOn && before !== null ? { ...before, ...stampIn(found), gone: false } : fresh(found, before);
  let last = before;
  const { packed } = found.stream;
  const parser = found.stream.open(asSource(found), goesOn ? state.parser : undefined);
  const facts = new NewFacts(found.path, goesOn);
  const problems = new ProblemsOfFile(found.path);
  const isLittle = goesOn && found.stamp.size - state.offset <= LITTLE_TEXT;
  let texts: IndexedText[] | null = isLittle ? [] : null;
  let exchanges = new Map<string, Exchange>();
  let position: LinePosition = { offset: state.offset, lines: state.lines };
  let tailInMemory: string | null = null;
  const hand = (isWhole: boolean) => {
    const tail = packed === undefined ? (tailInMemory ?? tailBefore(found.path, position.offset, counts)) : "";
    state = { ...state, ...(isWhole ? stampIn(found) : inPart(position)), ...position, parser: parser.save(), tail };
    writer.add({
      before: last,
      after: state,
      ...facts.take(isWhole),
      problems: problems.take(),
      texts,
      exchanges: [...exchanges.values()],
    });
    last = state;
    texts = isLittle ? [] : null;
    exchanges = new Map();
  };
  let handed = state.offset;
  for await (const lines of jsonLines(found.path, counts, { offset: state.offset, lines: state.lines }, packed)) {
    let read: Line | null = null;
    for (const line of lines) {
      // It will be read when it is complete; until then `doctor` reports it.
      if (line.is === "unfinished" && packed === undefined) continue;
      if (line.is === "line") {
        const findings = findingsIn(parser, line);
        facts.add(findings);
        for (const p of findings.problems) problems.add(p);
        if (findings.exchanges !== undefined) for (const e of findings.exchanges) exchanges.set(e.id, e);
        if (texts !== null && findings.observations.length > 0) texts.push(...indexedTextsOfLine(parser, line));
      } else
        problems.add({
          code: LINE_PROBLEMS[line.is],
          where: `${found.path}:${line.number}`,
          detail: `${line.length} bytes`,
        });
      read = line;
    }
    if (read !== null) [position, tailInMemory] = [positionAfter(read), tailIn(read)];
    if (position.offset - handed >= BATCH_BYTES) {
      handed = position.offset;
      hand(false);
    }
  }
  hand(true);
}

/** The hash of the bytes before the next line, if they are in memory. */
const tailIn = (line: Line): string | null =>
  line.is === "line" && line.ended && line.offset + line.bytes.length + 1 === line.end ? tailAfter(line.bytes) : null;

/** The stamp of a partly read file. No file on disk has it, so the next sync continues reading, also after a crash. */
const inPart = ({ offset }: LinePosition) => ({ size: offset, modifiedMs: 0 });

/** A compressed file is not appended to, so its incomplete last line stays incomplete. */
const LINE_PROBLEMS = {
  "too-long": "line-too-long",
  zeroes: "line-zeroes",
  unfinished: "line-not-json",
} as const satisfies Record<string, ProblemCode>;

/**
 * Deleted files and their facts are kept, except: facts that hold only while the file exists, files in retinue's own
 * folders (they were deleted on purpose), and files that were moved.
 */
function* vanished(
  store: Store,
  { files, rootOf }: Looked,
  known: ReadonlyMap<string, FileState>,
): Generator<FileBatch> {
  // A file of this sync may be missing, too.
  const isThere = (path: string) => (files.has(path) ? files.get(path) !== null : store.file(path)?.gone === false);
  for (const [path, found] of files) {
    const state = known.get(path);
    if (found !== null || state === undefined || state.gone) continue;
    const root = rootOf(state.root);
    const stream = root === undefined ? undefined : streamIn(root, inside(state.root, path) ?? "");
    const isTakenBack =
      stream?.fleeting === true ||
      root?.imported === true ||
      root?.recorded === true ||
      othersOf(stream, state.root).some(isThere);
    yield isTakenBack
      ? takenBack(state)
      : { before: state, after: { ...state, ...GONE }, facts: new FactColumns(path), problems: [], texts: [] };
  }
}

/** A file at a place to which a missing file may have moved is that file. */
function* movedHere(store: Store, arrived: readonly Found[]): Generator<FileBatch> {
  for (const { stream, root } of arrived)
    for (const path of othersOf(stream, root)) {
      const state = store.file(path);
      if (state?.gone === true && state.parser !== null) yield takenBack(state);
    }
}

const othersOf = (stream: Stream | null | undefined, root: string) =>
  (stream?.elsewhere ?? []).map((path) => join(root, path));

const GONE = { gone: true, size: 0, offset: 0 } as const;

/** Retracts the facts of the file, and forgets how far it was read. */
const takenBack = (state: FileState): FileBatch => ({
  before: state,
  after: { ...state, ...GONE, generation: state.generation + 1, parser: null },
  facts: new FactColumns(state.path),
  problems: [],
  texts: [],
});
