/** The text between the first `open` and the next `close`; null if there is no such pair. */
export function between(text: string, open: string, close: string): string | null {
  const start = text.indexOf(open);
  const end = start < 0 ? -1 : text.indexOf(close, start + open.length);
  return end < 0 ? null : text.slice(start + open.length, end);
}

/**
 * The text between `open` at the start and `close` at the end, ignoring whitespace; null if the text is not framed like
 * this.
 */
export function inside(text: string, open: RegExp, close: string): string | null {
  const trimmed = text.trim();
  const [tag] = open.exec(trimmed) ?? [];
  if (
    tag === undefined ||
    !trimmed.startsWith(tag) ||
    !trimmed.endsWith(close) ||
    tag.length + close.length > trimmed.length
  )
    return null;
  return trimmed.slice(tag.length, -close.length).trim();
}
