import { type AgentKey, keysFrom, observationId, ownMessageIn, placeName, type RecordKey, recordIn } from "./ids.ts";
import type { Observation } from "./observation.ts";

export type PlacedRow = Pick<Observation, "id" | "at" | "speaker" | "keys" | "order">;

/** The columns that records and model calls have in common: where, when, by whom, and the record's keys. */
export interface PlaceValues {
  /** Number of the observation at its place. */
  readonly numbers: number[];
  /** Difference to the order of the row before. */
  readonly orders: number[];
  /** Difference to the time of the row before; null without a time. */
  readonly times: (number | null)[];
  readonly speakers: number[];
  /** The key of the record, and that of its message if it differs; 0 if missing. */
  readonly own: (string | 0)[];
  readonly shared: (string | 0)[];
}

export const noPlaces = (): PlaceValues => ({ numbers: [], orders: [], times: [], speakers: [], own: [], shared: [] });

/** What the columns of one file share. */
export class Places {
  readonly path: string;
  readonly speakers: AgentKey[];
  readonly #numberOf: Map<AgentKey, number>;
  #lastSpeaker: AgentKey | null = null;
  #lastNumber = -1;
  #lastOrder = Number.NaN;
  #prefix = "";

  constructor(path: string, speakers: readonly AgentKey[] = []) {
    this.path = path;
    this.speakers = [...speakers];
    this.#numberOf = new Map(speakers.map((speaker, i) => [speaker, i]));
  }

  speakerNumber(speaker: AgentKey): number {
    if (speaker === this.#lastSpeaker) return this.#lastNumber;
    const number = this.#numberOf.get(speaker) ?? this.speakers.push(speaker) - 1;
    this.#numberOf.set(speaker, number);
    [this.#lastSpeaker, this.#lastNumber] = [speaker, number];
    return number;
  }

  /** The number in the observation's id; -1 if the id does not follow from its position in the file. */
  numberIn({ id, order }: Observation): number {
    if (order !== this.#lastOrder) {
      this.#lastOrder = order;
      this.#prefix = `${placeName(this.path, order)}#`;
    }
    if (!id.startsWith(this.#prefix)) return -1;
    if (id.length === this.#prefix.length + 1) {
      const digit = id.charCodeAt(id.length - 1) - ZERO;
      return digit <= 9 ? digit : -1;
    }
    const number = Number(id.slice(this.#prefix.length));
    return Number.isSafeInteger(number) && `${this.#prefix}${number}` === id ? number : -1;
  }
}

/** A value of the columns of keys. */
const keyIn = (value: string | 0 | undefined) => (typeof value === "string" ? (value as RecordKey) : undefined);

const ZERO = 48;
/** Differences of larger numbers may not be exact. */
const LARGEST = 2 ** 52;
const isExact = (number: number) => Number.isInteger(number) && Math.abs(number) <= LARGEST;

/** Writes and reads the common columns row by row. */
export class PlaceColumns {
  readonly #places: Places;
  readonly #values: PlaceValues;
  #lastOrder = 0;
  #lastTime = 0;

  constructor(places: Places, values: PlaceValues) {
    this.#places = places;
    this.#values = values;
  }

  get length(): number {
    return this.#values.numbers.length;
  }

  /** False if the fact does not fit. `known`: its number, if known. `hasKeys`: whether to store its keys. */
  add(fact: Observation, known: number | undefined, hasKeys = true): boolean {
    const { at, order, speaker } = fact;
    // Comparing ids takes longer than the rest.
    const number = known ?? this.#places.numberIn(fact);
    if (number < 0 || fact.origin !== undefined || fact.keys.length > 2) return false;
    if (!isExact(order) || (at !== null && !isExact(at))) return false;
    const values = this.#values;
    values.numbers.push(number);
    values.orders.push(order - this.#lastOrder);
    this.#lastOrder = order;
    values.times.push(at === null ? null : at - this.#lastTime);
    this.#lastTime = at ?? this.#lastTime;
    values.speakers.push(this.#places.speakerNumber(speaker));
    values.own.push(hasKeys ? (recordIn(fact) ?? 0) : 0);
    values.shared.push(hasKeys ? (ownMessageIn(fact) ?? 0) : 0);
    return true;
  }

  /** All rows in order. */
  *rows(): Generator<PlacedRow> {
    const { numbers, orders, times, speakers } = this.#values;
    let [order, time] = [0, 0];
    for (let row = 0; row < numbers.length; row += 1) {
      order += orders[row] ?? 0;
      const step = times[row] ?? null;
      time += step ?? 0;
      yield {
        id: observationId(placeName(this.#places.path, order), numbers[row] ?? 0),
        at: step === null ? null : time,
        speaker: this.speakerOf(speakers[row]),
        keys: this.keysAt(row),
        order,
      };
    }
  }

  keysAt(row: number): RecordKey[] {
    const { own, shared } = this.#values;
    return keysFrom(keyIn(own[row]), keyIn(shared[row]));
  }

  eachKey(visit: (key: RecordKey, speaker: AgentKey) => void): void {
    const { own, speakers } = this.#values;
    for (let row = 0; row < own.length; row += 1) {
      const key = keyIn(own[row]);
      if (key !== undefined) visit(key, this.speakerOf(speakers[row]));
    }
  }

  speakerOf(number: number | undefined): AgentKey {
    return this.#places.speakers[number ?? 0] as AgentKey;
  }
}
