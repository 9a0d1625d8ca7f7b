import { setImmediate } from "node:timers/promises";
import { FactColumns } from "../../core/facts/fact-columns.ts";
import type { Problem } from "../../core/facts/problem.ts";
import type { DatabasePlan, DatabaseStream, Mark } from "../../core/ports/provider.ts";
import type { FileState, IndexedText, Store } from "../../core/ports/store.ts";
import { DatabaseTrouble, isFresh, ProductDatabase, type RecordRow } from "../../transports/database.ts";
import type { ReadCounts } from "../../transports/files.ts";
import { loadSqlite } from "../databases.ts";
import { fresh, NewFacts, ProblemsOfFile, type Writer } from "./batches.ts";
import { asSource, type Found, objectPath } from "./discover.ts";
import { indexedTexts } from "./indexed-text.ts";
import type { SyncOptions } from "./sync.ts";

export type FoundDatabase = Found & { readonly stream: DatabaseStream };

/** The stored state of a database. */
interface Memory {
  readonly mark: Mark | null;
  /** Objects that may change without a new revision. */
  readonly open: readonly string[];
}

/** An object to check, with its revision if known. */
interface Due {
  readonly object: string;
  readonly revision: string;
}

/** How long reading may block the event loop. */
const TURN_MS = 20;

/**
 * Reads what is new in a database: changed objects, and of these the changed rows. Objects read before a failure stay
 * read; the database is marked as read only if all succeeded, so that it is tried again.
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
    const memory = memoryIn(before);
    const { due, now, gone } = db.moment(() => whatIsDue(db, plan, found, memory, before, store));
    const open = new Set(memory.open);
    let isComplete = true;
    let turn = performance.now();
    for (const one of due) {
      try {
        const after = db.moment(() => readObject(db, plan, found, one, store, writer));
        if (after !== null && now !== null && plan.changes?.isOpen(after.parser, now) === true) open.add(one.object);
        else open.delete(one.object);
      } catch (error) {
        isComplete = false;
        trouble(error, objectPath(found.path, one.object));
        if (error instanceof DatabaseTrouble && error.code === "database-busy") break;
      }
      if (performance.now() - turn < TURN_MS) continue;
      await setImmediate();
      turn = performance.now();
    }
    for (const state of gone)
      writer.add({
        before: state,
        after: { ...state, gone: true, size: 0, offset: 0 },
        facts: new FactColumns(state.path),
        problems: [],
        texts: [],
      });
    if (!isComplete) return;
    const whole: Memory = { mark: now, open: [...open] };
    const modifiedMs = wasFresh ? 0 : found.stamp.modifiedMs;
    const after = {
      ...fresh(found, null),
      modifiedMs,
      generation: (before?.generation ?? -1) + 1,
      offset: (before?.offset ?? 0) + 1,
      parser: whole,
    };
    writer.add({ before, after, facts: new FactColumns(found.path), problems: unread, texts: [] });
  } catch (error) {
    trouble(error, found.path);
  } finally {
    db.close();
  }
}

function memoryIn(before: FileState | null): Memory {
  const { mark, open } = (before?.parser ?? {}) as Partial<Memory>;
  return { mark: mark ?? null, open: open ?? [] };
}

function whatIsDue(
  db: ProductDatabase,
  plan: DatabasePlan,
  { path, stamp }: FoundDatabase,
  { mark, open }: Memory,
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
  const goesOn = before !== null && !before.gone && Number(extent.intact ?? 1) === 1;
  const found: Found = { ...database, object, stamp: { ...database.stamp, size: bytes } };
  const parser = found.stream.open(asSource(found), goesOn ? before.parser : undefined);
  const problems = new ProblemsOfFile(path);
  const facts = new NewFacts(path, goesOn);
  const [texts, rows]: [IndexedText[], string[]] = [[], []];
  let read = 0;
  for (const { row, position, record, bytes: length } of db.records(plan.rows(object, goesOn ? before.parser : null))) {
    rows.push(row);
    read += length;
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
  db.checkUndisturbed();
  if (goesOn && rows.length === 0 && revision === "") return before;
  const start = goesOn
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
  const taken = facts.take(true);
  writer.add({ before, after, ...taken, problems: problems.take(), texts, ...(goesOn ? { replaces: rows } : {}) });
  return after;
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
