import { closedIn } from "../core/call-list.ts";
import { type AgentEvent, EVENT_KINDS, type EventDraft, type EventRef } from "../core/event.ts";
import { hash } from "../core/hash.ts";
import { type AgentKey, type CallKey, nativeCall, type RecordKey } from "../core/ids.ts";
import { agentOf, type Forest, type LinkedAgent } from "../core/link.ts";
import { UNANSWERED_RULE } from "../core/parents.ts";
import type { Parser } from "../core/provider.ts";
import type { RecordPlace } from "../core/store.ts";
import type { Tokens } from "../core/usage.ts";
import { noReads, readIfThere } from "../transports/files.ts";
import { type LinePosition, positionAfter } from "../transports/lines.ts";
import { asSource } from "./discover.ts";
import { eventPlace, eventsIn, jsonLines } from "./json-lines.ts";
import type { Library } from "./library.ts";
import { summaryOf } from "./markup.ts";
import { type FoundDatabase, objectRecords } from "./sync-database.ts";

/** Everything that happened to the agents named, oldest first: what they said and did, whom they spawned, how they ended. */
export function readEvents(library: Library, forest: Forest, keys: readonly AgentKey[]): Promise<AgentEvent[]> {
  return new EventReader(library).next(forest, keys);
}

/** Reads on where it stopped: each call gives what is new since the last one. */
export class EventReader {
  readonly #library: Library;
  readonly #files = new Map<string, OpenFile>();
  readonly #toolNames = new Map<CallKey, string | null>();
  readonly #shown = new Set<RecordKey>();
  readonly #told = new Map<string, string>();
  readonly #rows = new Set<string>();
  readonly #tellers = new Map<RecordKey, string>();
  readonly #ahead = new Map<number, number>();
  readonly #counters = new Map<string, number>();
  /** What each response used, by where the calls are kept; of so many it no longer changes. */
  readonly #calls = new WeakMap<object, { count: number; readonly tokens: Map<RecordKey, Tokens> }>();

  constructor(library: Library) {
    this.#library = library;
  }

  async next(forest: Forest, keys: readonly AgentKey[], more: More = "maybe"): Promise<AgentEvent[]> {
    return (await this.nextPlaced(forest, keys, more)).map(({ event }) => event);
  }

  /** The same, with where each one is read from. */
  async nextPlaced(forest: Forest, keys: readonly AgentKey[], more: More = "maybe"): Promise<PlacedEvent[]> {
    const wanted = new Set(keys);
    const files = new Map(keys.flatMap((key) => agentOf(forest, key).files.map(({ path, readTo }) => [path, readTo] as const)));
    const events: Unnumbered[] = [];
    for (const { path, isRecorded } of this.#localFirst(files.keys())) {
      for await (const read of this.#newIn(path, files.get(path) ?? 0)) {
        const draft = { ...read, speaker: forest.nameOf(read.speaker) };
        if (wanted.has(draft.speaker) && isOwn(forest, draft) && this.#isFirstTeller(draft) && this.#isUntold(draft))
          events.push(this.#spoken(forest, draft, isRecorded));
      }
    }
    for (const key of keys) {
      for (const event of derived(forest, agentOf(forest, key), more)) if (this.#isNews(event)) events.push(event);
    }
    return events.sort(inOrder).map((event) => ({ event: this.#numbered(event), from: event.from, draft: event.draft, isRecorded: event.isRecorded }));
  }

  /** An event is named by its place, and that must not change because somebody imports a copy, or recorded what the product wrote down itself. */
  #localFirst(paths: Iterable<string>): { readonly path: string; readonly isRecorded: boolean }[] {
    const recorded = new Set(this.#library.roots.filter((root) => root.recorded).map((root) => root.path));
    const ranked = [...paths].map((path) => {
      const source = this.#library.source(path);
      const isRecorded = source !== undefined && recorded.has(source.root);
      return { path, isRecorded, rank: isRecorded ? 2 : Number(source?.imported ?? false) };
    });
    return ranked.sort((a, b) => a.rank - b.rank);
  }

  /** The same file may be in several roots, here and imported: each record is told from one of them. */
  #isFirstTeller({ keys: [record], ref: { path } }: Placed): boolean {
    if (record === undefined) return true;
    const teller = this.#tellers.get(record) ?? path;
    this.#tellers.set(record, teller);
    return teller === path;
  }

  /** What a witness and the product's own records both say is told once, by whoever comes first. Which of them is ahead is counted, so that what was said twice is told twice. */
  #isUntold({ speaker, kind, text, tool, witness }: Placed): boolean {
    if (kind === "error" || kind === "note" || kind === "compaction") return true;
    const what = hash(`${speaker} ${kind} ${tool?.call ?? text?.trim()}`);
    const [ahead, step] = [this.#ahead.get(what) ?? 0, witness === true ? -1 : 1];
    this.#ahead.set(what, ahead + step);
    return ahead * step >= 0;
  }

  /** A spawn is told once, a status when it is another one than before. */
  #isNews({ id, uri, status }: Unnumbered): boolean {
    const [what, now] = status === null ? [id, ""] : [`status:${uri}`, status.status];
    if (this.#told.get(what) === now) return false;
    this.#told.set(what, now);
    return true;
  }

  /** Stops at `readTo`, where the facts stop: an event that the tree knows nothing about could be put in the wrong place. */
  async *#newIn(path: string, readTo: number): AsyncGenerator<Placed> {
    const source = this.#library.source(path);
    if (source === undefined) return;
    const file = this.#files.get(path) ?? { parser: source.stream.open(asSource(source)), position: { offset: 0, lines: 0 } };
    this.#files.set(path, file);
    const { packed } = source.stream;
    // What is packed is not appended to.
    if (packed !== undefined && file.position.offset > 0) return;
    if (source.stream.shape === "database") return yield* this.#newRows({ ...source, stream: source.stream }, path, file.parser);
    if (source.stream.shape === "document") return yield* this.#newInDocument(path, file.parser);
    for await (const lines of jsonLines(path, noReads(), file.position, packed)) {
      for (const line of lines) {
        if (positionAfter(line).offset > readTo) return;
        if (line.is === "unfinished") continue;
        if (line.is === "line") {
          const drafts = eventsIn(file.parser, line);
          const after = alikeAfter(drafts);
          for (const [number, draft] of drafts.entries()) {
            // Where lines tell how something stands by now, the same is said again and again.
            if (draft.name !== undefined && !this.#isNewInRow(`${path}#${draft.name}`)) continue;
            const from = { path, place: { line: line.number, offset: line.offset }, draft: draft.name ?? number, fromEnd: after[number] ?? 0 };
            yield { ...draft, id: `${eventPlace(path, line)}${draft.name ?? number}`, ref: { path, line: line.number }, order: line.number, from };
          }
        }
        file.position = positionAfter(line);
      }
    }
  }

  async *#newInDocument(path: string, parser: Parser): AsyncGenerator<Placed> {
    const document = readIfThere(path);
    const drafts = document === null ? [] : parser.events(document, 0);
    const after = alikeAfter(drafts);
    for (const [number, draft] of drafts.entries()) {
      const from = { path, place: WHOLE_DOCUMENT, draft: draft.name ?? number, fromEnd: after[number] ?? 0 };
      const placed = { ...draft, id: `${path}#${draft.name ?? number}`, ref: { path, line: 1 }, order: number, from };
      if (this.#isNewInRow(placed.id)) yield placed;
    }
  }

  /** A record that changed comes again: what it said before is not told twice. */
  #isNewInRow(id: string): boolean {
    const isNew = !this.#rows.has(id);
    this.#rows.add(id);
    return isNew;
  }

  async *#newRows(source: FoundDatabase, path: string, parser: Parser): AsyncGenerator<Placed> {
    for await (const { row, position, record } of objectRecords(source, source.object ?? "", parser.save(), noReads())) {
      if (record === null) continue;
      parser.push(record, position, row);
      const drafts = parser.events(record, position, row);
      const after = alikeAfter(drafts);
      for (const [number, draft] of drafts.entries()) {
        const id = `${path}:${row}#${draft.name ?? number}`;
        const from = { path, place: { row }, draft: draft.name ?? number, fromEnd: after[number] ?? 0 };
        if (this.#isNewInRow(id)) yield { ...draft, id, ref: { path: source.path, row }, order: position, from };
      }
    }
  }

  #spoken(forest: Forest, draft: Placed, isRecorded: boolean): Unnumbered {
    const agent = agentOf(forest, draft.speaker);
    if (draft.kind === "toolCall" && draft.tool !== null) this.#toolNames.set(draft.tool.call, draft.tool.name);
    const usage = draft.response === null || this.#shown.has(draft.response) ? null : (this.#tokensOf(agent).get(draft.response) ?? null);
    if (draft.response !== null) this.#shown.add(draft.response);
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
        name: draft.tool.name ?? this.#toolNames.get(draft.tool.call) ?? null,
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

  #tokensOf({ calls }: LinkedAgent): ReadonlyMap<RecordKey, Tokens> {
    const { count, keptIn, from } = closedIn(calls);
    const known = this.#calls.get(keptIn) ?? { count: 0, tokens: new Map<RecordKey, Tokens>() };
    this.#calls.set(keptIn, known);
    for (const { response, rows, tokens } of from(Math.min(known.count, count)))
      for (const key of [response, rows]) if (key !== null) known.tokens.set(key, tokens);
    known.count = count;
    return known.tokens;
  }

  #numbered(event: Omit<AgentEvent, "seq">): AgentEvent {
    const seq = (this.#counters.get(event.uri) ?? 0) + 1;
    this.#counters.set(event.uri, seq);
    const { schema, uri, id, at, kind, text, summary, tool, usage, spawn, status, ref } = event;
    return { schema, uri, id, seq, at, kind, text, summary, tool, usage, spawn, status, ref };
  }
}

interface OpenFile {
  readonly parser: Parser;
  position: LinePosition;
}

/** The record an event was read from, and which of its events it is. */
export interface EventSource {
  readonly path: string;
  readonly place: RecordPlace;
  /** Its number, or its name where it has one. */
  readonly draft: number | string;
  /** How many that look like it stand behind it: a record read by itself may say more than one read after others, which repeats what they said, first. */
  readonly fromEnd: number;
}

/** The one of a record's events that an event was made from, when the record is read by itself. */
export function draftOf(drafts: readonly EventDraft[], { kind, tool }: AgentEvent, { draft, fromEnd }: EventSource): EventDraft | undefined {
  const name = typeof draft === "string" ? draft : undefined;
  return drafts.filter((one) => looks(one) === look(kind, tool?.callId, name)).at(-1 - fromEnd);
}

const look = (kind: string, call: string | undefined, name: string | undefined) => JSON.stringify([kind, call, name]);
const looks = ({ kind, tool, name }: EventDraft) => look(kind, tool === null ? undefined : nativeCall(tool.call), name);
/** For each, how many that look like it stand behind it. */
function alikeAfter(drafts: readonly EventDraft[]): readonly number[] {
  const seen = new Map<string, number>();
  const counts = drafts.toReversed().map((draft) => {
    const count = seen.get(looks(draft)) ?? 0;
    seen.set(looks(draft), count + 1);
    return count;
  });
  return counts.reverse();
}

/** Where an event stands that is read from a document. */
export const WHOLE_DOCUMENT: RecordPlace = { line: 0, offset: 0 };

export interface PlacedEvent {
  readonly event: AgentEvent;
  /** Null for what no single record says. */
  readonly from: EventSource | null;
  /** What the provider read off that record. */
  readonly draft: EventDraft | null;
  /** Read from a recording of ours, and not, or not yet, in the product's own records. */
  readonly isRecorded: boolean;
}

type Placed = EventDraft & { readonly id: string; readonly ref: EventRef; readonly order: number; readonly from: EventSource };
type Unnumbered = Omit<AgentEvent, "seq"> & Omit<PlacedEvent, "event"> & { readonly time: number | null; readonly order: number };

/** By time; what happens at one moment in the order of its records, and what follows from them after. */
function inOrder(a: Unnumbered, b: Unnumbered): number {
  const kind = (event: Unnumbered) => EVENT_KINDS.indexOf(event.kind);
  return (a.time ?? 0) - (b.time ?? 0) || a.order - b.order || kind(a) - kind(b) || (a.id < b.id ? -1 : 1);
}

const isOwn = (forest: Forest, draft: EventDraft) => draft.keys.slice(-1).every((key) => (forest.ownerOf(key) ?? draft.speaker) === draft.speaker);

/** What no single record says: that a child began, and how the agent stands. What may still turn out otherwise is held back. */
function derived(forest: Forest, agent: LinkedAgent, more: More): Unnumbered[] {
  if (isUnnamedYet(agent, more, forest.now)) return [];
  const base = {
    schema: "retinue/event@1",
    uri: agent.uri,
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
  const children = agent.children.map((key) => agentOf(forest, key)).filter((child) => !isUnnamedYet(child, more, forest.now) && !isUnplacedYet(child, more));
  const spawns = children.map((child): Unnumbered => {
    const call = child.spawnCall;
    const time = child.firstAt ?? call?.at ?? null;
    return {
      ...base,
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
        parent: agent.uri,
        depth: child.depth,
        background: child.background ?? child.statements.some((s) => s.state === "launched"),
      },
      status: null,
    };
  });
  const { status, statusSource, statusReason } = agent.verdict;
  const last = Math.max(agent.statements.at(-1)?.at ?? 0, agent.lastAt ?? 0);
  const time = last === 0 ? null : last;
  const standing: Unnumbered = {
    ...base,
    id: `status:${agent.uri}:${status}:${last}`,
    at: iso(time),
    time,
    kind: "status",
    spawn: null,
    status: { status, statusSource, statusReason },
  };
  return isLostForNow(agent, more) ? spawns : [...spawns, standing];
}

/** The call may be known by its result alone. */
function toolCallOf({ evidence, parent }: LinkedAgent): string | null {
  const call = evidence.find((e) => e.call !== null && e.parent === parent)?.call ?? null;
  return call === null ? null : nativeCall(call);
}

/** Whether records may come that are not read yet: `surely` while a run goes on, `no` once it has ended and all of it was read. */
export type More = "surely" | "maybe" | "no";

/** Products name a child within moments of the call for it; after this, nobody will. */
const NAMING_MS = 1_000;

/** It goes by the id of the call for it, and may still get an id of its own: under this name it would be told of somebody who then never was. */
function isUnnamedYet({ evidence: [decided], verdict, statements }: LinkedAgent, more: More, now: number): boolean {
  if (more === "no" || decided?.rule !== UNANSWERED_RULE) return false;
  return more === "surely" || verdict.status === "pendingInit" || now - (statements.at(-1)?.at ?? 0) < NAMING_MS;
}

/** So far it stands in its thread for want of anything better: its parent may yet be named. */
function isUnplacedYet({ evidence: [decided], verdict }: LinkedAgent, more: More): boolean {
  const isOpen = more === "surely" || (more === "maybe" && (verdict.status === "running" || verdict.status === "pendingInit"));
  return isOpen && decided?.source === "inferred" && decided.confidence <= WEAK;
}
const WEAK = 0.5;

/** Nothing but a process that is gone says that it ended; what it wrote last may not be read yet. */
const isLostForNow = ({ verdict: { status, statusSource } }: LinkedAgent, more: More) =>
  more === "surely" && statusSource === "inferred" && (status === "shutdown" || status === "notFound");

const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
