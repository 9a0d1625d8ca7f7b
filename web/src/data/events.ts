import { detached } from "./text.ts";
import type { AgentEvent, SentEvent } from "./types.ts";

/** An event as a page keeps it: long texts are cut, and asked for again when somebody wants to see all of them. */
export interface KeptEvent extends SentEvent {
  /** Length of the whole text, where it was cut. */
  readonly fullText: number | null;
  /** The input of a tool as text, where it was too long to keep. */
  readonly inputHead: string | null;
}

const KEPT_TEXT = 8_000;
/** Texts shorter than this were not shortened by the server. */
const CUT_BY_SERVER = 19_000;
const KEPT_INPUT = 30_000;
/** Once a page keeps this many characters, of what comes then only the beginnings are kept. */
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

/** The server shortens very long texts, and says how much there was in all. */
function fullLength(text: string, chars: number | null, max: number): number | null {
  if (chars !== null && text.length >= CUT_BY_SERVER) return Math.max(chars, text.length);
  return text.length > max ? text.length : null;
}

/** Events in order of time, each once, however often and in whatever order they arrive. */
export class EventList {
  #items: KeptEvent[] = [];
  readonly #ids = new Set<string>();
  #chars = 0;

  get items(): readonly KeptEvent[] {
    return this.#items;
  }

  /** Says whether anything was new. */
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
    this.#chars += (kept.text?.length ?? 0) + (kept.inputHead?.length ?? 0) + (kept.tool?.input == null ? 0 : JSON.stringify(kept.tool.input).length);
    return kept;
  }
}

/** What has no time stays behind what came before it. */
function byTime(a: AgentEvent, b: AgentEvent): number {
  if (a.uri === b.uri) return a.seq - b.seq;
  return a.at === null || b.at === null || a.at === b.at ? 0 : a.at < b.at ? -1 : 1;
}

/** Both are in order, so the result is; sorting a hundred thousand again for one that came late would not do. */
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
