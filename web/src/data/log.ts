import type { KeptEvent } from "./events.ts";
import { type CallOf, findSpawns, type Spawn } from "./spawns.ts";
import { type AgentRecord, shownText } from "./types.ts";

/** A line of the log: an entry, a spawn with all events that tell of it, or the head of a group of entries of one sub-agent. */
export type LogRow = LogEntry | LogSpawn | LogGroup;

export interface LogEntry {
  readonly is: "entry";
  readonly id: string;
  readonly event: KeptEvent;
  readonly inGroup: boolean;
  /** Where it is a call that spawned nobody: the agents it asked for. */
  readonly refused: readonly KeptEvent[];
}

/** Stands where the first of its events stands, and has its id. */
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
  readonly entries: readonly KeptEvent[];
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

/**
 * What happened to all agents shown, in order of time. What one sub-agent did in a row is one line until it is opened;
 * spawns and an agent's first prompt are never folded away.
 */
export function logRows(
  events: readonly KeptEvent[],
  isShown: (uri: string) => boolean,
  isRoot: (uri: string) => boolean,
  isOpen: (id: string) => boolean,
  callOf: CallOf,
): LogRow[] {
  const spawns = findSpawns(events, isShown, callOf);
  const refused = new Set([...spawns.refused.values()].flat());
  const told = new Set<Spawn>();
  const rows: LogRow[] = [];
  let run: KeptEvent[] = [];
  const entry = (event: KeptEvent, inGroup: boolean): LogEntry => ({ is: "entry", id: event.id, event, inGroup, refused: spawns.refused.get(event) ?? [] });
  /** `more` counts what belongs to the run and is not folded: a group stays one when the last call in it turns out to be a spawn. */
  const flush = (more = 0) => {
    const [first] = run;
    if (first === undefined) return;
    const folds = run.length > 1 && run.length + more >= FOLD_FROM && !isRoot(first.uri);
    const open = folds && isOpen(`group ${first.id}`);
    if (folds) rows.push(groupOf(first, run, open));
    if (!folds || open) for (const event of run) rows.push(entry(event, folds));
    run = [];
  };
  for (const event of events) {
    if (!isShown(event.uri) || refused.has(event)) continue;
    const spawn = spawns.of.get(event);
    if (spawn !== undefined) {
      if (told.has(spawn)) continue;
      told.add(spawn);
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

function groupOf(first: KeptEvent, run: readonly KeptEvent[], open: boolean): LogGroup {
  const said = run.findLast((event) => event.kind === "assistant" && (event.text ?? "") !== "") ?? run.findLast((event) => (event.text ?? "") !== "");
  return {
    is: "group",
    // Named by its first entry: it stays open while it grows.
    id: `group ${first.id}`,
    uri: first.uri,
    entries: run,
    tools: run.filter((event) => event.kind === "toolCall").length,
    errors: run.filter((event) => event.kind === "error" || (event.kind === "toolResult" && event.tool?.isError === true)).length,
    from: first.at,
    to: run.at(-1)?.at ?? null,
    open,
    last: said === undefined ? "" : (shownText(said) ?? ""),
  };
}

export function isBad(row: LogRow): boolean {
  if (row.is === "group") return row.errors > 0;
  if (row.is === "spawn") return row.spawn.call?.tool?.isError === true;
  return row.event.kind === "error" || row.event.tool?.isError === true || row.event.status?.status === "errored";
}

/** The agent whose line it is; for a spawn, the parent. */
export function uriOfRow(row: LogRow): string {
  if (row.is === "group") return row.uri;
  return row.is === "spawn" ? row.spawn.event.uri : row.event.uri;
}

/** All ids that mean this line. A spawn goes by each of its events: it was perhaps opened or linked to before the others came. */
export function idsOfRow(row: LogRow): readonly string[] {
  if (row.is === "group") return [row.id];
  if (row.is === "entry") return [row.id, ...row.refused.map(({ id }) => id)];
  return row.spawn.parts.map(({ id }) => id);
}

export const indexOfRow = (rows: readonly LogRow[], id: string | null) => (id === null ? -1 : rows.findIndex((row) => idsOfRow(row).includes(id)));

export const isRowOpen = (row: LogRow, opened: ReadonlySet<string>) => idsOfRow(row).some((id) => opened.has(id));

/** What is open once this line was opened, or closed. */
export function toggled(opened: ReadonlySet<string>, row: LogRow): ReadonlySet<string> {
  const ids = new Set(idsOfRow(row));
  const others = [...opened].filter((id) => !ids.has(id));
  return new Set(others.length < opened.size ? others : [...others, row.id]);
}

export function spawnCallOf(agent: AgentRecord | undefined): ReturnType<CallOf> {
  const toolCallId = agent?.link?.toolCallId ?? null;
  return agent === undefined || agent.parent === null || toolCallId === null ? null : { parent: agent.parent, toolCallId };
}
