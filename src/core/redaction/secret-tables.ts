import { isMixed, isSecretValue, type SecretKind, secretKind } from "./secret-names.ts";
import type { Span } from "./text-view.ts";

const IN_CELL = { isQuoted: true, isVariable: false, next: "" };

/** The row between the header of a table and its body. */
const RULE = /\n[ \t]{0,8}\|?[ \t:|-]{3,400}(?=\r?\n)/g;
const MAX_ROW = 2_000;

/** Columns of tables with the name of a secret. */
export function tableCells(text: string, spans: Span[]): void {
  if (!text.includes("|") || !text.includes("--")) return;
  RULE.lastIndex = 0;
  for (let rule = RULE.exec(text); rule !== null; rule = RULE.exec(text)) {
    const from = text.lastIndexOf("\n", rule.index - 1) + 1;
    if (rule.index - from > MAX_ROW || !rule[0].includes("|") || !rule[0].includes("--")) continue;
    const kinds = text
      .slice(from, rule.index)
      .split("|")
      .map((cell) => secretKind(cell.replace(/[\s`*]/g, "")));
    if (kinds.every((kind) => kind === null || kind === "weak")) continue;
    let at = RULE.lastIndex + 1;
    while (at < text.length) {
      const stop = text.indexOf("\n", at);
      const row = text.slice(at, Math.min(stop < 0 ? text.length : stop, at + MAX_ROW));
      if (!row.includes("|")) break;
      let start = at;
      for (const [i, cell] of row.split("|").entries()) {
        const before = /^[\s`]*/.exec(cell)?.[0] ?? "";
        const value = cell.slice(before.length).trimEnd().replace(/`+$/, "");
        const kind = kinds[i] ?? null;
        if (kind !== null && kind !== "weak" && isMixed(value) && isSecretValue(kind, { value, ...IN_CELL }))
          spans.push({ start: start + before.length, end: start + before.length + value.length });
        start += cell.length + 1;
      }
      at = stop < 0 ? text.length : stop + 1;
      RULE.lastIndex = at - 1;
    }
  }
}

const INSERT =
  /\b(?:insert|replace)\s{1,8}(?:or\s{1,4}\w{1,10}\s{1,4}|ignore\s{1,4})?into\s{1,8}[\w."'`[\]\\$]{1,120}\s{0,8}\(([^()]{1,2000})\)\s{0,20}values\s{0,20}/gi;
/** The next value of a row: a text in quotes, or up to the next comma or bracket. */
const SQL_VALUE =
  /\s{0,20}(?:([NEeB]?')((?:[^'\\]|''|\\[\s\S]){0,4096})'|(")((?:[^"\\]|""|\\[\s\S]){0,4096})"|[^'",()]{0,400}(?:\([^()]{0,400}\))?)\s{0,20}/y;
const NEXT_ROW = /\s{0,20},\s{0,20}(?=\()/y;

/** Values that an SQL statement inserts into columns with the name of a secret. */
export function insertedValues(text: string, spans: Span[]): void {
  if (!/nsert|eplace|NSERT|EPLACE/.test(text)) return;
  INSERT.lastIndex = 0;
  for (let head = INSERT.exec(text); head !== null; head = INSERT.exec(text)) {
    const kinds = (head[1] ?? "").split(",").map((column) => secretKind(column.replace(/[\s"'`[\]\\]/g, "")));
    if (kinds.every((kind) => kind === null)) continue;
    let at = INSERT.lastIndex;
    while (text[at] === "(") {
      at = valuesOfRow(text, at + 1, kinds, spans);
      NEXT_ROW.lastIndex = at;
      at += NEXT_ROW.exec(text)?.[0].length ?? 0;
    }
    INSERT.lastIndex = at;
  }
}

/** Returns the position after the row. */
function valuesOfRow(text: string, from: number, kinds: readonly (SecretKind | null)[], spans: Span[]): number {
  let at = from;
  for (const kind of kinds) {
    SQL_VALUE.lastIndex = at;
    const [whole = "", single, inSingle, double, inDouble] = SQL_VALUE.exec(text) ?? [];
    const [open, value] = [single ?? double, inSingle ?? inDouble ?? ""];
    if (kind !== null && open !== undefined && isSecretValue(kind, { value, ...IN_CELL })) {
      const start = at + whole.indexOf(open) + open.length;
      spans.push({ start, end: start + value.length });
    }
    at += whole.length + 1;
    if (text[at - 1] !== ",") break;
  }
  return at;
}
