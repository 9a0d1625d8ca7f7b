import { detached } from "./text.ts";
import type { AgentEvent, SentEvent } from "./types.ts";

/** An event in memory: long texts are truncated and fetched again on demand. */
export interface KeptEvent extends SentEvent {
  /** Length of the full text, if it was truncated. */
  readonly fullText: number | null;
  /** The beginning of a tool input as text, if it was too long. */
  readonly inputHead: string | null;
}

const KEPT_TEXT = 8_000;
/** Texts shorter than this were not truncated by the server. */
const CUT_BY_SERVER = 19_000;
const KEPT_INPUT = 30_000;
/** Above this number of characters, only the beginning of further texts is kept. */
const ROOM_CHARS = 24_000_000;
const LITTLE = 300;

export function keepEvent(event: SentEvent, isCrowded = false): KeptEvent {
  const { text, tool } = event;
  const [textMax, inputMax] = isCrowded ? [LITTLE, LITTLE] : [KEPT_TEXT, KEPT_INPUT];
  const input = tool === null || tool.input === null || tool.input === undefined ? "" : JSON.stringify(tool.input);
  const isLong = input.length > inputMax;
  return {
    ...event,
    text: text === null ? null : detached(text, textMax),
    fullText: text === null ? null : fullLength(text, event.cut?.chars ?? null, textMax),
    tool: tool !== null && isLong ? { ...tool, input: null } : tool,
    inputHead: isLong ? detached(input, inputMax) : null,
  };
}

/** The server truncates very long texts and states their length. */
function fullLength(text: string, chars: number | null, max: number): number | null {
  if (chars !== null && text.length >= CUT_BY_SERVER) return Math.max(chars, text.length);
  return text.length > max ? text.length : null;
}

/** Events sorted by time, without duplicates, in any order of arrival. */
export class EventList {
  #items: KeptEvent[] = [];
  readonly #ids = new Set<string>();
  #chars = 0;

  get items(): readonly KeptEvent[] {
    return this.#items;
  }

  /** Returns whether anything was new. */
  add(events: readonly SentEvent[]): boolean {
    const fresh = events.filter((event) => !this.#ids.has(event.id));
    if (fresh.length === 0) return false;
    for (const event of fresh) this.#ids.add(event.id);
    const kept = fresh.map((event) => this.#keep(event)).sort(byTime);
    const last = this.#items.at(-1);
    const first = kept[0] as KeptEvent;
    this.#items = last === undefined || byTime(last, first) <= 0 ? this.#items.concat(kept) : merge(this.#items, kept);
    return true;
  }

  #keep(event: SentEvent): KeptEvent {
    const kept = keepEvent(event, this.#chars > ROOM_CHARS);
    this.#chars +=
      (kept.text?.length ?? 0) +
      (kept.inputHead?.length ?? 0) +
      (kept.tool?.input == null ? 0 : JSON.stringify(kept.tool.input).length);
    return kept;
  }
}

/** Events without a time stay after the event before them. */
function byTime(a: AgentEvent, b: AgentEvent): number {
  if (a.uri === b.uri) return a.seq - b.seq;
  return a.at === null || b.at === null || a.at === b.at ? 0 : a.at < b.at ? -1 : 1;
}

/** Merges two sorted lists; sorting a hundred thousand events again for each late one would be too slow. */
function merge(old: readonly KeptEvent[], more: readonly KeptEvent[]): KeptEvent[] {
  const merged: KeptEvent[] = [];
  let next = 0;
  for (const event of old) {
    for (let other = more[next]; other !== undefined && byTime(other, event) < 0; other = more[next]) {
      merged.push(other);
      next += 1;
    }
    merged.push(event);
  }
  return merged.concat(more.slice(next));
}
