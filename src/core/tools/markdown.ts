import { visible } from "./visible.ts";

/**
 * Embeds untrusted text in Markdown, such that viewers that allow raw HTML run and load nothing of it, and the text
 * cannot end its context.
 */

/**
 * Lists, emphasis, web links and complete fences work. Tags, images, other links and unclosed fences (which would
 * include the following text) are shown as text; as entities, because a backslash after `\\` would not escape.
 */
export function proseMarkdown(text: string): string {
  const lines = visible(text).split("\n");
  const endOf = fenceEnds(lines);
  let fenced = -1;
  return lines
    .map((line, at) => {
      if (at > fenced) fenced = endOf(at) ?? fenced;
      return at <= fenced ? line : inert(line);
    })
    .join("\n");
}

const inert = (line: string) =>
  line
    .replace(
      /^([\s>*+\-\d.)]*)([`~])(?=\2\2)/,
      (_, before: string, mark: string) => `${before}&#${mark.charCodeAt(0)};`,
    )
    .replace(/<(?=[a-z/!?])/gi, "&lt;")
    .replaceAll("![", "!&#91;")
    .replace(/\](?=[[:]|\((?!https?:\/\/))/g, "&#93;");

/** The closing line of a fence. The fence must begin in the first column, where it is one in any context. */
function fenceEnds(lines: readonly string[]): (at: number) => number | null {
  /** Fences of this length and longer have no end; each is searched once. */
  const endless = new Map<string, number>();
  return (at) => {
    const [, fence = ""] = /^(`{3,}(?=[^`]*$)|~{3,})/.exec(lines[at] ?? "") ?? [];
    const mark = fence.charAt(0);
    if (fence === "" || fence.length >= (endless.get(mark) ?? Number.POSITIVE_INFINITY)) return null;
    for (let end = at + 1; end < lines.length; end += 1) {
      const [, closing = ""] = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(lines[end] ?? "") ?? [];
      if (closing.startsWith(fence)) return end;
    }
    endless.set(mark, fence.length);
    return null;
  };
}

/** The fence is longer than any in the text. */
export function fencedMarkdown(text: string, language = ""): string {
  const shown = visible(text);
  const fence = "`".repeat(longestRun(shown, 2) + 1);
  return `${fence}${language}\n${shown}\n${fence}`;
}

/** A code span on one line, with longer delimiters than any in the text. */
export function codeMarkdown(text: string): string {
  const shown = visible(text).replaceAll("\n", " ");
  const mark = "`".repeat(longestRun(shown, 0) + 1);
  const gap = mark === "`" && shown !== "" ? "" : " ";
  return `${mark}${gap}${shown}${gap}${mark}`;
}

const longestRun = (text: string, least: number) =>
  (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), least);
