export function bytes(count: number): string {
  const [size, unit] = count >= 1e9 ? [1e9, "GB"] : count >= 1e6 ? [1e6, "MB"] : [1e3, "kB"];
  const value = count / size;
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(2))} ${unit}`;
}

export const seconds = (value: number) => `${value >= 10 ? value.toFixed(1) : value.toFixed(2)} s`;
export const milliseconds = (secondsOfTime: number) => `${(1_000 * secondsOfTime).toFixed(1)} ms`;
export const ratio = (ours: number, theirs: number) => `${(ours / theirs).toFixed(2)}×`;
export const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
export const thousands = (count: number) => count.toLocaleString("en-US");

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, i) => Math.max(3, ...all.map((row) => (row[i] ?? "").length)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, i) => (i === 0 ? (row[i] ?? "").padEnd(width) : (row[i] ?? "").padStart(width))).join(" | ")} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`;
  return [line(head), rule, ...rows.map(line)].join("\n");
}

/** `100MB`, `1.5GB`. */
export function parseBytes(text: string): number {
  const [, number, unit = ""] = /^([\d.]+)\s*(k|M|G)?B?$/i.exec(text) ?? [];
  const scale = { "": 1, k: 1e3, m: 1e6, g: 1e9 }[unit.toLowerCase()];
  if (number === undefined || scale === undefined) throw new Error(`${text}: not a size; write 100MB or 1GB`);
  return Number(number) * scale;
}

/** A limit, in bold if it does not hold. */
export const held = (limit: string, holds: boolean) => (holds ? limit : `**${limit}**`);
