/** Numbers and times the way people read them. Unknown is a dash, never a zero. */
export const UNKNOWN = "–";

const SCALES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
] as const;

export function count(n: number): string {
  const scale = SCALES.find(([size]) => n >= size);
  if (scale === undefined) return String(n);
  const value = n / scale[0];
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)}${scale[1]}`;
}

export function money(usd: number | null): string {
  if (usd === null) return UNKNOWN;
  if (usd === 0) return "$0";
  return usd < 1 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

export function duration(ms: number | null): string {
  if (ms === null) return UNKNOWN;
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))}ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  const [minutes, hours, days] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600), Math.floor(seconds / 86_400)];
  if (minutes < 60) return `${minutes}m${two(seconds % 60)}s`;
  return hours < 48 ? `${hours}h${two(minutes % 60)}m` : `${days}d${two(hours % 24)}h`;
}

const two = (n: number) => String(Math.floor(n)).padStart(2, "0");

export function ago(at: string | null, now: number): string {
  if (at === null) return UNKNOWN;
  const seconds = Math.max(0, (now - Date.parse(at)) / 1_000);
  if (seconds < 60) return "just now";
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h ago`;
  return seconds < 30 * 86_400 ? `${Math.floor(seconds / 86_400)}d ago` : at.slice(0, 10);
}

export const plural = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;

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
