import { visible } from "../../core/visible.ts";

/** One line, without what a terminal would obey: transcripts are shown as text, never run. */
export function oneLine(text: string): string {
  return visible(text).replace(/\s+/g, " ").trim();
}
