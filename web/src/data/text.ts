import { visible } from "../../../src/core/visible.ts";

export { visible };

/** The beginning of a text on one line. Looks at no more of it than it needs. */
export function oneLine(text: string, max = 200): string {
  const flat = visible(text.slice(0, max * 4))
    .replace(/\s+/g, " ")
    .trim();
  return flat.length > max || text.length > max * 4 ? `${cutAt(flat, max)}…` : flat;
}

/** At most so many characters, without cutting one in half. */
export function cutAt(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max);
}

/** A cut text that does not keep the whole one in memory. */
export function detached(text: string, max: number): string {
  return text.length <= max ? text : (JSON.parse(JSON.stringify(cutAt(text, max))) as string);
}
