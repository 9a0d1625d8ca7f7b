/** Transcripts are hostile input. What these functions return is safe to show as text: it hides nothing and changes nothing around it. */

/** Colours, cursor movements, titles and links of terminals, ended or not. */
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]?|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~]?)|\u009b[0-?]*[ -/]*[@-~]?/g;
/** Characters that turn the order of text around, are invisible letters, or break lines without looking like it. */
const DECEIVING = /[\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Nothing that deceives the eye: codes of terminals are left out, characters one cannot see are named. */
export function visible(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(ANSI, "")
    .replace(DECEIVING, (char) => `‹U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`)
    .replace(CONTROL, (char) => (char < " " ? String.fromCharCode(0x2400 + char.charCodeAt(0)) : "·"));
}

/** The beginning of a text on one line. Looks at no more of it than it needs. */
export function oneLine(text: string, max = 200): string {
  const flat = visible(text.slice(0, max * 4))
    .replace(/\s+/g, " ")
    .trim();
  return flat.length > max || text.length > max * 4 ? `${cutAt(flat, max)}…` : flat;
}

/** At most so many characters, without cutting one in half. */
export function cutAt(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max);
}

/** A cut text that does not keep the whole one in memory. */
export function detached(text: string, max: number): string {
  return text.length <= max ? text : (JSON.parse(JSON.stringify(cutAt(text, max))) as string);
}
