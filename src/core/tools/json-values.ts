/**
 * The objects of a text, concatenated or in an array, one line each. Line breaks are removed, which JSON does not allow
 * inside of strings. Null if anything else is between them. A truncated last object is omitted.
 */
export function valuesIn(bytes: Uint8Array): readonly string[] | null {
  const text = new TextDecoder(encodingOf(bytes)).decode(bytes);
  const values: string[] = [];
  let depth = 0;
  let isList = false;
  let start = 0;
  let after = 0;
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\[\s\S][^"\\]*)*"|[{}[\]]/g)) {
    if (depth === 0 && !isList && values.length === 0 && token === "[") {
      isList = true;
      after = index + 1;
    } else if (token === "{" || token === "[") {
      if (depth === 0) start = index;
      if (depth === 0 && !/^[\s,]*$/.test(text.slice(after, index))) return null;
      depth += 1;
    } else if (token === "}" || token === "]") {
      depth -= 1;
      if (depth < 0) break;
      after = index + 1;
      if (depth === 0) values.push(text.slice(start, after).replace(/[\r\n]+\s*/g, " "));
    } else if (depth === 0) return null;
  }
  return values.length === 0 ? null : values;
}

function encodingOf([first, second]: Uint8Array): string {
  return first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}
