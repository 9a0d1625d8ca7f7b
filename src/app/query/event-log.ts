import { randomBytes } from "node:crypto";
import type { AgentKey } from "../../core/facts/ids.ts";
import { agentOf, type Forest, type LinkedAgent } from "../../core/link/forest.ts";
import { NumberRows } from "../../core/tools/columns.ts";
import type { AgentEvent, EventDraft } from "../../core/views/event.ts";
import type { Library } from "../ingest/library.ts";
import { draftOf, EventReader, type EventSource, isWholeDocument, type PlacedEvent } from "./events.ts";
import { summaryOf } from "./markup.ts";
import { PackedList } from "./packed-list.ts";
import { draftsAt } from "./record-at.ts";

/**
 * The events of one agent in the order in which they became known: history by time, then new ones. Stores only places;
 * texts are read from the files on demand, so that a long history needs little memory.
 */
export class EventLog {
  /** Identifies this log; positions are valid only within it. */
  readonly serial = newSerial();
  readonly key: AgentKey;
  readonly #library: Library;
  readonly #reader: EventReader;
  readonly #entries = new PackedList<Entry>();
  readonly #span: { events: number; first: number | null; last: number | null } = {
    events: 0,
    first: null,
    last: null,
  };
  readonly #generations = new Generations();
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

  /** Reads and returns new events. Null if a file was replaced; the log is then invalid. */
  next(forest: Forest): Promise<readonly AgentEvent[] | null> {
    const result = this.#turn.then(() => this.#next(forest));
    // The caller gets the error; the next call must not fail because of it.
    this.#turn = result.catch(() => null);
    return result;
  }

  async #next(forest: Forest): Promise<readonly AgentEvent[] | null> {
    const agent = agentOf(forest, this.key);
    if (!this.#generations.areSame(this.#library, agent)) return null;
    this.#uri = agent.uri;
    const found = await this.#reader.nextPlaced(forest, [this.key]);
    for (const one of found) this.#add(entryOf(one));
    return found.map(({ event }) => event);
  }

  #add(entry: Entry) {
    this.#entries.push(entry);
    if (entry.event.kind === "status") return;
    const [span, time] = [this.#span, timeOf(entry)];
    span.events += 1;
    if (time <= 0) return;
    span.first = Math.min(span.first ?? time, time);
    span.last = Math.max(span.last ?? time, time);
  }

  /** Epoch milliseconds; 0 if the record has no time. */
  timeOf(index: number): number {
    const entry = this.#entries.get(index);
    return entry === undefined ? 0 : timeOf(entry);
  }

  /** Number of events and their time range, without status events. */
  get span(): LogSpan {
    return { ...this.#span };
  }

  idAt(index: number): string | null {
    const entry = this.#entries.get(index);
    return entry === undefined || entry.event.kind === "status" ? null : idOf(entry);
  }

  /** At most `limit` events from this position. */
  async page(from: number, limit: number, records: Records = new Map()): Promise<readonly AgentEvent[]> {
    const events: AgentEvent[] = [];
    for (const entry of this.#entries.values(from, from + limit)) events.push(await this.#whole(entry, records));
    return events;
  }

  /** The event with this id. */
  async find(id: string): Promise<AgentEvent | null> {
    const entry = this.#entries.values().find((e) => idOf(e) === id);
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
    return {
      ...whole,
      id: idOf({ event, from }),
      text: draft?.text ?? null,
      summary: draft === undefined ? null : summaryOf(draft),
      tool,
    };
  }
}

/** Notices that a file of an agent was replaced: what was read of it before is no longer valid. */
export class Generations {
  readonly #known = new Map<string, number>();

  areSame(library: Library, { files }: Pick<LinkedAgent, "files">): boolean {
    for (const { path } of files) {
      // Files that change in place are read again each time.
      if (library.source(path)?.stream.shape !== "lines") continue;
      const generation = library.store.file(path)?.generation ?? 0;
      if ((this.#known.get(path) ?? generation) !== generation) return false;
      this.#known.set(path, generation);
    }
    return true;
  }
}

export interface LogSpan {
  readonly events: number;
  readonly first: number | null;
  readonly last: number | null;
}

/** Cache of records read for one page: one record may contain many events. */
type Records = Map<string, readonly EventDraft[]>;

/** An event without the parts that can be read again. */
type Entry = Pick<PlacedEvent, "event" | "from">;

function entryOf({ event, from }: PlacedEvent): Entry {
  return from === null
    ? { event, from }
    : {
        event: {
          ...event,
          uri: "",
          id: "",
          text: null,
          summary: null,
          tool: event.tool && { ...event.tool, input: null },
        },
        from,
      };
}

const timeOf = ({ event }: Entry) => Date.parse(event.at ?? "") || 0;
const idOf = ({ event, from }: Entry) => (from === null ? event.id : `${from.path}${placeName(from)}#${from.draft}`);
const placeName = ({ place }: EventSource) =>
  isWholeDocument(place) ? "" : `:${"row" in place ? place.row : place.line}`;

const newSerial = () => randomBytes(6).toString("hex");

/** The logs of several agents merged, in the order in which events became known. */
export class MergedLog {
  readonly serial = newSerial();
  readonly #logs: EventLog[] = [];
  /** The number of the log, and the index in it. */
  readonly #places = new NumberRows(2);
  readonly #taken = new Map<EventLog, { readonly number: number; count: number }>();

  get length(): number {
    return this.#places.length;
  }

  /** Appends the new events of these logs, sorted by time among themselves. */
  take(logs: readonly EventLog[]): void {
    const fresh = logs.flatMap((log) => {
      const taken = this.#taken.get(log) ?? { number: this.#logs.push(log) - 1, count: 0 };
      this.#taken.set(log, taken);
      const { number, count: from } = taken;
      taken.count = log.length;
      return Array.from({ length: log.length - from }, (_, i) => ({
        number,
        index: from + i,
        time: log.timeOf(from + i),
      }));
    });
    fresh.sort((a, b) => a.time - b.time);
    for (const { number, index } of fresh) this.#places.push([number, index]);
  }

  *#from(from: number, to = this.length): Generator<{ readonly log: EventLog; readonly index: number }> {
    for (let i = from; i < Math.min(to, this.length); i += 1)
      yield { log: this.#logs[this.#places.get(i, 0)] as EventLog, index: this.#places.get(i, 1) };
  }

  /** All events from this position, with id and time; without status events. */
  happened(from: number): { readonly id: string; readonly index: number; readonly time: number }[] {
    return [...this.#from(from)].flatMap(({ log, index: at }, i) => {
      const id = log.idAt(at);
      return id === null ? [] : [{ id, index: from + i, time: log.timeOf(at) }];
    });
  }

  async page(from: number, limit: number): Promise<readonly AgentEvent[]> {
    const events: AgentEvent[] = [];
    const records: Records = new Map();
    for (const { log, index } of this.#from(from, from + limit)) events.push(...(await log.page(index, 1, records)));
    return events;
  }
}
