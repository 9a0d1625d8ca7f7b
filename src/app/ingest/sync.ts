import type { Exchange } from "../../core/facts/exchange.ts";
import type { Problem, ProblemCode } from "../../core/facts/problem.ts";
import type { Parser, Stream } from "../../core/ports/provider.ts";
import type { FileBatch, FileState, IndexedText, Store } from "../../core/ports/store.ts";
import { MAX_RECORD } from "../../core/tools/limits.ts";
import { StoreFault } from "../../stores/fault.ts";
import { type ReadCounts, readWhole, tailAfter, tailBefore } from "../../transports/files.ts";
import {
  type Line,
  type LinePosition,
  type PassedPart,
  positionAfter,
  type RecordLine,
} from "../../transports/lines.ts";
import { inside, join } from "../../transports/system/paths.ts";
import {
  BATCH_BYTES,
  deleted,
  fresh,
  NewFacts,
  type OnWritten,
  ProblemsOfFile,
  stampIn,
  Writer,
  withoutFacts,
} from "./batches.ts";
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
  /** Files are read in slices, so that others are read in between; the rest of a file is left to later calls. */
  readonly slices?: Slices | undefined;
}

/** What is known about files that were read in part. */
export interface Slices {
  /** A file was not read to its end. */
  readonly onLeft: (path: string) => void;
  /** By path: the part of a line over the limit that was read without finding its end. */
  readonly longLines: Map<string, LongLine>;
}

interface LongLine extends PassedPart {
  readonly identity: string;
  readonly offset: number;
}

/** More than the longest line, so that every slice ends behind a line or within one over the limit. */
const SLICE_BYTES = MAX_RECORD + (16 << 20);

/** If more bytes than this are new, their text is indexed later, otherwise together with the records. */
const LITTLE_TEXT = 256 << 10;

/** Files as found on disk; null for missing ones. */
interface FilesOnDisk {
  readonly files: ReadonlyMap<string, Found | null>;
  readonly rootOf: (path: string) => RootSeen | undefined;
}

/**
 * Reads new data from disk into the store. Returns the paths of changed files. Unchanged files are not opened; of files that grew,
 * only the new bytes are read.
 */
export async function sync(
  store: Store,
  onDisk: FilesOnDisk,
  known: ReadonlyMap<string, FileState>,
  options: SyncOptions,
): Promise<readonly string[]> {
  const unread = [...onDisk.files.values()]
    .filter((found) => found !== null)
    .filter((found) => !isUnchanged(known.get(found.path), found));
  const changed = inReadingOrder(unread.map(toRead))
    .map(({ path }) => onDisk.files.get(path))
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
      else await readFound(found, known.get(found.path) ?? null, writer, options);
    } catch (error) {
      if (error instanceof StoreFault) throw error;
      // Earlier facts stay; the next sync tries again.
      options.onUnreadable({ code: "file-unreadable", where: found.path, detail: (error as Error).message });
    }
    done += 1;
    doneBytes += found.stamp.size;
    options.onProgress?.(done, changed.length, { done: doneBytes, all: allBytes });
  }
  for (const batch of deletedFiles(store, onDisk, known)) writer.add(batch);
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

async function readFound(
  found: Found,
  before: FileState | null,
  writer: Writer,
  { counts, slices }: SyncOptions,
): Promise<void> {
  if (found.stream.shape === "document") {
    writer.add(readDocument(found, before, counts));
    return;
  }
  const isPacked = found.stream.packed !== undefined;
  const resumes = before !== null && !isPacked && isAppended(found, before, counts);
  await new TranscriptReading(found, before, resumes, writer, counts, isPacked ? undefined : slices).run();
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

/** Reads the new lines of a transcript, and passes them to the writer in batches. */
class TranscriptReading {
  readonly #found: Found;
  readonly #writer: Writer;
  readonly #counts: ReadCounts;
  readonly #slices: Slices | undefined;
  readonly #parser: Parser;
  readonly #facts: NewFacts;
  readonly #problems: ProblemsOfFile;
  /** Little text is indexed together with its records. */
  readonly #indexesText: boolean;
  /** The state after the last batch; null for a new file. */
  #stored: FileState | null;
  #state: FileState;
  #position: LinePosition;
  #tailInMemory: string | null = null;
  #texts: IndexedText[] = [];
  #exchanges = new Map<string, Exchange>();

  constructor(
    found: Found,
    before: FileState | null,
    resumes: boolean,
    writer: Writer,
    counts: ReadCounts,
    slices: Slices | undefined,
  ) {
    this.#found = found;
    this.#writer = writer;
    this.#counts = counts;
    this.#slices = slices;
    this.#stored = before;
    this.#state = resumes && before !== null ? { ...before, ...stampIn(found), gone: false } : fresh(found, before);
    const { offset, lines, parser } = this.#state;
    this.#parser = found.stream.open(asSource(found), resumes ? parser : undefined);
    this.#facts = new NewFacts(found.path, resumes);
    this.#problems = new ProblemsOfFile(found.path);
    this.#indexesText = resumes && found.stamp.size - offset <= LITTLE_TEXT;
    this.#position = { offset, lines };
  }

  async run(): Promise<void> {
    const { path, stream, stamp } = this.#found;
    const began = this.#counts.bytes;
    let flushedTo = this.#position.offset;
    const passed = { bytes: this.#longLine() };
    for await (const lines of jsonLines(path, this.#counts, this.#position, stream.packed, passed)) {
      let last: Line | null = null;
      for (const line of lines) {
        // It will be read when it is complete; until then `doctor` reports it.
        if (line.is === "unfinished" && stream.packed === undefined) continue;
        if (line.is === "line") this.#read(line);
        else {
          const where = `${path}:${line.number}`;
          this.#problems.add({ code: LINE_PROBLEMS[line.is], where, detail: `${line.length} bytes` });
        }
        last = line;
      }
      if (last !== null) [this.#position, this.#tailInMemory] = [positionAfter(last), tailIn(last)];
      const seenTo = this.#position.offset + passed.bytes;
      if (this.#slices !== undefined && this.#counts.bytes - began >= SLICE_BYTES && seenTo < stamp.size) {
        this.#leave(passed);
        return;
      }
      if (this.#position.offset - flushedTo < BATCH_BYTES) continue;
      flushedTo = this.#position.offset;
      this.#flush(false);
    }
    this.#keepLongLine(passed);
    this.#flush(true);
  }

  /** Leaves the rest of the file to the next slice. */
  #leave(passed: PassedPart): void {
    this.#keepLongLine(passed);
    this.#slices?.onLeft(this.#found.path);
    if (this.#stored === null || this.#position.offset > this.#stored.offset) this.#flush(false);
  }

  /** The number of bytes of a line over the limit that need not be read again. */
  #longLine(): number {
    const known = this.#slices?.longLines.get(this.#found.path);
    const isSame = known?.identity === this.#found.stamp.identity && known.offset === this.#position.offset;
    return isSame && known.offset + known.bytes <= this.#found.stamp.size ? known.bytes : 0;
  }

  #keepLongLine({ bytes }: PassedPart): void {
    const { path, stamp } = this.#found;
    if (bytes === 0) this.#slices?.longLines.delete(path);
    else this.#slices?.longLines.set(path, { identity: stamp.identity, offset: this.#position.offset, bytes });
  }

  #read(line: RecordLine) {
    const findings = findingsIn(this.#parser, line);
    this.#facts.add(findings);
    for (const problem of findings.problems) this.#problems.add(problem);
    if (findings.exchanges !== undefined) for (const one of findings.exchanges) this.#exchanges.set(one.id, one);
    if (this.#indexesText && findings.observations.length > 0)
      this.#texts.push(...indexedTextsOfLine(this.#parser, line));
  }

  /** `isWhole`: the file was read to its end. */
  #flush(isWhole: boolean) {
    const { path, stream } = this.#found;
    const { offset } = this.#position;
    const tail = stream.packed === undefined ? (this.#tailInMemory ?? tailBefore(path, offset, this.#counts)) : "";
    const stamp = isWhole ? stampIn(this.#found) : inPart(this.#position);
    this.#state = { ...this.#state, ...stamp, ...this.#position, parser: this.#parser.save(), tail };
    this.#writer.add({
      before: this.#stored,
      after: this.#state,
      ...this.#facts.take(isWhole),
      problems: this.#problems.take(),
      texts: this.#indexesText ? this.#texts : null,
      exchanges: [...this.#exchanges.values()],
    });
    this.#stored = this.#state;
    this.#texts = [];
    this.#exchanges = new Map();
  }
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
 * The facts of deleted files stay, except: facts that hold only while the file exists, files in retinue's own folders
 * (they were deleted on purpose), and files that were moved.
 */
function* deletedFiles(
  store: Store,
  { files, rootOf }: FilesOnDisk,
  known: ReadonlyMap<string, FileState>,
): Generator<FileBatch> {
  // The other file may be missing in this sync, too.
  const exists = (path: string) => (files.has(path) ? files.get(path) !== null : store.file(path)?.gone === false);
  for (const [path, found] of files) {
    const state = known.get(path);
    if (found !== null || state === undefined || state.gone) continue;
    const root = rootOf(state.root);
    const stream = root === undefined ? undefined : streamIn(root, inside(state.root, path) ?? "");
    const isRetracted =
      stream?.fleeting === true ||
      root?.imported === true ||
      root?.recorded === true ||
      otherPaths(stream, state.root).some(exists);
    yield isRetracted ? retracted(state) : withoutFacts(state, deleted(state));
  }
}

/** Missing files that are now at another path: their facts are retracted. */
function* movedHere(store: Store, arrived: readonly Found[]): Generator<FileBatch> {
  for (const { stream, root } of arrived)
    for (const path of otherPaths(stream, root)) {
      const state = store.file(path);
      if (state?.gone === true && state.parser !== null) yield retracted(state);
    }
}

const otherPaths = (stream: Stream | null | undefined, root: string) =>
  (stream?.elsewhere ?? []).map((path) => join(root, path));

/** Retracts the facts of the file, and resets how far it was read. */
const retracted = (state: FileState): FileBatch =>
  withoutFacts(state, { ...deleted(state), generation: state.generation + 1, parser: null });
