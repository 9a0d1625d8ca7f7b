import type { FileState } from "../../core/store.ts";

/** A row of the table of files as everybody else knows it. */
export function stateOf(row: Record<string, unknown>): FileState {
  return {
    path: row.path as string,
    within: row.within as string | null,
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
