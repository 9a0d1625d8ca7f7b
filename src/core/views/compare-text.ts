import { count, duration, money, percent, UNKNOWN } from "../tools/format.ts";
import type { ComparedMeasure, Measure, Spread } from "./compare.ts";

export const MEASURE_LABELS: Readonly<Record<Measure, string>> = {
  durationMs: "Time",
  calls: "Model calls",
  tokens: "Tokens",
  costUsd: "Cost",
  toolCalls: "Tool calls",
  toolErrors: "Tool errors",
  agents: "Agents",
  failed: "Failed agents",
};

export function measureText(measure: Measure, value: number | null): string {
  if (value === null) return UNKNOWN;
  return measure === "durationMs" ? duration(value) : measure === "costUsd" ? money(value) : count(value);
}

export function spreadText(measure: Measure, spread: Spread | null): string {
  if (spread === null) return UNKNOWN;
  const median = measureText(measure, spread.median);
  return spread.threads === 1
    ? median
    : `${median} (${measureText(measure, spread.least)} to ${measureText(measure, spread.most)})`;
}

/** By how much the right side is larger; empty if it is not. */
function changeText({ left, right }: ComparedMeasure): string {
  if (left === null || right === null || left.median === right.median) return "";
  if (left.median === 0) return "more";
  const ratio = right.median / left.median - 1;
  return `${ratio > 0 ? "+" : "-"}${percent(Math.abs(ratio))}`;
}

/** Whether groups differ by more than their spread. */
export function verdictText(one: ComparedMeasure, isPair: boolean): string {
  const by = changeText(one);
  if (isPair || one.difference === "unknown") return by;
  if (one.difference === "none") return by === "" ? "the same" : `${by}, within the spread`;
  return one.difference === "clear" ? `${by}, clearly apart` : `${by}, apart, but too few threads to tell`;
}
