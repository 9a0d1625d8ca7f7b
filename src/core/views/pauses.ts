import { lowerBound } from "../tools/collections.ts";
import { AGENTS, BLANK } from "./span.ts";
import { GROUP, type Slot, type SpanList, slot } from "./span-list.ts";
import { areSameChildren, type Child } from "./tool-uses.ts";

interface End {
  readonly end: number;
  readonly uri: string;
}

/** Pauses between a response and the agent's next input: agents that ended then were waited for. */
export class Pauses {
  readonly #list: SpanList;
  /** Keyed by the time of the agent's input. */
  readonly #slots = new Map<number, Slot>();
  readonly #openWait = slot(GROUP.wait, Number.MAX_SAFE_INTEGER);
  #children: readonly Child[] = [];
  #ends: readonly End[] = [];

  constructor(list: SpanList) {
    this.#list = list;
  }

  /** Whether the agent waits for others now. */
  get isWaiting(): boolean {
    return this.#openWait.span !== null;
  }

  /** Computes the pauses since the earliest change. */
  compute(asked: readonly number[], children: readonly Child[], isRunning: boolean): void {
    const since = Math.min(this.#list.changedFrom, this.#setChildren(children));
    this.#list.changedFrom = Number.POSITIVE_INFINITY;
    if (children.length === 0 && this.#slots.size === 0 && !this.isWaiting) return;
    for (let i = lowerBound(asked, (at) => at < since); i < asked.length; i += 1) {
      const at = asked[i] as number;
      if (asked[i + 1] !== at) this.#pause(at, asked[lowerBound(asked, (other) => other < at) - 1]);
    }
    const last = this.#list.reach(Number.POSITIVE_INFINITY) ?? Number.NEGATIVE_INFINITY;
    const isIdle = isRunning && Number.isFinite(last) && last >= (asked.at(-1) ?? Number.NEGATIVE_INFINITY);
    const awaited = isIdle ? children.filter((child) => child.isRunning).map(({ uri }) => uri) : [];
    const agents = [...new Set(awaited)];
    this.#list.set(
      this.#openWait,
      agents.length === 0 ? null : { ...BLANK, kind: "wait", from: last, to: null, name: AGENTS, end: null, agents },
    );
  }

  /** Returns the earliest end that changed. */
  #setChildren(children: readonly Child[]): number {
    if (areSameChildren(this.#children, children)) return Number.POSITIVE_INFINITY;
    this.#children = children;
    const before = this.#ends;
    this.#ends = children.flatMap(({ uri, ends }) => ends.map((end) => ({ end, uri }))).sort((a, b) => a.end - b.end);
    const first = this.#ends.findIndex(({ end, uri }, i) => end !== before[i]?.end || uri !== before[i]?.uri);
    const place = first < 0 ? this.#ends.length : first;
    return Math.min(this.#ends[place]?.end ?? Number.POSITIVE_INFINITY, before[place]?.end ?? Number.POSITIVE_INFINITY);
  }

  /**
   * From the end of all work that began before an input until that input; `before` is the time of the previous input.
   */
  #pause(at: number, before: number | undefined) {
    const worked = this.#list.reach(at);
    const isAfterWork = before !== undefined && this.#list.reach(before) !== null;
    const from = worked === null ? null : Math.max(worked, isAfterWork ? before : worked);
    const known = this.#slots.get(at);
    const span = from === null || from >= at ? null : this.#wait(from, at);
    if (span === null && known === undefined) return;
    const place = known ?? slot(GROUP.wait, at);
    this.#list.set(place, span);
    if (span === null) this.#slots.delete(at);
    else this.#slots.set(at, place);
  }

  #wait(from: number, to: number) {
    const first = lowerBound(this.#ends, ({ end }) => end <= from);
    const ended = this.#ends.slice(
      first,
      lowerBound(this.#ends, ({ end }) => end <= to),
    );
    const last = ended.at(-1);
    if (last === undefined) return null;
    return {
      ...BLANK,
      kind: "wait",
      from,
      to: last.end,
      name: AGENTS,
      end: "done",
      agents: [...new Set(ended.map(({ uri }) => uri))],
    } as const;
  }
}
