import { setImmediate } from "node:timers/promises";
import type { Problem } from "../../core/facts/problem.ts";
import type { DatabasePlan, DatabaseStream, Mark, Parser } from "../../core/ports/provider.ts";
import type { FileState, IndexedText, Store } from "../../core/ports/store.ts";
import { DatabaseTrouble, isFresh, ProductDatabase, type RecordRow } from "../../transports/database.ts";
import type { ReadCounts } from "../../transports/files.ts";
import { loadSqlite } from "../databases.ts";
import { deleted, fresh, NewFacts, ProblemsOfFile, type Writer, withoutFacts } from "./batches.ts";
import { asSource, type Found, objectPath } from "./discover.ts";
import { indexedTexts } from "./indexed-text.ts";
import type { SyncOptions } from "./sync.ts";

export type FoundDatabase = Found & { readonly stream: DatabaseStream };

/** What is stored about a database, besides its objects. */
interface DatabaseState {
  readonly mark: Mark | null;
  /** Objects that may change without a new revision. */
  readonly open: readonly string[];
}

/** An object to check, with its revision if known. */
interface Due {
  readonly object: string;
  readonly revision: string;
}

/** Maximum time that reading blocks the event loop. */
const TURN_MS = 20;

/**
 * Reads what is new in a database: changed objects, and of these the changed rows. Objects that were read before a
 * failure are stored. The database is marked as read only if all succeeded, so that it is tried again.
 */
export async function syncDatabase(
  found: FoundDatabase,
  before: FileState | null,
  store: Store,
  writer: Writer,
  options: SyncOptions,
): Promise<void> {
  const trouble = (error: unknown, where: string) => {
    if (!(error instanceof DatabaseTrouble)) throw error;
    options.onUnreadable({ code: error.code, where, detail: error.message });
  };
  const wasFresh = isFresh(found.path);
  let db: ProductDatabase;
  try {
    db = new ProductDatabase(await loadSqlite(), found.path, options.counts);
  } catch (error) {
    return trouble(error, found.path);
  }
  try {
    const plan = found.stream.plan(db.schema());
    if ("unknown" in plan)
      return options.onUnreadable({ code: "database-unknown", where: found.path, detail: plan.unknown });
    const unread: Problem[] =
      plan.unread === undefined ? [] : [{ code: "database-unknown", where: found.path, detail: plan.unread }];
    const stored = stateIn(before);
    const { due, now, gone } = db.moment(() => dueObjects(db, plan, found, stored, before, store));
    const open = new Set(stored.open);
    const read = (one: Due) => {
      const after = db.moment(() => readObject(db, plan, found, one, store, writer));
      if (after !== null && now !== null && plan.changes?.isOpen(after.parser, now) === true) open.add(one.object);
      else open.delete(one.object);
    };
    const isComplete = await readAll(due, read, (error, { object }) => trouble(error, objectPath(found.path, object)));
    for (const state of gone) writer.add(withoutFacts(state, deleted(state)));
    if (!isComplete) return;
    const after = {
      ...fresh(found, null),
      modifiedMs: wasFresh ? 0 : found.stamp.modifiedMs,
      generation: (before?.generation ?? -1) + 1,
      offset: (before?.offset ?? 0) + 1,
      parser: { mark: now, open: [...open] } satisfies DatabaseState,
    };
    writer.add(withoutFacts(before, after, unread));
  } catch (error) {
    trouble(error, found.path);
  } finally {
    db.close();
  }
}

/** Returns whether all objects could be read. A busy database is not tried further. */
async function readAll(
  due: readonly Due[],
  read: (one: Due) => void,
  onError: (error: unknown, one: Due) => void,
): Promise<boolean> {
  let isComplete = true;
  let turn = performance.now();
  for (const one of due) {
    try {
      read(one);
    } catch (error) {
      isComplete = false;
      onError(error, one);
      if (error instanceof DatabaseTrouble && error.code === "database-busy") break;
    }
    if (performance.now() - turn < TURN_MS) continue;
    await setImmediate();
    turn = performance.now();
  }
  return isComplete;
}

function stateIn(before: FileState | null): DatabaseState {
  const { mark, open } = (before?.parser ?? {}) as Partial<DatabaseState>;
  return { mark: mark ?? null, open: open ?? [] };
}

/** The objects to read: those that changed if the database can tell, else all with another revision. */
function dueObjects(
  db: ProductDatabase,
  plan: DatabasePlan,
  { path, stamp }: FoundDatabase,
  { mark, open }: DatabaseState,
  before: FileState | null,
  store: Store,
) {
  const now = plan.changes === undefined ? null : (db.one(plan.changes.mark) as Mark | null);
  const isSame = before !== null && !before.gone && before.identity === stamp.identity;
  if (
    plan.changes !== undefined &&
    isSame &&
    mark !== null &&
    now !== null &&
    Number(db.one(plan.changes.lost(mark))?.lost) !== 1
  ) {
    const changed = plan.changes.changed(mark, now);
    if (changed !== null) {
      const objects = new Set([...db.all(changed).map((row) => String(row.object)), ...open]);
      return { due: [...objects].map((object): Due => ({ object, revision: "" })), now, gone: [] };
    }
  }
  const known = new Map(store.objectsIn(path).map((state) => [state.path, state]));
  const listed = db
    .all(plan.objects)
    .map(({ object, revision }): Due => ({ object: String(object), revision: String(revision) }));
  const paths = new Set(listed.map(({ object }) => objectPath(path, object)));
  const isRead = ({ object, revision }: Due) => {
    const state = known.get(objectPath(path, object));
    return state !== undefined && !state.gone && state.tail === revision;
  };
  return {
    due: listed.filter((one) => !isRead(one)),
    now,
    gone: [...known.values()].filter((state) => !state.gone && !paths.has(state.path)),
  };
}

/** Returns the new state of the object; null if it does not exist. */
function readObject(
  db: ProductDatabase,
  plan: DatabasePlan,
  database: FoundDatabase,
  { object, revision }: Due,
  store: Store,
  writer: Writer,
): FileState | null {
  const path = objectPath(database.path, object);
  const before = store.file(path);
  const extent = db.one(plan.extent(object, before?.parser ?? null));
  if (extent === null) return null;
  const bytes = Number(extent.bytes ?? 0);
  const resumes = before !== null && !before.gone && Number(extent.intact ?? 1) === 1;
  const found: Found = { ...database, object, stamp: { ...database.stamp, size: bytes } };
  const parser = found.stream.open(asSource(found), resumes ? before.parser : undefined);
  const facts = new NewFacts(path, resumes);
  const records = db.records(plan.rows(object, resumes ? before.parser : null));
  const { problems, texts, rows, bytes: read } = readRows(records, parser, path, facts);
  db.checkUndisturbed();
  if (resumes && rows.length === 0 && revision === "") return before;
  const start = resumes
    ? { ...before, identity: database.stamp.identity, gone: false }
    : { ...fresh(database, before), path, within: database.path };
  const after: FileState = {
    ...start,
    size: bytes,
    modifiedMs: database.stamp.modifiedMs,
    offset: start.offset + read,
    lines: start.lines + rows.length,
    tail: revision,
    parser: parser.save(),
  };
  writer.add({ before, after, ...facts.take(true), problems, texts, ...(resumes ? { replaces: rows } : {}) });
  return after;
}

/** Adds the facts of the rows; returns the rest of what was read. */
function readRows(records: Iterable<RecordRow>, parser: Parser, path: string, facts: NewFacts) {
  const problems = new ProblemsOfFile(path);
  const [texts, rows]: [IndexedText[], string[]] = [[], []];
  let bytes = 0;
  for (const { row, position, record, bytes: length } of records) {
    rows.push(row);
    bytes += length;
    if (record === null) {
      problems.add({ code: "record-too-large", where: `${path}:${row}`, detail: `${length} bytes` });
      continue;
    }
    const findings = parser.push(record, position, row);
    facts.add(findings);
    for (const p of findings.problems) problems.add(p);
    if (findings.observations.length > 0)
      for (const draft of parser.events(record, position, row)) texts.push(...indexedTexts(draft, { row }));
  }
  return { problems: problems.take(), texts, rows, bytes };
}

/** The records of an object that are new since `saved`, oldest first. */
export async function* objectRecords(
  found: FoundDatabase,
  object: string,
  saved: unknown,
  counts: ReadCounts,
): AsyncGenerator<RecordRow> {
  yield* await query(found, counts, (db, plan) =>
    [...db.records(plan.rows(object, saved))].sort((a, b) => a.position - b.position),
  );
}

/** One record; null if it no longer exists. */
export async function objectRecord(
  found: FoundDatabase,
  object: string,
  row: string,
  counts: ReadCounts,
): Promise<RecordRow | null> {
  const [record] = await query(found, counts, (db, plan) => [...db.records(plan.row(object, row))]);
  return record ?? null;
}

/** Returns nothing if the database cannot be read now; the sync has reported it. */
async function query(
  found: FoundDatabase,
  counts: ReadCounts,
  read: (db: ProductDatabase, plan: DatabasePlan) => RecordRow[],
): Promise<RecordRow[]> {
  try {
    const db = new ProductDatabase(await loadSqlite(), found.path, counts);
    try {
      const plan = found.stream.plan(db.schema());
      return "unknown" in plan ? [] : read(db, plan);
    } finally {
      db.close();
    }
  } catch (error) {
    if (error instanceof DatabaseTrouble) return [];
    throw error;
  }
}
