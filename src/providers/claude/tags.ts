/** What stands between the first `open` and the next `close`; null where there is no such pair. */
export function between(text: string, open: string, close: string): string | null {
  const start = text.indexOf(open);
  const end = start < 0 ? -1 : text.indexOf(close, start + open.length);
  return end < 0 ? null : text.slice(start + open.length, end);
}

/** What stands between `open` at the beginning and `close` at the end, blanks aside; null for a text that is not framed so. */
export function inside(text: string, open: RegExp, close: string): string | null {
  const trimmed = text.trim();
  const [tag] = open.exec(trimmed) ?? [];
  if (tag === undefined || !trimmed.startsWith(tag) || !trimmed.endsWith(close) || tag.length + close.length > trimmed.length) return null;
  return trimmed.slice(tag.length, -close.length).trim();
}
