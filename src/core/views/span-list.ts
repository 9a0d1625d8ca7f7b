import { lowerBound } from "../tools/collections.ts";
import { SettledSpans } from "./settled-spans.ts";
import { isSame, SPAN_KINDS, type Span } from "./span.ts";

/** Replaces `removed` spans of a list, from position `first` on. */
export interface SpanEdit {
  readonly first: number;
  readonly removed: number;
  readonly spans: readonly Span[];
}

/** For equal time and kind, spans of a lower group come first, then those of a lower number. */
export const GROUP = { response: 0, loneCall: 1, tool: 2, wait: 3, now: 4 } as const;

/** A slot for one span, which may change or be absent. */
export interface Slot {
  readonly group: (typeof GROUP)[keyof typeof GROUP];
  readonly number: number;
  span: Span | null;
}

export const slot = (group: Slot["group"], number: number): Slot => ({ group, number, span: null });

/** Spans by time, with the edits between two states of the list. */
export class SpanList {
  /** Spans that no longer change are represented by their numbers in `#settled`. */
  readonly #slots: (Slot | number)[] = [];
  readonly #settled = new SettledSpans();
  #edits: { first: number; removed: number; spans: Span[] }[] = [];
  /** The latest end of the work up to each position; valid before `#reachesTo`. */
  readonly #reaches: number[] = [];
  #reachesTo = 0;
  /** Number of spans computed so far. */
  computed = 0;
  /** Model and tool spans that are still open. */
  openCount = 0;
  /** The earliest moment at which work changed since `settle`. */
  changedFrom = Number.POSITIVE_INFINITY;

  get spans(): Span[] {
    return this.#slots.map((one) => (typeof one === "number" ? this.#settled.span(one) : (one.span as Span)));
  }

  get length(): number {
    return this.#slots.length;
  }

  set(at: Slot, span: Span | null): void {
    this.computed += 1;
    if (at.span === span || (at.span !== null && span !== null && isSame(at.span, span))) return;
    if (at.span !== null) this.#remove(at, at.span);
    at.span = span;
    if (span !== null) this.#insert(at, span);
  }

  /** The span of this slot will not change any more: from now on it takes little memory. */
  settle(at: Slot): void {
    if (at.span === null || at.span.to === null) return;
    this.#slots[this.#placeOf(at)] = this.#settled.add(at, at.span);
  }

  /** The edits since the last call, to be applied in order. */
  takeEdits(): readonly SpanEdit[] {
    const edits = this.#edits.filter(({ removed, spans }) => removed > 0 || spans.length > 0);
    this.#edits = [];
    return edits;
  }

  /** The latest end of all work that began before this moment; null if there is none. */
  reach(before: number): number | null {
    const count = lowerBound(this.#slots, (one) => this.#orderOf(one).from < before);
    if (count === 0) return null;
    for (; this.#reachesTo < count; this.#reachesTo += 1) {
      const { to, group } = this.#orderOf(this.#slots[this.#reachesTo] as Slot | number);
      const end = isWork(group) ? (to ?? Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY;
      this.#reaches[this.#reachesTo] = Math.max(end, this.#reaches[this.#reachesTo - 1] ?? Number.NEGATIVE_INFINITY);
    }
    const found = this.#reaches[count - 1] ?? Number.NEGATIVE_INFINITY;
    return found === Number.NEGATIVE_INFINITY ? null : found;
  }

  #placeOf(at: Slot): number {
    const order = this.#orderOf(at);
    return lowerBound(this.#slots, (other) => byOrder(this.#orderOf(other), order) < 0);
  }

  #orderOf(one: Slot | number): Order {
    if (typeof one === "number") return this.#settled.order(one);
    const { from, to, kind } = one.span as Span;
    return { from, to, kind: SPAN_KINDS.indexOf(kind), group: one.group, number: one.number };
  }

  #remove(at: Slot, span: Span) {
    const position = this.#placeOf(at);
    this.#slots.splice(position, 1);
    this.#note(at, span, -1, position);
    const last = this.#edits.at(-1);
    const within = last === undefined ? -1 : position - last.first;
    if (last !== undefined && within >= 0 && within < last.spans.length) last.spans.splice(within, 1);
    else if (last !== undefined && within === last.spans.length) last.removed += 1;
    else this.#edits.push({ first: position, removed: 1, spans: [] });
  }

  #insert(at: Slot, span: Span) {
    const position = this.#placeOf(at);
    this.#slots.splice(position, 0, at);
    this.#note(at, span, 1, position);
    const last = this.#edits.at(-1);
    const within = last === undefined ? -1 : position - last.first;
    if (last !== undefined && within >= 0 && within <= last.spans.length) last.spans.splice(within, 0, span);
    else this.#edits.push({ first: position, removed: 0, spans: [span] });
  }

  #note({ group }: Slot, { from, to }: Span, step: 1 | -1, position: number) {
    this.#reachesTo = Math.min(this.#reachesTo, position);
    if (!isWork(group)) return;
    if (to === null) this.openCount += step;
    this.changedFrom = Math.min(this.changedFrom, from);
  }
}

const isWork = (group: Slot["group"]) => group < GROUP.wait;

/** The sort key of a span in the list. */
export interface Order extends Pick<Slot, "group" | "number"> {
  readonly from: number;
  readonly to: number | null;
  /** Its number in `SPAN_KINDS`. */
  readonly kind: number;
}

const byOrder = (a: Order, b: Order) =>
  a.from - b.from || a.kind - b.kind || (a.to ?? 0) - (b.to ?? 0) || a.group - b.group || a.number - b.number;
