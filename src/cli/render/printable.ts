/** One line, without what a terminal would obey: transcripts are shown as text, never run. */
export function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, " ").trim();
}

/** Keeps line breaks and tabs; every other control character would let a transcript move the cursor or change colours. */
export function printable(text: string): string {
  return text
    .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-_])/g, "")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "");
}
