import { cached } from "./collections.ts";

/**
 * Formats of numbers and times, shared by terminal, dashboard and exports. An unknown value is a dash, never a zero.
 */
export const UNKNOWN = "–";

const UNITS = ["", "k", "M", "G", "T"] as const;

/** 999, 1.2k, 34.5k, 123k, 1.2M. */
export function count(n: number | null): string {
  if (n === null) return UNKNOWN;
  let value = n;
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0
    ? String(Math.round(value))
    : `${Math.abs(value) < 99.95 ? value.toFixed(1) : Math.round(value)}${UNITS[unit]}`;
}

/** Made on first use: this takes milliseconds, and hooks load this module while an agent waits. */
let grouped: Intl.NumberFormat | undefined;
let dollarsAndCents: Intl.NumberFormat | undefined;

/** All digits: 1,234,567. */
export function exact(n: number): string {
  grouped ??= new Intl.NumberFormat("en-US", { maximumFractionDigits: 20 });
  return grouped.format(n);
}

/** 340 B, 1.2 kB, 34.5 MB. */
export const bytes = (n: number) => (n < 1000 ? `${n} B` : `${count(n).replace(/[a-zA-Z]/, " $&")}B`);

/** $1,234.50, $0.50; below ten cents $0.0042. A cost above zero is never shown as zero. */
export function money(usd: number | null): string {
  if (usd === null) return UNKNOWN;
  if (usd < 0) return `-${money(-usd)}`;
  if (usd === 0) return "$0";
  if (usd < 0.00005) return "<$0.0001";
  const tenThousandths = usd.toFixed(4);
  if (Number(tenThousandths) < 0.1) return `$${tenThousandths}`;
  dollarsAndCents ??= new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return `$${dollarsAndCents.format(usd)}`;
}

/** A sum with a missing price: at least the known part. */
export const moneyKnown = (usd: number | null, knownUsd: number) =>
  usd === null && knownUsd > 0 ? `≥ ${money(knownUsd)}` : money(usd);

/** To a millionth of a dollar, for comparisons. */
export const exactMoney = (usd: number) => `$${usd.toFixed(6)}`;

/** 840 ms, 1.1 s, 59 s, 4 m 12 s, 2 h 3 m, 3 d 4 h. */
export function duration(ms: number | null): string {
  if (ms === null) return UNKNOWN;
  const inUnits = (unit: number) => Math.round(Math.max(0, ms) / unit);
  if (inUnits(1) < 1_000) return `${inUnits(1)} ms`;
  if (inUnits(100) < 100) return `${(inUnits(100) / 10).toFixed(1)} s`;
  if (inUnits(SECOND) < 60) return `${inUnits(SECOND)} s`;
  if (inUnits(SECOND) < 3_600) return inTwo(inUnits(SECOND), 60, "m", "s");
  return inUnits(MINUTE) < 1_440 ? inTwo(inUnits(MINUTE), 60, "h", "m") : inTwo(inUnits(HOUR), 24, "d", "h");
}

/** All digits: 1,234,567 ms. */
export const exactMs = (ms: number) => `${exact(ms)} ms`;

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

function inTwo(amount: number, size: number, large: string, small: string): string {
  const rest = amount % size;
  return `${Math.floor(amount / size)} ${large}${rest === 0 ? "" : ` ${rest} ${small}`}`;
}

/**
 * just now, 42 s ago, 5 m ago, 3 h ago, 12 d ago; of a wrong clock: in 5 m, in 3 h, in 12 d. Other times as a date. Less
 * than a minute in the future is now, because the clocks of two machines differ.
 */
export function ago(at: string | null, now: number): string {
  const ms = at === null ? Number.NaN : now - Date.parse(at);
  if (at === null || Number.isNaN(ms)) return UNKNOWN;
  if (ms > -MINUTE && ms < 10_000) return "just now";
  const [size, unit] = unitOf(Math.abs(ms));
  if (size === null) return at.split("T", 1)[0] ?? at;
  const amount = `${Math.floor(Math.abs(ms) / size)} ${unit}`;
  return ms < 0 ? `in ${amount}` : `${amount} ago`;
}

function unitOf(ms: number): readonly [size: number | null, unit: string] {
  if (ms < MINUTE) return [SECOND, "s"];
  if (ms < HOUR) return [MINUTE, "m"];
  if (ms < DAY) return [HOUR, "h"];
  return ms < 30 * DAY ? [DAY, "d"] : [null, ""];
}

/** A fraction between 0 and 1: 34 %, 3.4 %, <0.1 %. A value above zero is never shown as zero. */
export function percent(part: number): string {
  const value = part * 100;
  if (value === 0) return "0 %";
  if (value < 0.1) return "<0.1 %";
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} %`;
}

/** One formatter per time zone: creating it takes much longer than using it. */
function timeFormat(options: Intl.DateTimeFormatOptions): (at: string | null, timeZone: string) => string {
  const formats = new Map<string, Intl.DateTimeFormat>();
  return (at, timeZone) => {
    const ms = at === null ? Number.NaN : Date.parse(at);
    if (Number.isNaN(ms)) return UNKNOWN;
    return cached(formats, timeZone, () => new Intl.DateTimeFormat("en-GB", { ...options, timeZone })).format(ms);
  };
}

/** The time of day, 14:03:59, in a time zone such as `UTC` or `Europe/Berlin`. */
export const clock = timeFormat({ timeStyle: "medium" });

/** 16 Nov 2026, 14:03:59. */
export const dateAndTime = timeFormat({ dateStyle: "medium", timeStyle: "medium" });

/** November 2026. */
export const month = (at: number, timeZone: string) =>
  new Date(at).toLocaleDateString("en-GB", { month: "long", year: "numeric", timeZone });

export const plural = (n: number, word: string, many = `${word}s`) => `${exact(n)} ${n === 1 ? word : many}`;
