import { type CallKey, messageIn, nativeCall } from "../facts/ids.ts";
import type { ObservationOf } from "../facts/observation.ts";
import type { WaitForPerson } from "../link/states.ts";
import { addTo } from "../tools/collections.ts";
import { NameTable } from "../tools/name-table.ts";
import { AGENTS, BLANK, type Span } from "./span.ts";
import { GROUP, type Slot, type SpanList, slot } from "./span-list.ts";

/** An agent, as seen by its parent. */
export interface Child {
  readonly uri: string;
  /** The calls that spawned or continued it. */
  readonly calls: readonly CallKey[];
  readonly to: number | null;
  /** Every time it ended; another call may have continued it afterwards. */
  readonly ends: readonly number[];
  readonly isRunning: boolean;
  readonly background: boolean;
}

/** What tool spans depend on besides the agent's own records. */
interface ToolContext {
  readonly children: readonly Child[];
  readonly isRunning: boolean;
  /** When the agent ended; null while it runs. */
  readonly end: number | null;
  readonly waiting: WaitForPerson | null;
}

interface Use {
  readonly slot: Slot;
  readonly call: CallKey;
  readonly name: string;
  readonly from: number;
  /** The time of the record with the call. */
  readonly madeAt: number | null;
  readonly awaitsAgents: boolean;
  waitsFor: string | null;
  to: number | null;
  isError: boolean;
}

const NOTHING: ToolContext = { children: [], isRunning: false, end: null, waiting: null };
const NO_USES: ReadonlySet<CallKey> = new Set();
/** The kind of a settled name. */
const SETTLED = { call: 1, response: 2 } as const;

/**
 * The tool calls of one agent, from call to result. Steps are added in order of time; only changed calls are computed
 * again.
 */
export class ToolUses {
  readonly #list: SpanList;
  readonly #kept: number;
  readonly #uses = new Map<CallKey, Use>();
  readonly #callsBy = new Map<string, CallKey[]>();
  readonly #unanswered = new Set<CallKey>();
  readonly #awaiting = new Set<CallKey>();
  readonly #changed = new Set<CallKey>();
  readonly #settled = new NameTable();
  #begun = 0;
  /** A settled call would change: everything has to be computed again. */
  mustRestart = false;
  #around = NOTHING;
  #spawnedBy: ReadonlyMap<CallKey, readonly Child[]> = new Map();
  /** The calls of the last response. */
  #last: ReadonlySet<CallKey> = NO_USES;
  #lastResponse: string | undefined;
  #open: ReadonlySet<CallKey> = NO_USES;

  /** `kept`: the number of calls that are not settled. */
  constructor(list: SpanList, kept: number) {
    this.#list = list;
    this.#kept = kept;
  }

  /** By the provider's id of each call that is not settled. */
  *times(): Generator<readonly [string, { readonly from: number; readonly to: number | null }]> {
    for (const { call, slot: at } of this.#uses.values())
      if (at.span !== null) yield [nativeCall(call), { from: at.span.from, to: at.span.to }];
  }

  add(step: ObservationOf<"record">): void {
    for (const { call, name, at = step.at, waitsFor = null, awaitsAgents = false } of step.calls) {
      if (this.#settled.has(call, SETTLED.call)) continue;
      const known = this.#uses.get(call);
      if (known !== undefined) known.waitsFor = waitsFor;
      else if (at !== null) {
        this.#begin({
          slot: slot(GROUP.tool, this.#begun),
          call,
          name,
          from: at,
          madeAt: step.at,
          to: null,
          isError: false,
          waitsFor,
          awaitsAgents,
        });
      }
      this.#changed.add(call);
    }
    this.#noteLast(step);
    for (const { call, isError, at = step.at } of step.results) {
      const use = this.#uses.get(call);
      if (use === undefined || use.to !== null || at === null) continue;
      Object.assign(use, { to: Math.max(use.from, at), isError });
      this.#unanswered.delete(call);
      this.#changed.add(call);
    }
  }

  /** Whether a step out of order gives the same spans as one in order: it only contains results of earlier calls. */
  acceptsLate({ role, calls, results, at }: ObservationOf<"record">): boolean {
    if (role === "assistant" || calls.length > 0) return false;
    return results.every(({ call }) => {
      if (this.#settled.has(call, SETTLED.call)) return false;
      const use = this.#uses.get(call);
      return use === undefined || (use.to === null && at !== null && use.madeAt !== null && use.madeAt < at);
    });
  }

  #begin(use: Use) {
    this.#begun += 1;
    this.#uses.set(use.call, use);
    this.#unanswered.add(use.call);
    if (use.awaitsAgents) this.#awaiting.add(use.call);
  }

  /** Only the calls of the last response can still be running. */
  #noteLast(record: ObservationOf<"record">) {
    const { role, calls } = record;
    if (calls.length === 0) return;
    const response = messageIn(record);
    if (response !== undefined && this.#settled.has(response, SETTLED.response)) this.mustRestart = true;
    const known = response === undefined ? [] : (this.#callsBy.get(response) ?? []);
    for (const { call } of calls) known.push(call);
    if (response !== undefined) this.#callsBy.set(response, known);
    if (role !== "assistant" && (response === undefined || response !== this.#lastResponse)) return;
    this.#lastResponse = response;
    this.#last = new Set(known);
  }

  compute(around: ToolContext): void {
    const before = this.#around;
    this.#around = around;
    const mark = (calls: Iterable<CallKey>) => {
      for (const call of calls) this.#changed.add(call);
    };
    if (before.end !== around.end) mark(this.#unanswered);
    const open = around.isRunning ? this.#last : NO_USES;
    if (open !== this.#open) {
      mark(this.#open);
      mark(open);
    }
    this.#open = open;
    for (const { waiting } of [before, around]) if (waiting?.call != null) this.#changed.add(waiting.call);
    if (!areSameChildren(before.children, around.children)) {
      mark(this.#awaiting);
      mark(this.#spawnedBy.keys());
      this.#spawnedBy = childrenByCall(around.children);
      mark(this.#spawnedBy.keys());
      this.mustRestart ||= this.#spawnedBy.keys().some((call) => this.#settled.has(call, SETTLED.call));
    }
    for (const call of this.#changed) {
      const use = this.#uses.get(call);
      if (use !== undefined) this.#list.set(use.slot, this.#span(use));
    }
    this.#changed.clear();
  }

  /**
   * Reduces older calls with a result to their spans and names, which no longer change; `mustRestart` is set if one
   * would. Call it after `compute`.
   */
  settle(): void {
    let left = this.#uses.size - this.#kept;
    if (left < this.#kept) return;
    for (const { call, to, awaitsAgents, slot: at } of this.#uses.values()) {
      if (left <= 0) break;
      left -= 1;
      if (to === null || awaitsAgents || this.#spawnedBy.has(call) || this.#last.has(call)) continue;
      this.#list.settle(at);
      this.#uses.delete(call);
      this.#settled.add(call, SETTLED.call);
    }
    left = this.#callsBy.size - this.#kept;
    for (const response of this.#callsBy.keys()) {
      if (left <= 0) break;
      left -= 1;
      if (response === this.#lastResponse) continue;
      this.#callsBy.delete(response);
      this.#settled.add(response, SETTLED.response);
    }
  }

  #span(use: Use): Span {
    const { children, end, waiting } = this.#around;
    const { call, from } = use;
    // A call without a result ended with its agent, unless a result may still arrive.
    const to = use.to ?? (this.#open.has(call) ? null : (end ?? from));
    const awaited = use.awaitsAgents
      ? children.filter((child) => isAwaited(child, from, to))
      : (this.#spawnedBy.get(call) ?? []);
    const isWaiting =
      awaited.length > 0 &&
      (use.awaitsAgents ||
        awaited.some((child) =>
          to === null ? !child.background : child.ends.some((ended) => ended > from && ended <= to),
        ));
    const heldFor = waiting?.call === call ? waiting.for : use.waitsFor;
    const held = to !== null || isWaiting ? null : heldFor;
    return {
      ...BLANK,
      kind: isWaiting || held !== null ? "wait" : "tool",
      from,
      to: to === null ? null : Math.max(from, to),
      name: held ?? (isWaiting ? AGENTS : use.name),
      callId: nativeCall(call),
      end: to === null ? null : use.to === null ? "cut" : use.isError ? "failed" : "done",
      agents: awaited.map((child) => child.uri),
    };
  }
}

/** It ended in the meantime, or has not ended yet. */
const isAwaited = ({ ends, isRunning }: Child, since: number, until: number | null) =>
  until === null ? isRunning : ends.some((end) => end > since && end <= until);

function childrenByCall(children: readonly Child[]): ReadonlyMap<CallKey, readonly Child[]> {
  const made = new Map<CallKey, Child[]>();
  for (const child of children) for (const call of child.calls) addTo(made, call, child);
  return made;
}

export const areSameChildren = (a: readonly Child[], b: readonly Child[]) =>
  a.length === b.length && a.every((one, i) => isSameChild(one, b[i] as Child));

const isSameChild = (a: Child, b: Child) =>
  a.uri === b.uri &&
  a.to === b.to &&
  a.isRunning === b.isRunning &&
  a.background === b.background &&
  isEqual(a.calls, b.calls) &&
  isEqual(a.ends, b.ends);

const isEqual = <T>(a: readonly T[], b: readonly T[]) => a.length === b.length && a.every((one, i) => one === b[i]);
