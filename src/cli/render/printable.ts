import { visible } from "../../core/tools/visible.ts";

/** The text on one line, with control characters escaped. */
export function oneLine(text: string): string {
  return visible(text).replace(/\s+/g, " ").trim();
}
