import { visible } from "./visible.ts";

/** Other people's text as a part of a Markdown document. A viewer that passes raw HTML on runs and loads nothing of it, and no text ends what it stands in. */

/** Lists, emphasis and web links work. Tags, images, and links that are not to the web are shown as text; as entities, because a backslash before `\` would not escape. */
export const proseMarkdown = (text: string): string =>
  visible(text)
    .replace(/<(?=[a-z/!?])/gi, "&lt;")
    .replaceAll("![", "!&#91;")
    .replace(/\](?=[[:]|\((?!https?:\/\/))/g, "&#93;");

/** A fence is longer than any in what it holds. */
export function fencedMarkdown(text: string, language = ""): string {
  const shown = visible(text);
  const fence = "`".repeat(longestRun(shown, 2) + 1);
  return `${fence}${language}\n${shown}\n${fence}`;
}

/** A code span on one line, with longer marks than any in what it holds. */
export function codeMarkdown(text: string): string {
  const shown = visible(text).replaceAll("\n", " ");
  const mark = "`".repeat(longestRun(shown, 0) + 1);
  const gap = mark === "`" && shown !== "" ? "" : " ";
  return `${mark}${gap}${shown}${gap}${mark}`;
}

const longestRun = (text: string, least: number) => (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), least);
