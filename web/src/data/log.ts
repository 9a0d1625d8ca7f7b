import type { KeptEvent } from "./events.ts";
import { shownText } from "./types.ts";

/** A line of the log: an entry, or the head of a group of entries of one sub-agent. */
export type LogRow = { readonly is: "entry"; readonly id: string; readonly event: KeptEvent; readonly inGroup: boolean } | LogGroup;

export interface LogGroup {
  readonly is: "group";
  readonly id: string;
  readonly uri: string;
  readonly entries: number;
  readonly tools: number;
  readonly errors: number;
  readonly from: string | null;
  readonly to: string | null;
  readonly open: boolean;
  /** What it said last. */
  readonly last: string;
}

/** Fewer in a row are shown as they are. */
const FOLD_FROM = 3;

/** The entries of all agents shown, in order of time; what one sub-agent did in a row is one line until it is opened. */
export function logRows(
  events: readonly KeptEvent[],
  isShown: (uri: string) => boolean,
  isRoot: (uri: string) => boolean,
  isOpen: (id: string) => boolean,
): LogRow[] {
  const rows: LogRow[] = [];
  let run: KeptEvent[] = [];
  const flush = () => {
    const [first] = run;
    if (first === undefined) return;
    const folds = run.length >= FOLD_FROM && !isRoot(first.uri);
    const open = folds && isOpen(`group ${first.id}`);
    if (folds) rows.push(groupOf(first, run, open));
    if (!folds || open) for (const event of run) rows.push({ is: "entry", id: event.id, event, inGroup: folds });
    run = [];
  };
  for (const event of events) {
    if (!isShown(event.uri)) continue;
    if (run[0] !== undefined && run[0].uri !== event.uri) flush();
    run.push(event);
  }
  flush();
  return rows;
}

function groupOf(first: KeptEvent, run: readonly KeptEvent[], open: boolean): LogGroup {
  const said = run.findLast((event) => event.kind === "assistant" && (event.text ?? "") !== "") ?? run.findLast((event) => (event.text ?? "") !== "");
  return {
    is: "group",
    // Named by its first entry: it stays open while it grows.
    id: `group ${first.id}`,
    uri: first.uri,
    entries: run.length,
    tools: run.filter((event) => event.kind === "toolCall").length,
    errors: run.filter((event) => event.kind === "error" || (event.kind === "toolResult" && event.tool?.isError === true)).length,
    from: first.at,
    to: run.at(-1)?.at ?? null,
    open,
    last: said === undefined ? "" : (shownText(said) ?? ""),
  };
}

export const isBad = (row: LogRow) =>
  row.is === "group" ? row.errors > 0 : row.event.kind === "error" || row.event.tool?.isError === true || row.event.status?.status === "errored";
