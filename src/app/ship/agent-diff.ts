import { LIST_PART, type ListDocument, type SharedDetails, type ShipmentDocument } from "../../core/ports/shipment.ts";
import type { AgentShipped } from "../../core/ports/shipped.ts";
import type { Redactor } from "../../core/redaction/redaction.ts";
import { hash } from "../../core/tools/hash.ts";
import { printJson } from "../../core/tools/json.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import type { AgentEvent } from "../../core/views/event.ts";
import type { SharedCall } from "../../core/views/shared-tree.ts";
import type { Span } from "../../core/views/span.ts";
import type { ReadEvents } from "./agent-reader.ts";

type WithoutRevision<D> = D extends ShipmentDocument ? Omit<D, "revision"> : never;
/** A document that has no revision yet. */
export type Draft = WithoutRevision<ShipmentDocument>;

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer I)[] ? I[] : T[K] };

/**
 * Compares an agent with what was acknowledged, and yields what is new. What was acknowledged is compared by hashes of
 * the content before redaction, so that only what is sent is redacted; `salt` stands for the redaction rules.
 */
export class AgentDiff {
  readonly #thread: string;
  readonly #agent: string;
  readonly #salt: string;
  readonly #redactor: Redactor;
  readonly #state: Mutable<AgentShipped>;

  constructor(
    at: { readonly thread: string; readonly agent: string },
    known: AgentShipped | undefined,
    redaction: { readonly salt: string; readonly redactor: Redactor },
  ) {
    this.#thread = at.thread;
    this.#agent = at.agent;
    this.#salt = redaction.salt;
    this.#redactor = redaction.redactor;
    this.#state =
      known === undefined
        ? { record: 0, events: 0, marks: [], recent: [], spans: [], calls: [], details: {} }
        : {
            ...known,
            marks: [...known.marks],
            recent: [...known.recent],
            spans: [...known.spans],
            calls: [...known.calls],
          };
  }

  /** What will have been acknowledged, once everything is that was yielded so far. */
  get state(): AgentShipped {
    const { marks, recent, spans, calls, details, ...rest } = this.#state;
    return {
      ...rest,
      marks: [...marks],
      recent: [...recent],
      spans: [...spans],
      calls: [...calls],
      details: { ...details },
    };
  }

  #hash(value: unknown): number {
    return hash(`${this.#salt} ${printJson(value)}`);
  }

  *record(record: AgentRecord, place: number): Generator<Draft> {
    const now = this.#hash([record, place]);
    if (now === this.#state.record) return;
    this.#state.record = now;
    const { parent } = record;
    yield {
      is: "agent",
      thread: this.#thread,
      uri: this.#agent,
      parent,
      place,
      record: this.#redactor.agent(record),
    };
  }

  /** The events stay as they are at the server: this machine can no longer read them. */
  keepEvents(): void {
    // After the server has lost shipments, it is not known how many it has.
    if (this.#state.events === 0) this.#state.hasMore = true;
  }

  *events({ isWhole, events }: ReadEvents, redact: (event: AgentEvent) => AgentEvent): Generator<Draft> {
    const state = this.#state;
    const texts = events.map((event) => printJson({ ...event, seq: 0 }));
    let first = 0;
    if (isWhole) {
      first = this.#same(texts);
      // Also those that are not sent again: a later result may belong to an earlier call.
      for (const event of events.slice(0, first)) redact(event);
      if (first < state.events || state.hasMore === true) {
        state.hasMore = false;
        state.marks.length = Math.min(state.marks.length, Math.floor(first / LIST_PART));
        state.recent.length = Math.min(state.recent.length, first - state.marks.length * LIST_PART);
        state.events = first;
        yield { is: "events-from", thread: this.#thread, agent: this.#agent, at: first };
      }
    }
    for (const [i, event] of events.entries()) {
      if (i < first) continue;
      const at = state.events;
      state.recent.push(chained(this.#tail, texts[i] ?? ""));
      state.events = at + 1;
      if (state.recent.length === LIST_PART) state.marks.push(state.recent.splice(0).at(-1) ?? 0);
      const redacted = redact({ ...event, seq: at + 1 });
      yield { is: "event", thread: this.#thread, agent: this.#agent, at, event: redacted };
    }
  }

  /** The chained hash over all events. */
  get #tail(): number {
    return this.#state.recent.at(-1) ?? this.#state.marks.at(-1) ?? hash(this.#salt);
  }

  /** How many of the first events are those that were acknowledged; before the last mark a multiple of `LIST_PART`. */
  #same(texts: readonly string[]): number {
    const { events, marks, recent } = this.#state;
    let [now, same] = [hash(this.#salt), 0];
    for (const [i, text] of texts.entries()) {
      if (i === events) break;
      now = chained(now, text);
      const count = i + 1;
      const isPastMarks = count > marks.length * LIST_PART;
      if (!isPastMarks && count % LIST_PART !== 0) continue;
      const known = isPastMarks ? recent[count - marks.length * LIST_PART - 1] : marks[count / LIST_PART - 1];
      if (known !== now) return same;
      same = count;
    }
    return same;
  }

  /** `from`: the position of the first item that may have changed. */
  *list(is: ListDocument["is"], items: readonly Span[] | readonly SharedCall[], from = 0): Generator<Draft> {
    const known = this.#state[is];
    if (from === Number.POSITIVE_INFINITY) return;
    const parts = Math.ceil(items.length / LIST_PART);
    for (let i = Math.floor(from / LIST_PART); i < Math.max(parts, known.length); i += 1) {
      const part = items.slice(i * LIST_PART, (i + 1) * LIST_PART) as typeof items;
      const now = this.#hash(part);
      if (part.length > 0 && known[i] === now) continue;
      known[i] = now;
      yield { is, thread: this.#thread, agent: this.#agent, at: i * LIST_PART, items: this.#redacted(is, part) };
    }
    known.length = Math.max(parts, 0);
  }

  #redacted(is: ListDocument["is"], items: readonly Span[] | readonly SharedCall[]): ListDocument["items"] {
    return is === "spans"
      ? (items as readonly Span[]).map((span) => this.#redactor.span(span))
      : (items as readonly SharedCall[]).map((call) => this.#redactor.sharedCall(call));
  }

  /** `isEmpty`: nothing is sent if nothing was sent before. */
  *detail<K extends keyof SharedDetails>(
    what: K,
    value: SharedDetails[K],
    redact: (value: SharedDetails[K]) => SharedDetails[K] = (same) => same,
  ): Generator<Draft> {
    const { details } = this.#state;
    const now = this.#hash(value);
    if (details[what] === now || (details[what] === undefined && Array.isArray(value) && value.length === 0)) return;
    this.#state.details = { ...details, [what]: now };
    yield { is: "detail", thread: this.#thread, agent: this.#agent, what, value: redact(value) };
  }
}

const chained = (before: number, text: string) => hash(`${before} ${text}`);
