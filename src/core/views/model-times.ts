import type { RecordKey } from "../facts/ids.ts";
import { messageIn } from "../facts/ids.ts";
import type { ObservationOf } from "../facts/observation.ts";
import { totalTokens } from "../facts/usage.ts";
import { type Calls, closedIn } from "../link/call-list.ts";
import type { ModelCall } from "../link/gather.ts";
import { lowerBound } from "../tools/collections.ts";
import { NameTable } from "../tools/name-table.ts";
import { BLANK, type Span } from "./span.ts";
import { GROUP, type Slot, type SpanList, slot } from "./span-list.ts";

/** The sum of a response's model calls. */
interface CallSum {
  readonly tokens: number;
  readonly outputTokens: number;
  readonly model: string | null;
  readonly isCut: boolean;
  readonly askedAt: number | null;
}

const NO_CALLS: CallSum = { tokens: 0, outputTokens: 0, model: null, isCut: false, askedAt: null };

const plus = (sum: CallSum, call: ModelCall): CallSum => ({
  tokens: sum.tokens + totalTokens(call.tokens),
  outputTokens: sum.outputTokens + call.tokens.outputTokens,
  model: sum.model ?? (call.model === "" ? null : call.model),
  isCut: sum.isCut || call.end === "cut",
  askedAt: sum.askedAt ?? call.askedAt ?? null,
});

/** One model response, from its records. */
interface Response {
  readonly slot: Slot;
  readonly first: number;
  last: number;
  /** When its last tool was called, if its own records contain tool results: the model had finished by then. */
  lastCall: number | null;
  isSelfContained: boolean;
  /** Its model calls that no longer change. */
  closed: CallSum;
  /** All its model calls. */
  calls: CallSum;
  readonly closedNames: RecordKey[];
  openNames: RecordKey[];
  from: number;
  to: number;
  /** The latest end of this response and of all before it. */
  done: number;
}

const SETTLED = 1;
const UNNAMED = 1;

/** A model call without a response. */
interface LoneCall {
  readonly slot: Slot;
  readonly name: RecordKey;
  readonly from: number;
  readonly to: number;
}

/**
 * When the models of one agent were working. The rows of a response share a message key. A model works from its
 * request until its last row; if the request is not recorded, from the agent's last input.
 * Steps and calls are added in order of time, and only the responses that they change are computed again.
 */
export class ModelTimes {
  readonly #list: SpanList;
  readonly #kept: number;
  /** Those that may still change; `#settledCount` others came before them. */
  readonly #responses: Response[] = [];
  #settledCount = 0;
  /** The beginning of the last settled response, and the latest end of all settled ones. */
  #settledUntil = Number.NEGATIVE_INFINITY;
  #settledDone = Number.NEGATIVE_INFINITY;
  readonly #settledNames = new NameTable();
  readonly #byName = new Map<RecordKey | number, number>();
  readonly #byKey = new Map<RecordKey, number>();
  /** Times of the agent's inputs, oldest first. */
  readonly inputs: number[] = [];
  readonly #changed = new Set<number>();
  #steps = 0;
  #closedCount = 0;
  readonly #lone: LoneCall[] = [];
  #loneDone = Number.NEGATIVE_INFINITY;
  /** Responses and lone calls with calls that may still change. */
  #withOpen: number[] = [];
  #openLone: LoneCall[] = [];
  /** Names of closed calls that no record has, and the latest time of such a call. */
  readonly #unnamed = new NameTable();
  #unnamedUntil = Number.NEGATIVE_INFINITY;
  /** A settled response would change: everything has to be computed again. */
  mustRestart = false;

  /** `kept`: the number of responses that are not settled. */
  constructor(list: SpanList, kept: number) {
    this.#list = list;
    this.#kept = kept;
  }

  #response(index: number): Response | undefined {
    return this.#responses[index - this.#settledCount];
  }

  /** The number of responses that began by this time. */
  #begunBy(at: number): number {
    return this.#settledCount + lowerBound(this.#responses, ({ first }) => first <= at);
  }

  /**
   * False after a step that assigns a closed call to another response, or for an older list of calls: everything has to
   * be computed again.
   */
  continuesWith(calls: Calls): boolean {
    return !this.mustRestart && closedIn(calls).count >= this.#closedCount;
  }

  /** The latest end of any response. */
  get done(): number {
    return Math.max(
      this.#responses.at(-1)?.done ?? this.#settledDone,
      this.#loneDone,
      ...this.#openLone.map(({ to }) => to),
    );
  }

  /** The time of each model call that is not settled, by its response. */
  *times(): Generator<readonly [RecordKey, { readonly from: number; readonly to: number }]> {
    for (const { closedNames, openNames, from, to } of this.#responses)
      for (const name of [...closedNames, ...openNames]) yield [name, { from, to }];
    for (const { name, from, to } of [...this.#lone, ...this.#openLone]) yield [name, { from, to }];
  }

  add(step: ObservationOf<"record">): void {
    const number = this.#steps;
    this.#steps += 1;
    if (step.at === null) return;
    for (const { at } of step.results) this.#addInput(at ?? step.at);
    if (step.role === "user" && step.state !== null) this.#addInput(step.at);
    if (step.role !== "assistant") return;
    const name = messageIn(step) ?? number;
    const index = this.#byName.get(name) ?? this.#begin(name, step.at);
    for (const key of step.keys) this.#addKey(key, index);
    const response = this.#response(index) as Response;
    response.last = Math.max(response.last, step.at);
    response.isSelfContained ||= step.results.length > 0;
    for (const { at } of step.calls) response.lastCall = Math.max(response.lastCall ?? 0, at ?? step.at);
    this.#changed.add(index);
  }

  #begin(name: RecordKey | number, at: number): number {
    const index = this.#settledCount + this.#responses.length;
    const times = { first: at, last: at, lastCall: null, from: at, to: at, done: Number.NEGATIVE_INFINITY };
    this.#responses.push({
      slot: slot(GROUP.response, index),
      ...times,
      isSelfContained: false,
      closed: NO_CALLS,
      calls: NO_CALLS,
      closedNames: [],
      openNames: [],
    });
    this.#byName.set(name, index);
    if (typeof name === "string" && this.#settledNames.has(name, SETTLED)) this.mustRestart = true;
    if (at <= this.#unnamedUntil) this.mustRestart = true;
    return index;
  }

  #addKey(key: RecordKey, index: number) {
    const known = this.#byKey.get(key);
    if (known === index) return;
    if (
      this.#unnamed.has(key, UNNAMED) ||
      this.#settledNames.has(key, SETTLED) ||
      (known !== undefined && this.#closedCount > 0)
    )
      this.mustRestart = true;
    if (known === undefined || known < index) this.#byKey.set(key, index);
  }

  #addInput(at: number) {
    const place = lowerBound(this.inputs, (other) => other <= at);
    this.inputs.splice(place, 0, at);
    this.#list.changedFrom = Math.min(this.#list.changedFrom, at);
    if (at <= this.#settledUntil) this.mustRestart = true;
    const until = this.inputs[place + 1] ?? Number.POSITIVE_INFINITY;
    const { length } = this.#responses;
    for (
      let i = lowerBound(this.#responses, ({ first }) => first < at);
      i < length && (this.#responses[i]?.first ?? 0) < until;
      i += 1
    )
      this.#changed.add(this.#settledCount + i);
  }

  /** Assigns every call to its response: by name, else to the last one that had begun. */
  assign(calls: Calls): void {
    const { count, from } = closedIn(calls);
    for (const index of this.#withOpen) {
      const response = this.#response(index) as Response;
      response.openNames = [];
      this.#setCalls(response, index, response.closed);
    }
    const before = this.#openLone;
    this.#withOpen = [];
    this.#openLone = [];
    let number = this.#closedCount;
    const loneCount = this.#lone.length;
    for (const call of from(this.#closedCount)) {
      this.#assignCall(call, number, number < count, before);
      number += 1;
    }
    this.#closedCount = count;
    const kept = new Set([...this.#openLone, ...this.#lone.slice(loneCount)].map((one) => one.slot));
    for (const one of before) if (!kept.has(one.slot)) this.#list.set(one.slot, null);
  }

  #assignCall(call: ModelCall, number: number, isClosed: boolean, before: readonly LoneCall[]) {
    const named = this.#byKey.get(call.response) ?? (call.rows === null ? undefined : this.#byKey.get(call.rows));
    const { at } = call;
    const index = named ?? (at === null ? -1 : this.#begunBy(at) - 1);
    if (index >= 0 && index < this.#settledCount) this.mustRestart = true;
    for (const name of [call.response, call.rows])
      if (named === undefined && name !== null && this.#settledNames.has(name, SETTLED)) this.mustRestart = true;
    if (isClosed && named === undefined) {
      this.#unnamed.add(call.response, UNNAMED);
      if (call.rows !== null) this.#unnamed.add(call.rows, UNNAMED);
      this.#unnamedUntil = Math.max(this.#unnamedUntil, at ?? this.#unnamedUntil);
    }
    const response = this.#response(index);
    if (response !== undefined) {
      this.#setCalls(response, index, plus(response.calls, call));
      if (isClosed) response.closed = response.calls;
      else this.#withOpen.push(index);
      (isClosed ? response.closedNames : response.openNames).push(call.response);
    } else if (at !== null) {
      const known = before.find((one) => one.slot.number === number);
      const lone = {
        slot: known?.slot ?? slot(GROUP.loneCall, number),
        name: call.response,
        from: Math.min(call.askedAt ?? at, at),
        to: at,
      };
      if (isClosed) this.#loneDone = Math.max(this.#loneDone, at);
      (isClosed ? this.#lone : this.#openLone).push(lone);
      this.#list.set(lone.slot, modelSpan(lone, plus(NO_CALLS, call)));
    }
  }

  #setCalls(response: Response, index: number, calls: CallSum) {
    response.calls = calls;
    this.#changed.add(index);
  }

  /** Computes what changed: a response, and those after it while their start changes. */
  compute(): void {
    for (const start of [...this.#changed].sort((a, b) => a - b)) {
      for (let i = start; this.#changed.has(i) || i > start; i += 1) {
        const response = this.#response(i);
        if (response === undefined) break;
        this.#changed.delete(i);
        if (!this.#place(response, this.#response(i - 1)?.done ?? this.#settledDone) && !this.#changed.has(i + 1))
          break;
      }
    }
  }

  /**
   * Reduces older responses to their spans and names, which no longer change; `mustRestart` is set if one would.
   * Call it after `compute`.
   */
  settle(): void {
    if (this.#responses.length < 2 * this.#kept) return;
    const open = Math.min(...this.#withOpen, ...this.#changed) - this.#settledCount;
    const settled = this.#responses.splice(0, Math.min(this.#responses.length - this.#kept, open));
    for (const { slot: at, first, done } of settled) {
      this.#list.settle(at);
      this.#settledUntil = first;
      this.#settledDone = done;
    }
    for (const one of this.#lone.splice(0)) this.#list.settle(one.slot);
    this.#settledCount += settled.length;
    for (const names of [this.#byName, this.#byKey])
      for (const [name, index] of names) {
        if (index >= this.#settledCount) continue;
        names.delete(name as RecordKey);
        if (typeof name === "string") this.#settledNames.add(name, SETTLED);
      }
  }

  /** Returns whether the latest end so far changed. */
  #place(response: Response, done: number): boolean {
    const { first, last, lastCall, isSelfContained, calls, done: before } = response;
    const lastInput = this.inputs[lowerBound(this.inputs, (at) => at <= first) - 1] ?? Number.NEGATIVE_INFINITY;
    const begun = calls.askedAt ?? Math.max(done, lastInput);
    response.to = isSelfContained ? (lastCall ?? last) : last;
    response.from = begun === Number.NEGATIVE_INFINITY || begun > response.to ? Math.min(first, response.to) : begun;
    response.done = Math.max(done, response.to);
    this.#list.set(response.slot, modelSpan(response, calls));
    return response.done !== before;
  }
}

function modelSpan(
  { from, to }: { readonly from: number; readonly to: number },
  { tokens, outputTokens, model, isCut }: CallSum,
): Span {
  return { ...BLANK, kind: "model", from, to, name: model, tokens, outputTokens, end: isCut ? "cut" : "done" };
}
