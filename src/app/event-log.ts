import { randomBytes } from "node:crypto";
import type { AgentEvent, EventDraft } from "../core/event.ts";
import type { AgentKey } from "../core/ids.ts";
import { agentOf, type Forest } from "../core/link.ts";
import { draftOf, EventReader, type EventSource, type PlacedEvent, WHOLE_DOCUMENT } from "./events.ts";
import type { Library } from "./library.ts";
import { summaryOf } from "./markup.ts";
import { draftsAt } from "./record-at.ts";

/**
 * What happened to one agent, in the order in which it became known: history by time, then what came.
 * Texts stay in the files; kept is where they stand, so that a long history fits into memory and any part of it is at hand.
 */
export class EventLog {
  /** Positions in it mean nothing in another one. */
  readonly serial = newSerial();
  readonly key: AgentKey;
  readonly #library: Library;
  readonly #reader: EventReader;
  readonly #entries: Entry[] = [];
  readonly #generations = new Map<string, number>();
  #uri = "";
  #turn: Promise<unknown> = Promise.resolve();

  constructor(library: Library, key: AgentKey) {
    this.key = key;
    this.#library = library;
    this.#reader = new EventReader(library);
  }

  get length(): number {
    return this.#entries.length;
  }

  /** Reads on; gives what is new. Null if a file turned out to be another one than before: then nothing here holds any more. */
  next(forest: Forest): Promise<readonly AgentEvent[] | null> {
    const result = this.#turn.then(() => this.#next(forest));
    // Whoever asked hears of a failure; the next one has a turn of its own.
    this.#turn = result.catch(() => null);
    return result;
  }

  async #next(forest: Forest): Promise<readonly AgentEvent[] | null> {
    const agent = agentOf(forest, this.key);
    for (const { path } of agent.files) {
      // What changes in place is read anew each time.
      if (this.#library.source(path)?.stream.shape !== "lines") continue;
      const generation = this.#library.store.file(path)?.generation ?? 0;
      const before = this.#generations.get(path) ?? generation;
      if (before !== generation) return null;
      this.#generations.set(path, generation);
    }
    this.#uri = agent.uri;
    const found = await this.#reader.nextPlaced(forest, [this.key]);
    for (const one of found) this.#entries.push(entryOf(one));
    return found.map(({ event }) => event);
  }

  /** Epoch milliseconds; 0 where the record has no time. */
  timeOf(index: number): number {
    return Date.parse(this.#entries[index]?.event.at ?? "") || 0;
  }

  /** How much happened, and when; how the agent stands by now is told elsewhere. */
  get span(): LogSpan {
    const times = this.#entries.flatMap(({ event }) => (event.kind === "status" ? [] : [Date.parse(event.at ?? "") || 0]));
    const known = times.filter((time) => time > 0);
    return { events: times.length, first: known.length === 0 ? null : Math.min(...known), last: known.length === 0 ? null : Math.max(...known) };
  }

  idAt(index: number): string | null {
    const entry = this.#entries[index];
    return entry === undefined || entry.event.kind === "status" ? null : idOf(entry);
  }

  /** From this place in the log on, at most so many. */
  async page(from: number, limit: number, records: Records = new Map()): Promise<readonly AgentEvent[]> {
    const events: AgentEvent[] = [];
    for (const entry of this.#entries.slice(from, from + limit)) events.push(await this.#whole(entry, records));
    return events;
  }

  /** One event, by its id. */
  async find(id: string): Promise<AgentEvent | null> {
    const entry = this.#entries.find((e) => idOf(e) === id);
    return entry === undefined ? null : this.#whole(entry, new Map());
  }

  async #whole({ event, from }: Entry, records: Records): Promise<AgentEvent> {
    const whole = { ...event, uri: this.#uri };
    if (from === null) return whole;
    const record = `${from.path}${placeName(from)}`;
    const drafts = records.get(record) ?? (await draftsAt(this.#library, from));
    records.set(record, drafts);
    const draft = draftOf(drafts, event, from);
    const tool = event.tool && { ...event.tool, input: draft?.tool?.input ?? null };
    return { ...whole, id: idOf({ event, from }), text: draft?.text ?? null, summary: draft === undefined ? null : summaryOf(draft), tool };
  }
}

export interface LogSpan {
  readonly events: number;
  readonly first: number | null;
  readonly last: number | null;
}

/** Records that were read again for one page: many events may stand in one. */
type Records = Map<string, readonly EventDraft[]>;

/** An event without what can be read again, which is most of it. */
type Entry = Pick<PlacedEvent, "event" | "from">;

function entryOf({ event, from }: PlacedEvent): Entry {
  return from === null
    ? { event, from }
    : { event: { ...event, uri: "", id: "", text: null, summary: null, tool: event.tool && { ...event.tool, input: null } }, from };
}

const idOf = ({ event, from }: Entry) => (from === null ? event.id : `${from.path}${placeName(from)}#${from.draft}`);
const placeName = ({ place }: EventSource) => (place === WHOLE_DOCUMENT ? "" : `:${"row" in place ? place.row : place.line}`);

const newSerial = () => randomBytes(6).toString("hex");

/** Several agents' logs as one, in the order in which things became known. */
export class MergedLog {
  readonly serial = newSerial();
  readonly #places: { readonly log: EventLog; readonly index: number }[] = [];
  readonly #taken = new Map<EventLog, number>();

  get length(): number {
    return this.#places.length;
  }

  /** Adds what is new in these logs: among itself by time. */
  take(logs: readonly EventLog[]): void {
    const fresh = logs.flatMap((log) => {
      const from = this.#taken.get(log) ?? 0;
      this.#taken.set(log, log.length);
      return Array.from({ length: log.length - from }, (_, i) => ({ log, index: from + i, time: log.timeOf(from + i) }));
    });
    fresh.sort((a, b) => a.time - b.time);
    for (const { log, index } of fresh) this.#places.push({ log, index });
  }

  /** Everything that happened from this place in the log on, with its id and time; how agents stand by now is left out. */
  happened(from: number): { readonly id: string; readonly index: number; readonly time: number }[] {
    return this.#places.slice(from).flatMap(({ log, index: at }, i) => {
      const id = log.idAt(at);
      return id === null ? [] : [{ id, index: from + i, time: log.timeOf(at) }];
    });
  }

  async page(from: number, limit: number): Promise<readonly AgentEvent[]> {
    const events: AgentEvent[] = [];
    const records: Records = new Map();
    for (const { log, index } of this.#places.slice(from, from + limit)) events.push(...(await log.page(index, 1, records)));
    return events;
  }
}
