import { stripVTControlCharacters } from "node:util";
import { visible } from "../../core/tools/visible.ts";

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /**
   * On a narrow terminal, columns with a higher number are dropped first. Without a number a column is never dropped.
   */
  readonly drop?: number;
  /** Takes the remaining width and is truncated if necessary. */
  readonly flex?: true;
}

export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

const GAP = "  ";
/** Width of the flexible column below which other columns are dropped, and its minimum. */
const GOOD_FLEX = 28;
const MIN_FLEX = 12;

/** Aligned columns within `width`; null means unlimited. */
export function table(
  columns: readonly Column[],
  given: readonly (readonly Cell[])[],
  width: number | null,
  head: (text: string) => string,
): string[] {
  const rows = given.map((row) => row.map(onOneLine));
  const natural = columns.map((column, i) =>
    rows.reduce((widest, row) => Math.max(widest, cells(row[i]?.text ?? "")), cells(column.title)),
  );
  const used = columns.map((_, i) => rows.some((row) => (row[i]?.text ?? "") !== "") || columns[i]?.flex === true);
  const kept = fitColumns(columns, natural, used, width);
  const line = (texts: readonly Cell[]) =>
    kept
      .map(({ index, size }, place) => {
        const cell = texts[index] ?? { text: "" };
        const cut = clip(cell.text, size);
        const gap = " ".repeat(size - cells(cut));
        const painted = cell.paint?.(cut) ?? cut;
        if (columns[index]?.align === "right") return gap + painted;
        return place === kept.length - 1 ? painted : painted + gap;
      })
      .join(GAP)
      .trimEnd();
  return [line(columns.map((c) => ({ text: c.title, paint: head }))), ...rows.map(line)];
}

/** Ids and types come from transcripts and may contain control characters. */
function onOneLine(cell: Cell): Cell {
  const text = visible(cell.text).replace(/[\t\n]/g, " ");
  return text === cell.text ? cell : { ...cell, text };
}

function fitColumns(
  columns: readonly Column[],
  natural: readonly number[],
  used: readonly boolean[],
  width: number | null,
): { index: number; size: number }[] {
  let kept = columns.map((_, index) => index).filter((index) => used[index]);
  const total = () => kept.reduce((sum, i) => sum + (natural[i] ?? 0), 0) + GAP.length * (kept.length - 1);
  const flex = columns.findIndex((c) => c.flex);
  const slack = Math.max(0, (natural[flex] ?? 0) - GOOD_FLEX);
  if (width !== null) {
    while (total() - slack > width) {
      const dropped = kept.reduce(
        (worst, i) => ((columns[i]?.drop ?? 0) > (columns[worst]?.drop ?? 0) ? i : worst),
        kept[0] ?? 0,
      );
      if (columns[dropped]?.drop === undefined) break;
      kept = kept.filter((i) => i !== dropped);
    }
  }
  const over = width === null ? 0 : Math.max(0, total() - width);
  return kept.map((index) => ({
    index,
    size:
      index === flex
        ? Math.max(Math.min(MIN_FLEX, natural[index] ?? 0), (natural[index] ?? 0) - over)
        : (natural[index] ?? 0),
  }));
}

/** Terminal cells that a text occupies: two for wide characters, none for combining marks and joiners. */
export function cells(text: string): number {
  let sum = 0;
  for (const char of stripVTControlCharacters(text)) sum += cellsOf(char.codePointAt(0) ?? 0);
  return sum;
}

function cellsOf(code: number): number {
  if (code === 0x200b || code === 0x200d || (code >= 0x300 && code <= 0x36f) || (code >= 0xfe00 && code <= 0xfe0f))
    return 0;
  const wide =
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0xffe0 && code <= 0xffe6) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

export function clip(text: string, size: number): string {
  let kept = "";
  let sum = 0;
  for (const char of text) {
    const wide = cells(char);
    // One cell is reserved for the ellipsis; it is only needed if more text follows than fits.
    if (sum + wide > size) return `${kept}…`;
    if (sum + wide <= size - 1) kept += char;
    sum += wide;
  }
  return text;
}
