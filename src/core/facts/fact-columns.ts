import { type AgentKey, messageIn, type RecordKey } from "./ids.ts";
import type { Observation, ObservationOf, RecordRead, ToolCalled, ToolResult } from "./observation.ts";
import { noPlaces, PlaceColumns, type PlacedRow, Places, type PlaceValues } from "./place-columns.ts";

type Read = ObservationOf<"record">;
type Called = ObservationOf<"model-call">;

/**
 * The facts of one file, most of them in columns: records and model calls take a few numbers and strings each instead of
 * objects. Returns exactly what was added. The order of facts is not kept.
 */
export class FactColumns implements Iterable<Observation> {
  readonly path: string;
  /** The facts of other kinds, and those that do not fit into columns. */
  readonly rare: Observation[] = [];
  readonly #places: Places;
  readonly #records: RecordColumns;
  readonly #calls: CallColumns;

  /** `saved`: the columns of `save`. Facts can be added only without it. */
  constructor(path: string, saved: SavedColumns | null = null) {
    this.path = path;
    this.#places = new Places(path, saved?.speakers);
    this.#records = new RecordColumns(this.#places, saved?.records);
    this.#calls = new CallColumns(this.#places, this.#records, saved?.calls);
  }

  static of(path: string, facts: Iterable<Observation>): FactColumns {
    const columns = new FactColumns(path);
    for (const fact of facts) columns.add(fact);
    return columns;
  }

  /** `number`: the number of the fact at its place, if its id is known to consist of both. */
  add(fact: Observation, number?: number): void {
    const fits =
      (fact.type === "record" && this.#records.add(fact, number)) ||
      (fact.type === "model-call" && this.#calls.add(fact, number));
    if (!fits) this.rare.push(fact);
  }

  get length(): number {
    return this.rare.length + this.#records.length + this.#calls.length;
  }

  /** The agents of all facts. */
  get speakers(): ReadonlySet<AgentKey> {
    const speakers = new Set(this.#places.speakers);
    for (const { speaker } of this.rare) speakers.add(speaker);
    return speakers;
  }

  /** Calls `visit` with the record's own key, for each record in the columns. */
  eachRecordKey(visit: (key: RecordKey, speaker: AgentKey) => void): void {
    this.#records.eachKey(visit);
  }

  /** Calls `visit` with the names that an API gave to the response, for each model call in the columns that has any. */
  eachResponseName(visit: (name: RecordKey, speaker: AgentKey) => void): void {
    this.#calls.eachName(visit);
  }

  /** The texts of final responses in the columns. */
  finalTexts(): Iterable<FinalText> {
    return this.#records.finalTexts();
  }

  *[Symbol.iterator](): Generator<Observation> {
    yield* this.rare;
    yield* this.#records;
    yield* this.#calls;
  }

  /** The columns as JSON; null if there are none. The rare facts are not included. */
  save(): SavedColumns | null {
    if (this.length === this.rare.length) return null;
    return { speakers: this.#places.speakers, records: this.#records.columns, calls: this.#calls.columns };
  }
}

export interface SavedColumns {
  readonly speakers: readonly AgentKey[];
  readonly records: RecordValues;
  readonly calls: CallValues;
}

/** A record with the text of a final response. */
export type FinalText = Pick<Read, "type" | "at" | "speaker" | "text">;

const ROLES = ["user", "assistant", "other"] as const satisfies readonly RecordRead["role"][];
const STATES = [null, "answered", "failed", "interrupted", "open"] as const satisfies readonly RecordRead["state"][];
const STATE_SHIFT = 2;
const CERTAIN = 32;
const MESSAGE = 64;

/** Fields of few rows, by row. */
type Few<T> = [row: number, value: T][];

interface RecordValues extends PlaceValues {
  /** Role, state, and whether it is certain and a message. */
  readonly flags: number[];
  /** Tool calls: the row of each, its key and name. */
  readonly callRows: number[];
  readonly callKeys: string[];
  readonly callNames: string[];
  readonly callMore: Few<Omit<ToolCalled, "call" | "name">>;
  readonly resultRows: number[];
  /** The key of the call; if it is in `callKeys`, its distance from the last call before the result, plus 1. */
  readonly resultKeys: (string | number)[];
  readonly errors: Few<1>;
  readonly resultMore: Few<Omit<ToolResult, "call" | "isError">>;
  readonly texts: Few<string>;
  readonly more: Few<Pick<RecordRead, "turn" | "error">>;
}

const noRecords = (): RecordValues => ({
  ...noPlaces(),
  ...{ flags: [], callRows: [], callKeys: [], callNames: [], callMore: [], resultRows: [], resultKeys: [] },
  ...{ errors: [], resultMore: [], texts: [], more: [] },
});

class RecordColumns implements Iterable<Read> {
  readonly columns: RecordValues;
  /** The keys of the last record that was added. */
  lastKeys: readonly RecordKey[] | null = null;
  readonly #places: PlaceColumns;
  readonly #callNumbers = new Map<string, number>();

  constructor(places: Places, columns: RecordValues = noRecords()) {
    this.columns = columns;
    this.#places = new PlaceColumns(places, columns);
  }

  get length(): number {
    return this.#places.length;
  }

  add(fact: Read, number?: number): boolean {
    const row = this.length;
    if (!this.#places.add(fact, number)) return false;
    this.lastKeys = fact.keys;
    const { role, state, certain, message, calls, results, text, turn, error } = fact;
    const { columns } = this;
    columns.flags.push(
      ROLES.indexOf(role) | (STATES.indexOf(state) << STATE_SHIFT) | (certain ? CERTAIN : 0) | (message ? MESSAGE : 0),
    );
    for (const { call, name, at, waitsFor, awaitsAgents } of calls) {
      columns.callRows.push(row);
      columns.callNames.push(name);
      const number = columns.callKeys.push(call) - 1;
      this.#callNumbers.set(call, number);
      if (at !== undefined || waitsFor !== undefined || awaitsAgents !== undefined)
        columns.callMore.push([number, given({ at, waitsFor, awaitsAgents })]);
    }
    for (const { call, isError, at } of results) {
      columns.resultRows.push(row);
      const called = this.#callNumbers.get(call);
      const number = columns.resultKeys.push(called === undefined ? call : columns.callKeys.length - called) - 1;
      if (isError) columns.errors.push([number, 1]);
      if (at !== undefined) columns.resultMore.push([number, { at }]);
    }
    if (text !== null) columns.texts.push([row, text]);
    if (turn !== undefined || error !== undefined) columns.more.push([row, given({ turn, error })]);
    return true;
  }

  eachKey(visit: (key: RecordKey, speaker: AgentKey) => void): void {
    this.#places.eachKey(visit);
  }

  keysAt(row: number): RecordKey[] {
    return this.#places.keysAt(row);
  }

  /** `calls`: the number of calls up to the result. */
  #keyOfResult(result: number, calls: number): ToolResult["call"] {
    const key = this.columns.resultKeys[result];
    return (typeof key === "number" ? this.columns.callKeys[calls - key] : key) as ToolResult["call"];
  }

  *finalTexts(): Generator<FinalText> {
    let [time, next] = [0, 0];
    for (const [row, text] of this.columns.texts) {
      for (; next <= row; next += 1) time += this.columns.times[next] ?? 0;
      const hasTime = this.columns.times[row] !== null;
      const speaker = this.#places.speakerOf(this.columns.speakers[row]);
      yield { type: "record", at: hasTime ? time : null, speaker, text };
    }
  }

  *[Symbol.iterator](): Generator<Read> {
    const { columns } = this;
    const [texts, more, callMore] = [new Map(columns.texts), new Map(columns.more), new Map(columns.callMore)];
    const [errors, resultMore] = [new Map(columns.errors), new Map(columns.resultMore)];
    let [call, result, row] = [0, 0, 0];
    for (const placed of this.#places.rows()) {
      const [calls, results]: [ToolCalled[], ToolResult[]] = [[], []];
      for (; columns.callRows[call] === row; call += 1)
        calls.push({
          call: columns.callKeys[call] as ToolCalled["call"],
          name: columns.callNames[call] ?? "",
          ...callMore.get(call),
        });
      for (; columns.resultRows[result] === row; result += 1)
        results.push({
          call: this.#keyOfResult(result, call),
          isError: errors.has(result),
          ...resultMore.get(result),
        });
      const flags = columns.flags[row] ?? 0;
      yield {
        type: "record",
        role: ROLES[flags & 3] ?? "other",
        state: STATES[(flags >> STATE_SHIFT) & 7] ?? null,
        certain: (flags & CERTAIN) !== 0,
        calls,
        results,
        text: texts.get(row) ?? null,
        message: (flags & MESSAGE) !== 0,
        ...more.get(row),
        ...placed,
      };
      row += 1;
    }
  }
}

/** The fields that are not undefined. */
const given = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [K in keyof T]?: Exclude<T[K], undefined>;
  };

/** The fields of a model call that have no column of their own. */
const REST = [
  ...(["model", "vendor", "costUsd", "alias", "fingerprints"] as const),
  ...(["nameless", "fromTotals", "fast", "outputOnly", "outsideTotals"] as const),
] as const;
type RestField = (typeof REST)[number];
/** The fields of `REST` one by one, because it is called for every model call. */
const isRestEqual = (a: Rest, b: Rest): boolean =>
  a.model === b.model &&
  a.vendor === b.vendor &&
  a.costUsd === b.costUsd &&
  a.alias === b.alias &&
  a.fingerprints === b.fingerprints &&
  a.nameless === b.nameless &&
  a.fromTotals === b.fromTotals &&
  a.fast === b.fast &&
  a.outputOnly === b.outputOnly &&
  a.outsideTotals === b.outsideTotals;
type Rest = Pick<Called, RestField>;
/** Every field is in a column or in `REST`; otherwise this does not compile. */
type Stored = Rest &
  Pick<
    Called,
    keyof PlacedRow | "origin" | "type" | "response" | "request" | "rows" | "askedAt" | "tokens" | "chars" | "ended"
  >;

interface CallValues extends PlaceValues {
  /** The record with the same keys, as its distance from the record before it in this column, plus 1; 0 for none. */
  readonly records: number[];
  /** 0 if it is the message of the row. */
  readonly responses: (string | 0)[];
  readonly requests: (string | 0)[];
  readonly rows: (string | 0)[];
  readonly askedAt: (number | null)[];
  /** The tokens of each kind. */
  readonly tokens: [number[], number[], number[], number[], number[], number[]];
  readonly chars: number[];
  readonly ended: (0 | 1)[];
  /** The other fields: most rows share them with the row before, so they are listed where they change. */
  readonly rest: Few<Rest>;
}

const noCalls = (): CallValues => ({
  ...noPlaces(),
  ...{
    records: [],
    responses: [],
    requests: [],
    rows: [],
    askedAt: [],
    tokens: [[], [], [], [], [], []],
    chars: [],
    ended: [],
    rest: [],
  },
});

class CallColumns implements Iterable<Called> {
  readonly columns: CallValues;
  readonly #records: RecordColumns;
  readonly #places: PlaceColumns;
  #last: Called | null = null;
  /** The last record in the column `records`. */
  #lastRecord = 0;

  constructor(places: Places, records: RecordColumns, columns: CallValues = noCalls()) {
    this.columns = columns;
    this.#records = records;
    this.#places = new PlaceColumns(places, columns);
  }

  get length(): number {
    return this.#places.length;
  }

  add(fact: Called, number?: number): boolean {
    const row = this.length;
    // The facts of one record share the list of its keys.
    const isOfRecord = fact.keys === this.#records.lastKeys;
    if (!this.#places.add(fact, number, !isOfRecord)) return false;
    const record = this.#records.length - 1;
    this.columns.records.push(isOfRecord ? record - this.#lastRecord + 1 : 0);
    if (isOfRecord) this.#lastRecord = record;
    const { response, request, rows, askedAt, tokens, chars, ended } = fact;
    const { columns } = this;
    columns.responses.push(response === messageIn(fact) ? 0 : response);
    columns.requests.push(request ?? 0);
    columns.rows.push(rows ?? 0);
    columns.askedAt.push(askedAt ?? null);
    columns.tokens[0].push(tokens.inputTokens);
    columns.tokens[1].push(tokens.outputTokens);
    columns.tokens[2].push(tokens.reasoningTokens);
    columns.tokens[3].push(tokens.cacheReadTokens);
    columns.tokens[4].push(tokens.cacheWriteTokens);
    columns.tokens[5].push(tokens.cacheWrite1hTokens);
    columns.chars.push(chars);
    columns.ended.push(ended ? 1 : 0);
    const last = this.#last;
    if (last === null || !isRestEqual(fact, last))
      columns.rest.push([
        row,
        { model: fact.model, ...given(Object.fromEntries(REST.map((field) => [field, fact[field]]))) },
      ]);
    this.#last = fact;
    return true;
  }

  eachName(visit: (name: RecordKey, speaker: AgentKey) => void): void {
    for (const [i, [row, { alias, fingerprints }]] of this.columns.rest.entries()) {
      const names = [...(alias === undefined ? [] : [alias]), ...(fingerprints ?? [])];
      if (names.length === 0) continue;
      const end = this.columns.rest[i + 1]?.[0] ?? this.length;
      for (let at = row; at < end; at += 1)
        for (const name of names) visit(name, this.#places.speakerOf(this.columns.speakers[at]));
    }
  }

  *[Symbol.iterator](): Generator<Called & Stored> {
    const { records, responses, requests, rows, askedAt, tokens, chars, ended, rest } = this.columns;
    let [row, change, record] = [0, 0, 0];
    let shared: Rest = { model: "" };
    for (const placed of this.#places.rows()) {
      const changed = rest[change];
      if (changed?.[0] === row) {
        shared = changed[1];
        change += 1;
      }
      const distance = records[row] ?? 0;
      record += Math.max(0, distance - 1);
      const keys = distance === 0 ? placed.keys : this.#records.keysAt(record);
      const asked = askedAt[row] ?? null;
      const amount = (kind: 0 | 1 | 2 | 3 | 4 | 5) => tokens[kind][row] ?? 0;
      yield {
        type: "model-call",
        response: (responses[row] === 0 ? messageIn({ keys }) : responses[row]) as RecordKey,
        ...(requests[row] === 0 ? {} : { request: requests[row] as RecordKey }),
        ...(rows[row] === 0 ? {} : { rows: rows[row] as RecordKey }),
        ...(asked === null ? {} : { askedAt: asked }),
        ...shared,
        tokens: {
          inputTokens: amount(0),
          outputTokens: amount(1),
          reasoningTokens: amount(2),
          cacheReadTokens: amount(3),
          cacheWriteTokens: amount(4),
          cacheWrite1hTokens: amount(5),
        },
        chars: chars[row] ?? 0,
        ended: ended[row] === 1,
        ...placed,
        keys,
      };
      row += 1;
    }
  }
}
