import { type AgentKey, type CallKey, messageIn, type RecordKey } from "../facts/ids.ts";
import { byTime, type Observation, type ObservationOf } from "../facts/observation.ts";
import { isRecorded } from "../facts/origin.ts";
import { lowerBound } from "../tools/collections.ts";
import { hashOf, NameTable } from "../tools/name-table.ts";
import { CallColumns } from "./call-list.ts";
import { callOf, lastResponseText, ownStateOf, pendingCalls, type Work } from "./gather.ts";
import { byPlace } from "./totals.ts";

type Read = ObservationOf<"record">;
type Called = ObservationOf<"model-call">;
export type BulkFact = Read | Called;

/** Bulk facts: records and model calls from the product's own transcripts. */
export const isBulk = (o: Observation): o is BulkFact =>
  isRecorded(o) && (o.type === "record" || (o.type === "model-call" && o.nameless === undefined));

/** The kind of a name in the table. */
export const NAME = {
  key: 1,
  call: 2,
  result: 4,
  error: 8,
  message: 16,
  response: 32,
  alias: 64,
  olderCalls: 128,
  olderText: 256,
} as const;
export type NameMark = (typeof NAME)[keyof typeof NAME];

/** Rows may arrive slightly out of order, so this many of the latest are kept, and more of the last response. */
const LATEST_ROWS = 4;
const ROWS_OF_RESPONSE = 64;
const OPEN_RESPONSES = 8;
const CLOSED_TOGETHER = 6;
const RECENT_RECORDS = 256;
/** Maximum number of requests that one reader of new records may lag behind another. */
const KEPT_REQUESTS = 4;
const LATEST_KEYS = 4_096;
/** Approximate memory per record. */
const RECORD_BYTES = 1_000;

/**
 * The aggregate of one agent's bulk facts in one file. Appended facts extend it. It takes about twenty bytes per record
 * (hashes of keys) instead of a thousand. If it cannot give the same result as the facts (rows far out of order, a
 * response in two places), `isExact` is false, and the facts are used instead.
 */
export class Fold {
  readonly speaker: AgentKey;
  readonly path: string;
  readonly facts: () => readonly BulkFact[];
  readonly #names = new NameTable();
  readonly #calls: CallColumns;
  readonly #open = new Map<RecordKey, Called[]>();
  /** The first row after the closed responses: no later row may precede it. */
  #closedBefore: Called | null = null;
  readonly #interruptions: Read[] = [];
  readonly #callRecords: Read[] = [];
  readonly #textRecords: Read[] = [];
  readonly #times = new Times();
  /** The latest records, once spans were computed from this fold: the next ones are computed from these alone. */
  #recent: Read[] | null = null;
  /** The first record that each of the latest requests needed. */
  readonly #requested: number[] = [];
  /** Keys that were not compared with those of other agents yet. */
  readonly #latestKeys: number[] = [];
  #keyCount = 0;
  /** The keys added last: those of a record are also those of its model call. */
  #lastKeys: readonly RecordKey[] = [];
  /** The last of them that was hashed, and its hash: messages and responses have the same name. */
  #lastKey: RecordKey | undefined;
  #lastHash = 0;
  #lastState: Read | undefined;
  #records = 0;
  #messages = 0;
  #toolCalls = 0;
  #toolErrors = 0;
  #first = Number.POSITIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;
  #isInexact = false;

  constructor(speaker: AgentKey, path: string, facts: () => readonly BulkFact[]) {
    this.speaker = speaker;
    this.path = path;
    this.facts = facts;
    this.#calls = new CallColumns(() => Fold.#closedIn(speaker, path, facts));
  }

  /** All closed calls, from the facts. */
  static #closedIn(speaker: AgentKey, path: string, facts: () => readonly BulkFact[]): CallColumns {
    const fold = new Fold(speaker, path, facts);
    for (const fact of facts().toSorted(byTime)) fold.add(fact);
    return fold.#calls;
  }

  /** Approximate memory. */
  get bytes(): number {
    return 4_000 + this.#names.bytes + this.#calls.bytes + RECORD_BYTES * (this.#recent?.length ?? 0);
  }

  /** False if the facts themselves must be used. */
  get isExact(): boolean {
    const [lastCalls, lastText] = [this.#callRecords.at(-1), this.#textRecords.at(-1)];
    const isSplit =
      (lastCalls !== undefined && this.#names.has(responseOf(lastCalls), NAME.olderCalls)) ||
      (lastText !== undefined && this.#names.has(responseOf(lastText), NAME.olderText));
    return !this.#isInexact && !this.#times.isInexact && !isSplit;
  }

  /** Whether a name with this hash and of this kind was added. */
  names(hashed: number, mark: NameMark): boolean {
    return this.#names.hasHash(hashed, mark);
  }

  get nameCount(): number {
    return this.#names.count;
  }

  /** The hashes of all names of this kind. `NAME.key`: keys of its records that other sources may use. */
  hashes(mark: NameMark): Iterable<number> {
    return this.#names.hashes(mark);
  }

  get keyCount(): number {
    return this.#keyCount;
  }

  /** The hashes of the keys added after the first `count`; null if no longer known. */
  keysSince(count: number): readonly number[] | null {
    const first = this.#keyCount - this.#latestKeys.length;
    if (count < first) return null;
    // The caller has seen the earlier ones.
    this.#latestKeys.splice(0, count - first);
    return [...this.#latestKeys];
  }

  #addKeys(keys: readonly RecordKey[]) {
    if (keys === this.#lastKeys) return;
    this.#lastKeys = keys;
    for (const key of keys) {
      this.#lastKey = key;
      this.#lastHash = hashOf(key);
      this.#addKey(this.#lastHash);
    }
  }

  #hashOf(name: string): number {
    return name === this.#lastKey ? this.#lastHash : hashOf(name);
  }

  #addKey(hashed: number) {
    if (!this.#names.addHash(hashed, NAME.key)) return;
    this.#keyCount += 1;
    if (this.#latestKeys.push(hashed) > LATEST_KEYS) this.#latestKeys.length = 0;
  }

  /** Call it before `add` for the bulk facts of the same read. */
  addStated(fact: Observation): void {
    this.#times.split(fact);
  }

  /** The latest time before a stated fact in the file, and the earliest after it. */
  around(fact: Observation): { readonly after: number | null; readonly before: number | null } {
    return this.#times.around(fact);
  }

  add(fact: BulkFact): void {
    this.#addKeys(fact.keys);
    this.#times.add(fact);
    if (fact.type === "record") this.#addRecord(fact);
    else this.#addCall(fact);
  }

  #addRecord(record: Read) {
    this.#records += 1;
    if (this.#recent !== null && this.#recent.push(record) > 2 * RECENT_RECORDS) this.#recent.splice(0, RECENT_RECORDS);
    if (record.at !== null) {
      this.#first = Math.min(this.#first, record.at);
      this.#last = Math.max(this.#last, record.at);
    }
    if (record.state !== null && (this.#lastState === undefined || byTime(this.#lastState, record) < 0))
      this.#lastState = record;
    if (record.state === "interrupted") {
      this.#checkOrder(record);
      this.#interruptions.push(record);
    }
    if (record.message && this.#names.addHash(this.#hashOf(messageIn(record) ?? record.id), NAME.message))
      this.#messages += 1;
    for (const { call } of record.calls) if (this.#names.add(call, NAME.call)) this.#toolCalls += 1;
    for (const { call, isError } of record.results) {
      this.#names.add(call, NAME.result);
      if (isError && this.#names.add(call, NAME.error)) this.#toolErrors += 1;
    }
    if (record.role === "assistant" && record.calls.length > 0)
      this.#keepLatest(this.#callRecords, record, NAME.olderCalls);
    if (record.text !== null) this.#keepLatest(this.#textRecords, record, NAME.olderText);
  }

  #keepLatest(rows: Read[], row: Read, mark: NameMark) {
    const before = rows.findLastIndex((one) => byTime(one, row) < 0);
    rows.splice(before + 1, 0, row);
    const last = responseOf(rows.at(-1) as Read);
    while (rows.length > LATEST_ROWS) {
      const oldest = responseOf(rows[0] as Read);
      if (oldest === last && rows.length <= ROWS_OF_RESPONSE) return;
      this.#names.add(oldest, mark);
      rows.shift();
    }
  }

  #addCall(row: Called) {
    this.#checkOrder(row);
    if (row.request !== undefined) this.#addAlias(row.request, row.response);
    if (row.alias !== undefined) this.#addAlias(row.alias, row.response);
    for (const fingerprint of row.fingerprints ?? []) this.#addKey(hashOf(fingerprint));
    const response = this.#hashOf(row.response);
    this.#isInexact ||= this.#names.hasHash(response, NAME.alias);
    const open = this.#open.get(row.response);
    const isNew = this.#names.addHash(response, NAME.response);
    if (open !== undefined) open.push(row);
    else if (!isNew) this.#isInexact = true;
    else this.#open.set(row.response, [row]);
    if (this.#open.size > OPEN_RESPONSES) this.#close();
  }

  #addAlias(name: RecordKey, response: RecordKey) {
    const hashed = hashOf(name);
    this.#addKey(hashed);
    if (name === response) return;
    this.#names.addHash(hashed, NAME.alias);
    // Two names for one response.
    this.#isInexact ||= this.#names.hasHash(hashed, NAME.response);
  }

  #checkOrder(fact: BulkFact) {
    if (this.#closedBefore !== null && byTime(fact, this.#closedBefore) < 0) this.#isInexact = true;
  }

  #close() {
    const open = this.#openCalls();
    for (const [i, { response, rows }] of open.slice(0, CLOSED_TOGETHER).entries()) {
      const call = callOf(response, rows, open[i + 1]?.rows[0], this.#interruptions);
      if (call !== null) this.#calls.push(call);
      this.#open.delete(response);
    }
    this.#closedBefore = open[CLOSED_TOGETHER]?.rows[0] ?? null;
  }

  /** Open responses with their rows, both in order of time. */
  #openCalls(): { readonly response: RecordKey; readonly rows: readonly Called[] }[] {
    const open = Array.from(this.#open, ([response, rows]) => ({
      response,
      rows: rows.length === 1 ? rows : rows.toSorted(byTime),
    }));
    return open.sort((a, b) => byTime(a.rows[0] as Called, b.rows[0] as Called));
  }

  #recordsBetween(from: number, to: number): readonly Read[] | null {
    this.#recent ??= [];
    let first = this.#records - this.#recent.length;
    if (this.#requested.push(from) > KEPT_REQUESTS) {
      this.#requested.shift();
      // All readers have processed the earlier ones.
      first += this.#recent.splice(0, Math.max(0, Math.min(...this.#requested) - first)).length;
    }
    return from < first || from > to ? null : this.#recent.slice(from - first, to - first);
  }

  work(spawns: ReadonlySet<CallKey>): Work {
    const open = this.#openCalls();
    const { facts } = this;
    const records = this.#records;
    return {
      records,
      steps: () =>
        facts()
          .filter((fact) => fact.type === "record")
          .sort(byTime),
      stepsSince: (count) => this.#recordsBetween(count, records),
      firstAt: Number.isFinite(this.#first) ? this.#first : null,
      lastAt: Number.isFinite(this.#last) ? this.#last : null,
      own: ownStateOf(this.#lastState),
      pending: pendingCalls(this.#callRecords, (call) => this.#names.has(call, NAME.result), spawns),
      messages: this.#messages,
      toolCalls: this.#toolCalls,
      toolErrors: this.#toolErrors,
      answer: lastResponseText(this.#textRecords),
      calls: this.#calls.with(
        open.flatMap(
          ({ response, rows }, i) => callOf(response, rows, open[i + 1]?.rows[0], this.#interruptions) ?? [],
        ),
      ),
    };
  }
}

/** The response that a row belongs to. */
const responseOf = (record: Read) => messageIn(record) ?? "";

/** The time ranges of the facts between stated facts, which describe the facts above them in the file. */
class Times {
  readonly #stated: Observation[] = [];
  /** One entry more than stated facts: before the first, between each two, and after the last. */
  readonly #latest = [Number.NEGATIVE_INFINITY];
  readonly #earliest = [Number.POSITIVE_INFINITY];
  #lastOrder = Number.NEGATIVE_INFINITY;
  isInexact = false;

  split(fact: Observation): void {
    const last = this.#stated.at(-1);
    if (fact.order <= this.#lastOrder || (last !== undefined && byPlace(fact, last) < 0)) this.isInexact = true;
    this.#stated.push(fact);
    this.#latest.push(Number.NEGATIVE_INFINITY);
    this.#earliest.push(Number.POSITIVE_INFINITY);
  }

  add(fact: Observation): void {
    this.#lastOrder = Math.max(this.#lastOrder, fact.order);
    if (fact.at === null) return;
    const last = this.#stated.at(-1);
    const at = last === undefined || last.order < fact.order ? this.#stated.length : this.#above(fact);
    this.#latest[at] = Math.max(this.#latest[at] ?? fact.at, fact.at);
    this.#earliest[at] = Math.min(this.#earliest[at] ?? fact.at, fact.at);
  }

  around(fact: Observation): { readonly after: number | null; readonly before: number | null } {
    const above = this.#above(fact) + 1;
    const after = this.#latest.slice(0, above).reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    const before = this.#earliest.slice(above).reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    return { after: Number.isFinite(after) ? after : null, before: Number.isFinite(before) ? before : null };
  }

  /** Number of stated facts above it in the file. */
  #above(fact: Observation): number {
    return lowerBound(this.#stated, (stated) => byPlace(stated, fact) < 0);
  }
}
