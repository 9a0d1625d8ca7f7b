import { escapeHidden } from "../../core/tools/visible.ts";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for elements and attributes. Control and invisible characters are shown as escape sequences. */
export function escaped(text: string): string {
  return escapeHidden(text.toWellFormed().replace(/\r\n?/g, "\n")).replace(
    /[&<>"']/g,
    (char) => ENTITIES[char] ?? char,
  );
}
