/** Numbers and times in words people read at a glance. Unknown is a dash. */
export const UNKNOWN = "–";

const UNITS = ["", "k", "M", "G", "T"] as const;

/** 999, 1.2k, 34.5k, 1.2M. */
export function count(n: number | null): string {
  if (n === null) return UNKNOWN;
  let value = n;
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? String(Math.round(value)) : `${value < 99.95 ? value.toFixed(1) : Math.round(value)}${UNITS[unit]}`;
}

const whole = new Intl.NumberFormat("en-US");
export const exact = (n: number) => whole.format(n);

/** Cents where they matter, and never 0.00 for something that cost money. */
export function dollars(usd: number | null): string {
  if (usd === null) return UNKNOWN;
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "<$0.0001";
  return `$${usd < 0.1 ? usd.toFixed(4) : usd < 1000 ? usd.toFixed(2) : whole.format(Math.round(usd))}`;
}

export function bytes(n: number): string {
  return n < 1000 ? `${n} B` : `${count(n).replace(/[a-zA-Z]/, " $&")}B`;
}

export function duration(ms: number | null): string {
  if (ms === null) return UNKNOWN;
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 10) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, "0")}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h ${String(minutes % 60).padStart(2, "0")}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

export function ago(at: string | null, now: number): string {
  if (at === null) return UNKNOWN;
  const ms = now - Date.parse(at);
  if (Number.isNaN(ms)) return UNKNOWN;
  if (ms < 10_000) return "now";
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds}s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h ago`;
  return seconds < 30 * 86_400 ? `${Math.floor(seconds / 86_400)}d ago` : at.slice(0, 10);
}

export const clock = (at: string | null) => (at === null ? UNKNOWN : new Date(at).toLocaleTimeString("en-GB"));
export const dateAndTime = (at: string | null) => (at === null ? UNKNOWN : new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" }));

export const plural = (n: number, word: string, many = `${word}s`) => `${exact(n)} ${n === 1 ? word : many}`;
