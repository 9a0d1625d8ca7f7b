import { detached } from "./text.ts";
import type { AgentEvent, SentEvent } from "./types.ts";

/** An event in memory. Long texts are truncated; the full text is fetched on demand. */
export interface LoadedEvent extends SentEvent {
  /** Length of the full text, if it was truncated. */
  readonly fullText: number | null;
  /** The beginning of the tool input as JSON text, if the input was too long to keep. */
  readonly inputHead: string | null;
}

const MAX_TEXT = 8_000;
/** The server truncates only texts longer than this. */
const SERVER_MAX_TEXT = 19_000;
const MAX_INPUT = 30_000;
/** Beyond this total, further texts and inputs are truncated to `MAX_TEXT_IF_FULL`. */
const MAX_CHARS_IN_MEMORY = 24_000_000;
const MAX_TEXT_IF_FULL = 300;

export function loadedEvent(event: SentEvent, isMemoryFull = false): LoadedEvent {
  const { text, tool } = event;
  const [textMax, inputMax] = isMemoryFull ? [MAX_TEXT_IF_FULL, MAX_TEXT_IF_FULL] : [MAX_TEXT, MAX_INPUT];
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

/** The length of the full text if it was truncated here or by the server, which states the length in `cut`. */
function fullLength(text: string, chars: number | null, max: number): number | null {
  if (chars !== null && text.length >= SERVER_MAX_TEXT) return Math.max(chars, text.length);
  return text.length > max ? text.length : null;
}

/** Events sorted by time, without duplicates. They may arrive in any order. */
export class EventList {
  #items: LoadedEvent[] = [];
  readonly #ids = new Set<string>();
  #chars = 0;

  get items(): readonly LoadedEvent[] {
    return this.#items;
  }

  /** Returns whether anything was new. */
  add(events: readonly SentEvent[]): boolean {
    const fresh = events.filter((event) => !this.#ids.has(event.id));
    if (fresh.length === 0) return false;
    for (const event of fresh) this.#ids.add(event.id);
    const loaded = fresh.map((event) => this.#load(event)).sort(byTime);
    const last = this.#items.at(-1);
    const first = loaded[0] as LoadedEvent;
    this.#items =
      last === undefined || byTime(last, first) <= 0 ? this.#items.concat(loaded) : merge(this.#items, loaded);
    return true;
  }

  #load(event: SentEvent): LoadedEvent {
    const loaded = loadedEvent(event, this.#chars > MAX_CHARS_IN_MEMORY);
    this.#chars +=
      (loaded.text?.length ?? 0) +
      (loaded.inputHead?.length ?? 0) +
      (loaded.tool?.input == null ? 0 : JSON.stringify(loaded.tool.input).length);
    return loaded;
  }
}

/** Events without a time stay after the event before them. */
function byTime(a: AgentEvent, b: AgentEvent): number {
  if (a.uri === b.uri) return a.seq - b.seq;
  return a.at === null || b.at === null || a.at === b.at ? 0 : a.at < b.at ? -1 : 1;
}

/** Merges two sorted lists; sorting a hundred thousand events again for each late one would be too slow. */
function merge(old: readonly LoadedEvent[], more: readonly LoadedEvent[]): LoadedEvent[] {
  const merged: LoadedEvent[] = [];
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
