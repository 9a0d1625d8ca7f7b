import { visible } from "../../core/visible.ts";

/** The text on one line, with control characters escaped. */
export function oneLine(text: string): string {
  return visible(text).replace(/\s+/g, " ").trim();
}
