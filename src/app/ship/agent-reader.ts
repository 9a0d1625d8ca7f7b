import { type AgentKey, type RecordKey, recordIn } from "../../core/facts/ids.ts";
import { agentOf, type Forest } from "../../core/link/forest.ts";
import type { AgentEvent } from "../../core/views/event.ts";
import type { SharedCall, SharedReport } from "../../core/views/shared-tree.ts";
import type { Span } from "../../core/views/span.ts";
import { Timeline, workTimes } from "../../core/views/spans.ts";
import { callNames, callsOf } from "../export/story.ts";
import type { Library } from "../ingest/library.ts";
import { Generations } from "../query/event-log.ts";
import { EventReader } from "../query/events.ts";

/** New events of an agent; `isWhole` if they are all of its events, in their final order. */
export interface ReadEvents {
  readonly isWhole: boolean;
  readonly events: readonly AgentEvent[];
}

/** Reads one agent while its files grow: each call costs what is new. */
export class AgentReader {
  readonly #library: Library;
  readonly #key: AgentKey;
  #reader: EventReader;
  #generations = new Generations();
  #timeline: Timeline | null = null;
  /** By model call: the id of its first event. */
  readonly #firstOfCall = new Map<string, string>();
  /** By record: the ids of its events. */
  readonly #byRecord = new Map<RecordKey, string[]>();
  #isBegun = false;
  /** Number of events that were read. */
  count = 0;

  constructor(library: Library, key: AgentKey) {
    this.#library = library;
    this.#key = key;
    this.#reader = new EventReader(library);
  }

  async events(forest: Forest): Promise<ReadEvents> {
    const agent = agentOf(forest, this.#key);
    if (!this.#generations.areSame(this.#library, agent)) this.#startOver();
    const isWhole = !this.#isBegun;
    this.#isBegun = true;
    const names = callNames(agent);
    const placed = await this.#reader.nextPlaced(forest, [this.#key]);
    for (const { event, draft } of placed) {
      if (draft === null) continue;
      const record = recordIn(draft);
      if (record !== undefined) this.#byRecord.set(record, [...(this.#byRecord.get(record) ?? []), event.id]);
      const call = draft.response === null ? null : (names.get(draft.response) ?? draft.response);
      if (call !== null && !this.#firstOfCall.has(call)) this.#firstOfCall.set(call, event.id);
    }
    const events = placed.map(({ event }) => event).filter((event) => !isPassing(event, isWhole));
    this.count += events.length;
    return { isWhole, events };
  }

  #startOver(): void {
    this.#reader = new EventReader(this.#library);
    this.#generations = new Generations();
    this.#firstOfCall.clear();
    this.#byRecord.clear();
    this.#isBegun = false;
    this.count = 0;
  }

  /** All spans, and the position of the first one that may have changed since the last call. */
  spans(forest: Forest): { readonly spans: readonly Span[]; readonly from: number } {
    const edits = this.#timeline?.advance(forest) ?? null;
    if (this.#timeline !== null && edits !== null)
      return {
        spans: edits.length === 0 ? [] : this.#timeline.spans,
        from: Math.min(...edits.map(({ first }) => first)),
      };
    this.#timeline = new Timeline(forest, this.#key);
    return { spans: this.#timeline.spans, from: 0 };
  }

  /** After `events`: the model calls, each with its first event. Costs the whole agent. */
  calls(forest: Forest): readonly SharedCall[] {
    return callsOf(agentOf(forest, this.#key), workTimes(forest, this.#key), this.#library.price).map(
      ({ key, allOutput: _, wasCut: _cut, ...call }) => ({ ...call, event: this.#firstOfCall.get(key) ?? null }),
    );
  }

  /** After `events`: its events that report the end of other agents. */
  reports(reports: ReadonlyMap<RecordKey, readonly string[]>): readonly SharedReport[] {
    return [...reports].flatMap(([record, agents]) =>
      (this.#byRecord.get(record) ?? []).map((event) => ({ event, agents })),
    );
  }
}

/**
 * The record has the status of an agent that has not ended; its events are final. While a log grows, an end may be
 * followed by more work.
 */
const isPassing = ({ status }: AgentEvent, isWhole: boolean) =>
  status !== null && (!isWhole || status.status === "running" || status.status === "pendingInit");
