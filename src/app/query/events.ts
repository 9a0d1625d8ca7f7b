import { type AgentKey, type CallKey, messageIn, nativeCall, type RecordKey } from "../../core/facts/ids.ts";
import { isOutside } from "../../core/facts/origin.ts";
import type { Tokens } from "../../core/facts/usage.ts";
import { closedIn } from "../../core/link/call-list.ts";
import { SPAWN_CALL_RULE } from "../../core/link/evidence.ts";
import { agentOf, type Forest, type LinkedAgent } from "../../core/link/forest.ts";
import type { Parser } from "../../core/ports/provider.ts";
import type { RecordPlace } from "../../core/ports/store.ts";
import { hashOf, NameTable } from "../../core/tools/name-table.ts";
import { type AgentEvent, EVENT_KINDS, type EventDraft, type EventRef } from "../../core/views/event.ts";
import { noReads, readIfThere } from "../../transports/files.ts";
import { type LinePosition, positionAfter } from "../../transports/lines.ts";
import { asSource } from "../ingest/discover.ts";
import { eventPlace, eventsIn, jsonLines } from "../ingest/json-lines.ts";
import type { Library } from "../ingest/library.ts";
import { type FoundDatabase, objectRecords } from "../ingest/sync-database.ts";
import { summaryOf } from "./markup.ts";

/** All events of the given agents, oldest first: messages, tool calls, spawns, statuses. */
export function readEvents(library: Library, forest: Forest, keys: readonly AgentKey[]): Promise<AgentEvent[]> {
  return new EventReader(library).next(forest, keys);
}

/** Each call returns the events since the previous call. */
export class EventReader {
  /** What was read so far, so that tests can check that nothing is read twice. */
  readonly counts = noReads();
  readonly #library: Library;
  readonly #files = new Map<string, OpenFile>();
  readonly #toolNames = new ToolNames();
  /** Responses whose usage was returned. */
  readonly #shown = new NameTable();
  readonly #returned = new Map<string, string>();
  readonly #rows = new NameTable();
  /** All records that were read, and those that were read from each file. */
  readonly #records = new NameTable();
  readonly #seen = new Map<string, NameTable>();
  readonly #ahead = new NameTable();
  readonly #counters = new Map<string, number>();
  /** Tokens of responses that were not returned yet, by list of model calls. The first `count` calls no longer change. */
  readonly #calls = new WeakMap<object, { count: number; readonly tokens: Map<RecordKey, Tokens> }>();

  constructor(library: Library) {
    this.#library = library;
  }

  async next(forest: Forest, keys: readonly AgentKey[], more: More = "maybe"): Promise<AgentEvent[]> {
    return (await this.nextPlaced(forest, keys, more)).map(({ event }) => event);
  }

  /** The same, with the place of each event. */
  async nextPlaced(forest: Forest, keys: readonly AgentKey[], more: More = "maybe"): Promise<PlacedEvent[]> {
    const selected = new Set(keys);
    const files = new Map(
      keys.flatMap((key) => agentOf(forest, key).files.map(({ path, readTo }) => [path, readTo] as const)),
    );
    const events: Unnumbered[] = [];
    for (const { path, isRecorded } of this.#localFirst(files.keys())) {
      for await (const read of this.#newIn(path, files.get(path) ?? 0)) {
        const draft = { ...read, speaker: forest.nameOf(read.speaker) };
        if (
          selected.has(draft.speaker) &&
          isOwn(forest, draft) &&
          this.#isFirstSource(draft) &&
          this.#isNotReturned(draft)
        )
          events.push(this.#eventOf(forest, draft, isRecorded));
      }
    }
    for (const key of keys) {
      for (const event of derived(forest, agentOf(forest, key), more)) if (this.#isNewState(event)) events.push(event);
    }
    return events.sort(inOrder).map((event) => ({
      event: this.#numbered(event),
      from: event.from,
      draft: event.draft,
      isRecorded: event.isRecorded,
    }));
  }

  /**
   * Own transcripts before imported copies and recordings: an event's id contains its place, which must not change when
   * a copy is imported.
   */
  #localFirst(paths: Iterable<string>): { readonly path: string; readonly isRecorded: boolean }[] {
    const recorded = new Set(this.#library.roots.filter((root) => root.recorded).map((root) => root.path));
    const ranked = [...paths].map((path) => {
      const source = this.#library.source(path);
      const isRecorded = source !== undefined && recorded.has(source.root);
      return { path, isRecorded, rank: isRecorded ? 2 : Number(source?.imported ?? false) };
    });
    return ranked.sort((a, b) => a.rank - b.rank);
  }

  /** Several roots may contain the same file. Each record is read from one of them. */
  #isFirstSource({ keys: [record], ref: { path } }: Placed): boolean {
    if (record === undefined) return true;
    const seen = this.#seen.get(path) ?? new NameTable();
    this.#seen.set(path, seen);
    if (!this.#records.add(record, SEEN)) return seen.has(record, SEEN);
    seen.add(record, SEEN);
    return true;
  }

  /**
   * Events that both a live source and a transcript contain are returned once, from whichever is read first. Counts
   * both sides, so that a text that occurs twice in one of them is returned twice.
   */
  #isNotReturned({ speaker, kind, text, tool, ...from }: Placed): boolean {
    if (kind === "error" || kind === "note" || kind === "compaction") return true;
    const what = hashOf(`${speaker} ${kind} ${tool?.call ?? text?.trim()}`);
    const [ahead, step] = [(this.#ahead.get(what) || BALANCED) - BALANCED, isOutside(from) ? -1 : 1];
    this.#ahead.set(what, BALANCED + Math.max(-MOST_AHEAD, Math.min(ahead + step, MOST_AHEAD)));
    return ahead * step >= 0;
  }

  /** A spawn is returned once, a status only if it changed. */
  #isNewState({ id, uri, status }: Unnumbered): boolean {
    const [what, now] = status === null ? [id, ""] : [`status:${uri}`, status.status];
    if (this.#returned.get(what) === now) return false;
    this.#returned.set(what, now);
    return true;
  }

  /**
   * Stops at `readTo`, the position of the linked facts, because the tree does not yet know the agents of later
   * records.
   */
  async *#newIn(path: string, readTo: number): AsyncGenerator<Placed> {
    const source = this.#library.source(path);
    if (source === undefined) return;
    const file = this.#files.get(path) ?? {
      parser: source.stream.open(asSource(source)),
      position: { offset: 0, lines: 0 },
    };
    this.#files.set(path, file);
    const { packed } = source.stream;
    // Packed files are never appended to.
    if (packed !== undefined && file.position.offset > 0) return;
    if (source.stream.shape === "database")
      return yield* this.#newRows({ ...source, stream: source.stream }, path, file.parser);
    if (source.stream.shape === "document") return yield* this.#newInDocument(path, file.parser);
    for await (const lines of jsonLines(path, this.counts, file.position, packed)) {
      for (const line of lines) {
        if (positionAfter(line).offset > readTo) return;
        if (line.is === "unfinished") continue;
        if (line.is === "line") {
          const drafts = eventsIn(file.parser, line);
          const after = similarAfter(drafts);
          for (const [number, draft] of drafts.entries()) {
            // Sources that report current state repeat the same event.
            if (draft.name !== undefined && !this.#isNewInRow(`${path}#${draft.name}`)) continue;
            const from = {
              path,
              place: { line: line.number, offset: line.offset },
              draft: draft.name ?? number,
              fromEnd: after[number] ?? 0,
            };
            yield {
              ...draft,
              id: `${eventPlace(path, line)}${draft.name ?? number}`,
              ref: { path, line: line.number },
              order: line.number,
              from,
            };
          }
        }
        file.position = positionAfter(line);
      }
    }
  }

  async *#newInDocument(path: string, parser: Parser): AsyncGenerator<Placed> {
    const document = readIfThere(path);
    const drafts = document === null ? [] : parser.events(document, 0);
    const after = similarAfter(drafts);
    for (const [number, draft] of drafts.entries()) {
      const from = { path, place: WHOLE_DOCUMENT, draft: draft.name ?? number, fromEnd: after[number] ?? 0 };
      const placed = { ...draft, id: `${path}#${draft.name ?? number}`, ref: { path, line: 1 }, order: number, from };
      if (this.#isNewInRow(placed.id)) yield placed;
    }
  }

  /** A changed row is read again; only its new events are returned. */
  #isNewInRow(id: string): boolean {
    return this.#rows.add(id, SEEN);
  }

  async *#newRows(source: FoundDatabase, path: string, parser: Parser): AsyncGenerator<Placed> {
    for await (const { row, position, record } of objectRecords(
      source,
      source.object ?? "",
      parser.save(),
      this.counts,
    )) {
      if (record === null) continue;
      parser.push(record, position, row);
      const drafts = parser.events(record, position, row);
      const after = similarAfter(drafts);
      for (const [number, draft] of drafts.entries()) {
        const id = `${path}:${row}#${draft.name ?? number}`;
        const from = { path, place: { row }, draft: draft.name ?? number, fromEnd: after[number] ?? 0 };
        if (this.#isNewInRow(id)) yield { ...draft, id, ref: { path: source.path, row }, order: position, from };
      }
    }
  }

  #eventOf(forest: Forest, draft: Placed, isRecorded: boolean): Unnumbered {
    const agent = agentOf(forest, draft.speaker);
    if (draft.kind === "toolCall" && draft.tool !== null) this.#toolNames.set(draft.tool.call, draft.tool.name);
    const usage = draft.response === null ? null : this.#usageOf(agent, draft.response);
    return {
      schema: "retinue/event@1",
      uri: agent.uri,
      id: draft.id,
      at: iso(draft.at),
      time: draft.at,
      kind: draft.kind,
      text: draft.text,
      summary: summaryOf(draft),
      tool: draft.tool && {
        name: draft.tool.name ?? this.#toolNames.get(draft.tool.call),
        callId: nativeCall(draft.tool.call),
        input: draft.tool.input,
        isError: draft.tool.isError,
      },
      usage,
      spawn: null,
      status: null,
      ref: draft.ref,
      order: draft.order,
      from: draft.from,
      draft,
      isRecorded,
    };
  }

  /** The usage of a response; null if it was returned before. */
  #usageOf({ calls }: LinkedAgent, response: RecordKey): Tokens | null {
    if (!this.#shown.add(response, SEEN)) return null;
    const { count, keptIn, from } = closedIn(calls);
    const known = this.#calls.get(keptIn) ?? { count: 0, tokens: new Map<RecordKey, Tokens>() };
    this.#calls.set(keptIn, known);
    for (const call of from(Math.min(known.count, count)))
      for (const key of [call.response, call.rows])
        if (key === response || (key !== null && !this.#shown.has(key, SEEN))) known.tokens.set(key, call.tokens);
    known.count = count;
    const tokens = known.tokens.get(response) ?? null;
    known.tokens.delete(response);
    return tokens;
  }

  #numbered(event: Omit<AgentEvent, "seq">): AgentEvent {
    const seq = (this.#counters.get(event.uri) ?? 0) + 1;
    this.#counters.set(event.uri, seq);
    const { schema, uri, id, at, kind, text, summary, tool, usage, spawn, status, ref } = event;
    return { schema, uri, id, seq, at, kind, text, summary, tool, usage, spawn, status, ref };
  }
}

const SEEN = 1;
/** The value of an event that transcripts and live sources contain equally often. */
const BALANCED = 2 ** 15;
const MOST_AHEAD = BALANCED - 1;

/** The name of the tool of each call. */
class ToolNames {
  readonly #numbers = new NameTable();
  readonly #names: string[] = [];
  readonly #numberOf = new Map<string, number>();

  get(call: CallKey): string | null {
    return this.#names[this.#numbers.get(hashOf(call)) - 1] ?? null;
  }

  set(call: CallKey, name: string | null): void {
    this.#numbers.set(hashOf(call), name === null ? 0 : this.#numberFor(name));
  }

  /** From 1; 0 if there are too many names. */
  #numberFor(name: string): number {
    const known = this.#numberOf.get(name);
    if (known !== undefined || this.#names.length === MOST_AHEAD) return known ?? 0;
    const number = this.#names.push(name);
    this.#numberOf.set(name, number);
    return number;
  }
}

interface OpenFile {
  readonly parser: Parser;
  position: LinePosition;
}

/** The record that an event was read from, and the index among its events. */
export interface EventSource {
  readonly path: string;
  readonly place: RecordPlace;
  /** Its index, or its name if it has one. */
  readonly draft: number | string;
  /**
   * Number of similar events after it in the record. A record parsed alone may yield extra events at its start that
   * repeat earlier records.
   */
  readonly fromEnd: number;
}

/** Finds an event again among the events of its record, parsed alone. */
export function draftOf(
  drafts: readonly EventDraft[],
  { kind, tool }: AgentEvent,
  { draft, fromEnd }: EventSource,
): EventDraft | undefined {
  const name = typeof draft === "string" ? draft : undefined;
  return drafts.filter((one) => signatureOf(one) === signature(kind, tool?.callId, name)).at(-1 - fromEnd);
}

const signature = (kind: string, call: string | undefined, name: string | undefined) =>
  JSON.stringify([kind, call, name]);
const signatureOf = ({ kind, tool, name }: EventDraft) =>
  signature(kind, tool === null ? undefined : nativeCall(tool.call), name);
/** For each event, the number of similar ones after it. */
function similarAfter(drafts: readonly EventDraft[]): readonly number[] {
  const seen = new Map<string, number>();
  const counts = drafts.toReversed().map((draft) => {
    const count = seen.get(signatureOf(draft)) ?? 0;
    seen.set(signatureOf(draft), count + 1);
    return count;
  });
  return counts.reverse();
}

/** The place of events that were read from a whole document. */
const WHOLE_DOCUMENT: RecordPlace = { line: 0, offset: 0 };
/** Lines are numbered from 1. */
export const isWholeDocument = (place: RecordPlace) => "line" in place && place.line === 0;

export interface PlacedEvent {
  readonly event: AgentEvent;
  /** Null for events derived from several records. */
  readonly from: EventSource | null;
  /** The event as the provider read it. */
  readonly draft: EventDraft | null;
  /** Read from a recording, and not (yet) in the product's transcript. */
  readonly isRecorded: boolean;
}

type Placed = EventDraft & {
  readonly id: string;
  readonly ref: EventRef;
  readonly order: number;
  readonly from: EventSource;
};
type Unnumbered = Omit<AgentEvent, "seq"> &
  Omit<PlacedEvent, "event"> & { readonly time: number | null; readonly order: number };

/** By time, then by the order of the records; derived events last. */
function inOrder(a: Unnumbered, b: Unnumbered): number {
  const kind = (event: Unnumbered) => EVENT_KINDS.indexOf(event.kind);
  return (a.time ?? 0) - (b.time ?? 0) || a.order - b.order || kind(a) - kind(b) || (a.id < b.id ? -1 : 1);
}

function isOwn(forest: Forest, draft: EventDraft): boolean {
  const message = messageIn(draft);
  return message === undefined || (forest.ownerOf(message, draft.speaker) ?? draft.speaker) === draft.speaker;
}

/** Events that no single record states: spawns and statuses. Those that may still change are held back. */
function derived(forest: Forest, agent: LinkedAgent, more: More): Unnumbered[] {
  if (isUnnamedYet(agent, more, forest.now)) return [];
  const children = agent.children
    .map((key) => agentOf(forest, key))
    .filter((child) => !isUnnamedYet(child, more, forest.now) && !isUnplacedYet(child, more));
  const spawns = children.map((child) => spawnEvent(agent, child));
  return isEndUncertain(agent, more) ? spawns : [...spawns, statusEvent(agent)];
}

const DERIVED = {
  schema: "retinue/event@1",
  text: null,
  summary: null,
  tool: null,
  usage: null,
  ref: null,
  order: Number.MAX_SAFE_INTEGER,
  from: null,
  draft: null,
  isRecorded: false,
} as const;

function spawnEvent(parent: LinkedAgent, child: LinkedAgent): Unnumbered {
  const call = child.spawnCall;
  const time = child.firstAt ?? call?.at ?? null;
  return {
    ...DERIVED,
    uri: parent.uri,
    id: `spawn:${child.uri}`,
    at: iso(time),
    time,
    kind: "spawn",
    text: child.description ?? call?.description ?? null,
    spawn: {
      uri: child.uri,
      agentId: child.agentId,
      sessionId: child.sessionId,
      prompt: call?.prompt ?? child.prompt,
      type: child.agentType ?? call?.agentType ?? null,
      toolCallId: toolCallOf(child),
      parent: parent.uri,
      depth: child.depth,
      background: child.background ?? child.statements.some((s) => s.state === "launched"),
    },
    status: null,
  };
}

function statusEvent({ uri, verdict, statements, lastAt }: LinkedAgent): Unnumbered {
  const { status, statusSource, statusReason } = verdict;
  const last = Math.max(statements.at(-1)?.at ?? 0, lastAt ?? 0);
  const time = last === 0 ? null : last;
  return {
    ...DERIVED,
    uri,
    id: `status:${uri}:${status}:${last}`,
    at: iso(time),
    time,
    kind: "status",
    spawn: null,
    status: { status, statusSource, statusReason },
  };
}

/** The call may be known only from its result. */
function toolCallOf({ evidence, parent }: LinkedAgent): string | null {
  const call = evidence.find((e) => e.call !== null && e.parent === parent)?.call ?? null;
  return call === null ? null : nativeCall(call);
}

/** Whether unread records may follow: `surely` during a run, `no` after it ended and was read completely. */
export type More = "surely" | "maybe" | "no";

/** Products name a child within moments of the spawn call; later it stays unnamed. */
const NAMING_MS = 1_000;

/**
 * The agent is named after its spawn call and may still get an id of its own. An event under the temporary name would
 * refer to an agent that no longer exists.
 */
function isUnnamedYet({ evidence: [decided], verdict, statements }: LinkedAgent, more: More, now: number): boolean {
  if (more === "no" || decided?.rule !== SPAWN_CALL_RULE) return false;
  return more === "surely" || verdict.status === "pendingInit" || now - (statements.at(-1)?.at ?? 0) < NAMING_MS;
}

/** The agent is placed in its thread for lack of evidence; its parent may still become known. */
function isUnplacedYet({ evidence: [decided], verdict }: LinkedAgent, more: More): boolean {
  const isOpen =
    more === "surely" || (more === "maybe" && (verdict.status === "running" || verdict.status === "pendingInit"));
  return isOpen && decided?.source === "inferred" && decided.confidence <= WEAK_CONFIDENCE;
}
const WEAK_CONFIDENCE = 0.5;

/** Only a missing process indicates the end; the last records may not be read yet. */
const isEndUncertain = ({ verdict: { status, statusSource } }: LinkedAgent, more: More) =>
  more === "surely" && statusSource === "inferred" && (status === "shutdown" || status === "notFound");

const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
