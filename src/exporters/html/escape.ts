import { escapeHidden } from "../../core/visible.ts";

const MEANING: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Text as text: nothing in it is markup, in an element or in an attribute. Control characters and those that nobody sees are shown as escape sequences. */
export function escaped(text: string): string {
  return escapeHidden(text.toWellFormed().replace(/\r\n?/g, "\n")).replace(/[&<>"']/g, (sign) => MEANING[sign] ?? sign);
}
