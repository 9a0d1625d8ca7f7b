import type { AgentSet } from "./agent-set.ts";
import { columnOf } from "./columns.ts";
import { displayName } from "./format.ts";

export interface TreeRow {
  readonly uri: string;
  readonly depth: number;
  readonly children: number;
  readonly folded: boolean;
  /** Position among its siblings, from one. */
  readonly position: number;
  readonly siblings: number;
}

/** Sort order: by a column (own or subtree), by name or by status. Null elsewhere means by start time. */
export interface Sort {
  readonly by: string;
  readonly total: boolean;
  readonly descending: boolean;
}

export const parseSort = (text: string | undefined): Sort | null => {
  const match = /^(-?)(Σ?)(\w+)$/u.exec(text ?? "");
  return match === null ? null : { descending: match[1] === "-", total: match[2] === "Σ", by: match[3] ?? "" };
};
export const formatSort = (sort: Sort | null) =>
  sort === null ? null : `${sort.descending ? "-" : ""}${sort.total ? "Σ" : ""}${sort.by}`;

/** The rows of the tree from top to bottom. Iterative, because trees may be thousands of levels deep. */
export function treeRows(
  set: AgentSet,
  root: string,
  isFolded: (uri: string) => boolean,
  sort: Sort | null,
  now: number,
): TreeRow[] {
  const rows: TreeRow[] = [];
  const seen = new Set<string>();
  const stack: { uri: string; depth: number; position: number; siblings: number }[] = [
    { uri: root, depth: 0, position: 1, siblings: 1 },
  ];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (seen.has(at.uri) || !set.has(at.uri)) continue;
    seen.add(at.uri);
    const children = ordered(set, set.childrenOf(at.uri), sort, now);
    const folded = children.length > 0 && isFolded(at.uri);
    rows.push({ ...at, children: children.length, folded });
    if (folded) continue;
    for (let index = children.length - 1; index >= 0; index -= 1)
      stack.push({ uri: children[index] ?? "", depth: at.depth + 1, position: index + 1, siblings: children.length });
  }
  return rows;
}

function ordered(set: AgentSet, uris: readonly string[], sort: Sort | null, now: number): readonly string[] {
  if (sort === null || uris.length < 2) return uris;
  const value = sortValue(set, sort, now);
  const values = new Map(uris.map((uri) => [uri, value(uri)]));
  return uris.toSorted((a, b) => (sort.descending ? -1 : 1) * compare(values.get(a) ?? null, values.get(b) ?? null));
}

function sortValue(set: AgentSet, { by, total }: Sort, now: number): (uri: string) => number | string | null {
  const column = columnOf(by);
  return (uri) => {
    const record = set.get(uri);
    if (record === undefined) return null;
    if (by === "name") return displayName(record).toLowerCase();
    if (by === "status") return record.status;
    if (column === undefined) return null;
    return total ? column.total(record, set.sumsOf(uri), now) : column.own(record, now);
  };
}

/** Unknown values sort below all others. */
function compare(a: number | string | null, b: number | string | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
