import type { LoadedEvent } from "./events.ts";
import { type CallOf, findSpawns, type Spawn } from "./spawns.ts";
import { type AgentRecord, shownText } from "./types.ts";

/** A row of the log: an event, all events of a spawn, or the heading of a group of events of one sub-agent. */
export type LogRow = LogEntry | LogSpawn | LogGroup;

export interface LogEntry {
  readonly is: "entry";
  readonly id: string;
  readonly event: LoadedEvent;
  readonly inGroup: boolean;
  /** For a call that spawned no agent: the spawn events it caused. */
  readonly refused: readonly LoadedEvent[];
}

/** A spawn. Its position and id are those of its first event. */
export interface LogSpawn {
  readonly is: "spawn";
  readonly id: string;
  readonly at: string | null;
  readonly spawn: Spawn;
}

export interface LogGroup {
  readonly is: "group";
  readonly id: string;
  readonly uri: string;
  readonly entries: readonly LoadedEvent[];
  readonly tools: number;
  readonly errors: number;
  readonly from: string | null;
  readonly to: string | null;
  readonly open: boolean;
  /** The last text of the group. */
  readonly last: string;
}

/** Shorter sequences of events are not grouped. */
const MIN_GROUP = 3;

/**
 * The events of all shown agents by time. Consecutive events of a sub-agent are one row until it is opened; spawns and
 * first prompts are never grouped.
 */
export function logRows(
  events: readonly LoadedEvent[],
  isShown: (uri: string) => boolean,
  isRoot: (uri: string) => boolean,
  isOpen: (id: string) => boolean,
  callOf: CallOf,
): LogRow[] {
  const spawns = findSpawns(events, isShown, callOf);
  const refused = new Set([...spawns.refused.values()].flat());
  const shown = new Set<Spawn>();
  const rows: LogRow[] = [];
  let run: LoadedEvent[] = [];
  const entry = (event: LoadedEvent, inGroup: boolean): LogEntry => ({
    is: "entry",
    id: event.id,
    event,
    inGroup,
    refused: spawns.refused.get(event) ?? [],
  });
  /**
   * Adds the current sequence to the rows. `following` is 1 if the next row is a spawn call of the same agent: a group
   * must not dissolve when the last call in it turns out to be a spawn.
   */
  const flush = (following = 0) => {
    const [first] = run;
    if (first === undefined) return;
    const folds = run.length > 1 && run.length + following >= MIN_GROUP && !isRoot(first.uri);
    const open = folds && isOpen(`group ${first.id}`);
    if (folds) rows.push(groupOf(first, run, open));
    if (!folds || open) for (const event of run) rows.push(entry(event, folds));
    run = [];
  };
  for (const event of events) {
    if (!isShown(event.uri) || refused.has(event)) continue;
    const spawn = spawns.of.get(event);
    if (spawn !== undefined) {
      if (shown.has(spawn)) continue;
      shown.add(spawn);
      flush(run[0]?.uri === spawn.event.uri ? 1 : 0);
      rows.push({ is: "spawn", id: event.id, at: event.at, spawn });
    } else if (spawns.prompts.has(event)) {
      flush();
      rows.push(entry(event, false));
    } else {
      if (run[0] !== undefined && run[0].uri !== event.uri) flush();
      run.push(event);
    }
  }
  flush();
  return rows;
}

function groupOf(first: LoadedEvent, run: readonly LoadedEvent[], open: boolean): LogGroup {
  const lastText =
    run.findLast((event) => event.kind === "assistant" && (event.text ?? "") !== "") ??
    run.findLast((event) => (event.text ?? "") !== "");
  return {
    is: "group",
    // Derived from the first event, so that the group stays open while it grows.
    id: `group ${first.id}`,
    uri: first.uri,
    entries: run,
    tools: run.filter((event) => event.kind === "toolCall").length,
    errors: run.filter(
      (event) => event.kind === "error" || (event.kind === "toolResult" && event.tool?.isError === true),
    ).length,
    from: first.at,
    to: run.at(-1)?.at ?? null,
    open,
    last: lastText === undefined ? "" : (shownText(lastText) ?? ""),
  };
}

export function isBad(row: LogRow): boolean {
  if (row.is === "group") return row.errors > 0;
  if (row.is === "spawn") return row.spawn.call?.tool?.isError === true;
  return row.event.kind === "error" || row.event.tool?.isError === true || row.event.status?.status === "errored";
}

/** The agent of the row; the parent for a spawn. */
export function uriOfRow(row: LogRow): string {
  if (row.is === "group") return row.uri;
  return row.is === "spawn" ? row.spawn.event.uri : row.event.uri;
}

/**
 * All ids of this row. A spawn has the ids of all its events, since it may have been opened or linked to before the
 * others arrived.
 */
function idsOfRow(row: LogRow): readonly string[] {
  if (row.is === "group") return [row.id];
  if (row.is === "entry") return [row.id, ...row.refused.map(({ id }) => id)];
  return row.spawn.parts.map(({ id }) => id);
}

export const indexOfRow = (rows: readonly LogRow[], id: string | null) =>
  id === null ? -1 : rows.findIndex((row) => idsOfRow(row).includes(id));

export const isRowOpen = (row: LogRow, opened: ReadonlySet<string>) => idsOfRow(row).some((id) => opened.has(id));

/** The set of open rows after toggling this one. */
export function toggled(opened: ReadonlySet<string>, row: LogRow): ReadonlySet<string> {
  const ids = new Set(idsOfRow(row));
  const others = [...opened].filter((id) => !ids.has(id));
  return new Set(others.length < opened.size ? others : [...others, row.id]);
}

export function spawnCallOf(agent: AgentRecord | undefined): ReturnType<CallOf> {
  const toolCallId = agent?.link?.toolCallId ?? null;
  return agent === undefined || agent.parent === null || toolCallId === null
    ? null
    : { parent: agent.parent, toolCallId };
}
