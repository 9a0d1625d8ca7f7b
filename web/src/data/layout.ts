import { COLUMNS, type Column, type ColumnId } from "./columns.ts";

export const MODES = ["both", "own", "total"] as const;
export type Mode = (typeof MODES)[number];

/** A column of the agent alone, or of its subtree. */
export interface ShownColumn {
  readonly key: string;
  readonly column: Column;
  readonly total: boolean;
}

const SETS: readonly (readonly ColumnId[])[] = [
  ["input", "output", "cacheRead", "cacheWrite", "cost", "time", "tools", "errors"],
  ["tokens", "cost", "time", "tools", "errors"],
  ["tokens", "cost", "time", "errors"],
  ["tokens", "cost", "time"],
  ["cost", "time"],
];

export const COLUMN_PX = 78;
const NAME_PX = 330;
const STATUS_PX = 112;
const NARROW_NAME_PX = 190;

/** The columns that fit: tokens by kind on a wide screen, only cost and time on a narrow one. */
export function layout(
  width: number,
  mode: Mode,
  tokensByKind: boolean,
): { readonly columns: readonly ShownColumn[]; readonly status: boolean } {
  const status = width >= 720;
  const room = width - (status ? NAME_PX + STATUS_PX : NARROW_NAME_PX);
  const sides = mode === "both" ? [false, true] : [mode === "total"];
  const fits = (set: readonly ColumnId[], times: number) => set.length * times * COLUMN_PX <= room;
  const set = tokensByKind ? SETS[0] : SETS.find((ids) => fits(ids, sides.length));
  // If not even the smallest set fits twice, only the subtree's columns are shown.
  const shown = set === undefined ? [true] : sides;
  const ids = set ?? SETS.find((one) => fits(one, 1)) ?? (["cost"] as const);
  return {
    status,
    columns: COLUMNS.filter(({ id }) => ids.includes(id as never)).flatMap((column) =>
      shown.map((total) => ({ key: `${total ? "Σ" : ""}${column.id}`, column, total })),
    ),
  };
}
