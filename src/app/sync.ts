import type { Exchange } from "../core/exchange.ts";
import type { AgentKey } from "../core/ids.ts";
import type { Problem, ProblemCode } from "../core/problem.ts";
import type { Stream } from "../core/provider.ts";
import type { FileBatch, FileState, SaidText, Store } from "../core/store.ts";
import { StoreFault } from "../stores/fault.ts";
import { type ReadCounts, readWhole, tailBefore } from "../transports/files.ts";
import { type LinePosition, positionAfter } from "../transports/lines.ts";
import { inside, join } from "../transports/system/paths.ts";
import { BATCH_BYTES, fresh, type OnWritten, ProblemsOfFile, Standing, stampIn, Writer } from "./batches.ts";
import { asSource, type Found, type RootSeen, streamIn } from "./discover.ts";
import { findingsIn, jsonLines } from "./json-lines.ts";
import { saidIn } from "./said.ts";
import { syncDatabase } from "./sync-database.ts";

export interface SyncOptions {
  readonly counts: ReadCounts;
  readonly onUnreadable: (problem: Problem) => void;
  readonly onWritten?: OnWritten;
  readonly onProgress?: (done: number, all: number) => void;
}

/** The files looked at, as they lie there now; null for those that are not there. */
export interface Looked {
  readonly files: ReadonlyMap<string, Found | null>;
  readonly rootOf: (path: string) => RootSeen | undefined;
}

export interface Synced {
  readonly changed: readonly string[];
  /** Those that the changed files speak of. */
  readonly threads: ReadonlySet<AgentKey>;
}

/** Brings the store up to what lies on disk. Files that did not change are not opened; of those that grew only the new bytes are read. */
export async function sync(store: Store, looked: Looked, known: ReadonlyMap<string, FileState>, options: SyncOptions): Promise<Synced> {
  const changed = [...looked.files.values()].filter((found) => found !== null && !isUnchanged(known.get(found.path), found)).filter((found) => found !== null);
  // A thread's files lie side by side in this order: its transcript, then its folder.
  changed.sort((a, b) => (a.path < b.path ? -1 : 1));
  const arrived = changed.filter(({ path }) => known.get(path)?.gone ?? true);
  const writer = new Writer(store, options.onWritten);
  let done = 0;
  for (const found of changed) {
    try {
      if (found.stream.shape === "database") await syncDatabase({ ...found, stream: found.stream }, known.get(found.path) ?? null, store, writer, options);
      else await readOn(found, known.get(found.path) ?? null, writer, options.counts);
    } catch (error) {
      if (error instanceof StoreFault) throw error;
      // What it said before stays; it is tried again the next time.
      options.onUnreadable({ code: "file-unreadable", where: found.path, detail: (error as Error).message });
    }
    done += 1;
    options.onProgress?.(done, changed.length);
  }
  for (const batch of vanished(store, looked, known)) writer.add(batch);
  writer.flush();
  for (const batch of movedHere(store, arrived)) writer.add(batch);
  writer.flush();
  return { changed: changed.map((found) => found.path), threads: writer.threads };
}

export function isUnchanged(state: FileState | null | undefined, { stamp }: Found): boolean {
  return state != null && !state.gone && state.identity === stamp.identity && state.size === stamp.size && state.modifiedMs === stamp.modifiedMs;
}

async function readOn(found: Found, before: FileState | null, writer: Writer, counts: ReadCounts): Promise<void> {
  if (found.stream.shape === "document") {
    writer.add(readDocument(found, before, counts));
    return;
  }
  const goesOn = before !== null && found.stream.packed === undefined && isAppended(found, before, counts);
  await readTranscript(found, before, goesOn, writer, counts);
}

/** The same file, at least as long, and what was read last still stands where it stood. */
function isAppended({ path, stamp }: Found, before: FileState, counts: ReadCounts): boolean {
  if (before.identity !== stamp.identity || stamp.size < before.offset) return false;
  return tailBefore(path, before.offset, counts) === before.tail;
}

function readDocument(found: Found, before: FileState | null, counts: ReadCounts): FileBatch {
  const bytes = readWhole(found.path, counts);
  const parser = found.stream.open({ ...asSource(found), bytes: bytes.length });
  const { observations, problems } = parser.push(bytes, 0);
  const texts = observations.length === 0 ? [] : parser.events(bytes, 0).flatMap((draft) => saidIn(draft, WHOLE));
  const after = { ...fresh(found, before), offset: bytes.length, lines: 0 };
  return { before, after, observations, problems, texts };
}

/** Where a document stands in its file. */
const WHOLE = { line: 0, offset: 0 };

async function readTranscript(found: Found, before: FileState | null, goesOn: boolean, writer: Writer, counts: ReadCounts): Promise<void> {
  let state = goesOn && before !== null ? { ...before, ...stampIn(found), gone: false } : fresh(found, before);
  let last = before;
  const { packed } = found.stream;
  const parser = found.stream.open(asSource(found), goesOn ? state.parser : undefined);
  const standing = new Standing(found.path);
  const problems = new ProblemsOfFile(found.path);
  let texts: SaidText[] = [];
  let exchanges = new Map<string, Exchange>();
  let position: LinePosition = { offset: state.offset, lines: state.lines };
  const hand = () => {
    const tail = packed === undefined ? tailBefore(found.path, position.offset, counts) : "";
    state = { ...state, ...position, parser: parser.save(), tail };
    writer.add({ before: last, after: state, ...standing.take(), problems: problems.take(), texts, exchanges: [...exchanges.values()] });
    last = state;
    texts = [];
    exchanges = new Map();
  };
  let handed = state.offset;
  for await (const lines of jsonLines(found.path, counts, { offset: state.offset, lines: state.lines }, packed)) {
    for (const line of lines) {
      // It will be read when it is finished; until then `doctor` tells of it.
      if (line.is === "unfinished" && packed === undefined) continue;
      if (line.is === "line") {
        const findings = findingsIn(parser, line);
        standing.add(findings);
        for (const p of findings.problems) problems.tell(p);
        for (const e of findings.exchanges ?? []) exchanges.set(e.id, e);
        if (findings.observations.length > 0)
          for (const draft of parser.events(line.bytes, line.number)) texts.push(...saidIn(draft, { line: line.number, offset: line.offset }));
      } else problems.tell({ code: LINE_PROBLEMS[line.is], where: `${found.path}:${line.number}`, detail: `${line.length} bytes` });
      position = positionAfter(line);
    }
    if (position.offset - handed >= BATCH_BYTES) {
      handed = position.offset;
      hand();
    }
  }
  hand();
}

/** What is packed will never be finished. */
const LINE_PROBLEMS = { "too-long": "line-too-long", zeroes: "line-zeroes", unfinished: "line-not-json" } as const satisfies Record<string, ProblemCode>;

/**
 * Files that are gone stay known, and so does what they said, unless it held only while they were there, or we kept them ourselves (then somebody meant it),
 * or they were only moved and say it elsewhere.
 */
function* vanished(store: Store, { files, rootOf }: Looked, known: ReadonlyMap<string, FileState>): Generator<FileBatch> {
  // One that is looked at now may be gone as well.
  const isThere = (path: string) => (files.has(path) ? files.get(path) !== null : store.file(path)?.gone === false);
  for (const [path, found] of files) {
    const state = known.get(path);
    if (found !== null || state === undefined || state.gone) continue;
    const root = rootOf(state.root);
    const stream = root === undefined ? undefined : streamIn(root, inside(state.root, path) ?? "");
    const isTakenBack = stream?.fleeting === true || root?.imported === true || root?.recorded === true || othersOf(stream, state.root).some(isThere);
    yield isTakenBack ? takenBack(state) : { before: state, after: { ...state, ...GONE }, observations: [], problems: [], texts: [] };
  }
}

/** A file that turns up where one that is gone may have gone to is that one. */
function* movedHere(store: Store, arrived: readonly Found[]): Generator<FileBatch> {
  for (const { stream, root } of arrived)
    for (const path of othersOf(stream, root)) {
      const state = store.file(path);
      if (state?.gone === true && state.parser !== null) yield takenBack(state);
    }
}

const othersOf = (stream: Stream | null | undefined, root: string) => (stream?.elsewhere ?? []).map((path) => join(root, path));

const GONE = { gone: true, size: 0, offset: 0 } as const;

/** What it said is forgotten, and so is how far it was read. */
const takenBack = (state: FileState): FileBatch => ({
  before: state,
  after: { ...state, ...GONE, generation: state.generation + 1, parser: null },
  observations: [],
  problems: [],
  texts: [],
});
