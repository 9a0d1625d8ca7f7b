import { visible } from "../../../src/core/tools/visible.ts";

export { visible };

/** The beginning of a text on one line. Reads at most four times as many characters as it returns. */
export function oneLine(text: string, max = 200): string {
  const flat = visible(text.slice(0, max * 4))
    .replace(/\s+/g, " ")
    .trim();
  return flat.length > max || text.length > max * 4 ? `${cutAt(flat, max)}…` : flat;
}

/** At most `max` characters, without splitting a surrogate pair. */
export function cutAt(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max);
}

/** A truncated copy. A slice would keep the full text in memory. */
export function detached(text: string, max: number): string {
  return text.length <= max ? text : (JSON.parse(JSON.stringify(cutAt(text, max))) as string);
}
