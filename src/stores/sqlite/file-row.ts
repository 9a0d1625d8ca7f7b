import type { StatementSync } from "node:sqlite";
import type { FileState } from "../../core/store.ts";

/** A row of the table of files as everybody else knows it. */
export function stateOf(row: Record<string, unknown>): FileState {
  return {
    path: row.path as string,
    root: row.root as string,
    provider: row.provider as string,
    identity: row.identity as string,
    size: Number(row.size),
    modifiedMs: Number(row.modified),
    offset: Number(row.offset),
    lines: Number(row.lines),
    generation: Number(row.generation),
    tail: row.tail as string,
    parser: JSON.parse(row.parser as string),
    gone: row.gone === 1,
  };
}

/** Keeps how far a file was read; its number. */
export function saveFile(sql: (text: string) => StatementSync, owner: string, s: FileState): number {
  const row = sql(
    `INSERT INTO file (owner, path, root, provider, identity, size, modified, offset, lines, generation, tail, parser, gone)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (owner, path) DO UPDATE SET root = excluded.root, provider = excluded.provider, identity = excluded.identity, size = excluded.size, modified = excluded.modified,
       offset = excluded.offset, lines = excluded.lines, generation = excluded.generation, tail = excluded.tail, parser = excluded.parser, gone = excluded.gone
     RETURNING id`,
  ).get(
    owner,
    s.path,
    s.root,
    s.provider,
    s.identity,
    s.size,
    s.modifiedMs,
    s.offset,
    s.lines,
    s.generation,
    s.tail,
    JSON.stringify(s.parser ?? null),
    s.gone ? 1 : 0,
  );
  return Number(row?.id);
}
