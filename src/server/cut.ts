import type { AgentEvent } from "../core/views/event.ts";

/** An event in a list: long texts are truncated, and their full length is given. */
export interface ShortEvent extends AgentEvent {
  readonly cut: { readonly chars: number } | null;
}

const MAX_CHARS = 20_000;

/** The event with all of its text. */
export const whole = (event: AgentEvent): ShortEvent => shortened(event, Number.MAX_VALUE);

export function shortened(event: AgentEvent, max = MAX_CHARS): ShortEvent {
  const { text, tool, spawn } = event;
  const inputChars = charsIn(tool?.input);
  const chars = (text?.length ?? 0) + inputChars + (spawn?.prompt?.length ?? 0);
  if (chars <= max) return { ...event, cut: null };
  return {
    ...event,
    text: text && begin(text, max),
    tool: tool && { ...tool, input: inputChars <= max ? tool.input : cutInput(tool.input, max) },
    spawn: spawn && { ...spawn, prompt: spawn.prompt && begin(spawn.prompt, max) },
    cut: { chars: Number.isFinite(chars) ? chars : 0 },
  };
}

/** The first `max` characters. Does not split a surrogate pair. */
function begin(text: string, max: number): string {
  if (text.length <= max) return text;
  const code = text.charCodeAt(max - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? max - 1 : max);
}

/** Deeper than the input of any tool. JSON.stringify would overflow the stack on deeper values. */
const MAX_DEPTH = 100;

/** Number of characters in a value; infinite if it is nested too deeply. */
function charsIn(value: unknown): number {
  let chars = 0;
  const left = [{ value, depth: 0 }];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    if (typeof one.value === "string") chars += one.value.length;
    if (typeof one.value !== "object" || one.value === null) continue;
    if (one.depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
    for (const [key, inner] of Object.entries(one.value)) {
      chars += key.length;
      left.push({ value: inner, depth: one.depth + 1 });
    }
  }
  return chars;
}

/** Truncates long strings one by one. If the value is still too long, returns truncated JSON. */
function cutInput(input: unknown, max: number): unknown {
  if (charsIn(input) === Number.POSITIVE_INFINITY) return "(nested too deeply to show)";
  if (typeof input === "string") return begin(input, max);
  if (typeof input !== "object" || input === null || Array.isArray(input)) return begin(JSON.stringify(input), max);
  const each = Math.floor(max / 4);
  const cut = Object.fromEntries(
    Object.entries(input).map(([key, value]) => [key, typeof value === "string" ? begin(value, each) : value]),
  );
  return charsIn(cut) <= max ? cut : begin(JSON.stringify(cut), max);
}

export const cutTo = (text: string, length: number) => (text.length <= length ? text : `${text.slice(0, length)}…`);
