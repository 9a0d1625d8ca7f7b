import { type Accessor, createMemo } from "solid-js";
import type { AgentRecord } from "../data/types.ts";

/** Distinguishable with red-green colour blindness; the last one is for all further types. */
export const KIND_COLORS = [
  "kind-1",
  "kind-2",
  "kind-3",
  "kind-4",
  "kind-5",
  "kind-6",
  "kind-rest",
  "on-kind",
] as const;
export type KindColor = Exclude<(typeof KIND_COLORS)[number], "on-kind">;
const TYPED = ["kind-1", "kind-2", "kind-3", "kind-4", "kind-5", "kind-6"] as const;

export const typeOf = (record: AgentRecord) => (record.parent === null ? "main" : (record.type ?? record.kind));

/** A colour for each type, by frequency. A type keeps its colour while the order stays the same. */
export function useTypeColors(records: Accessor<readonly AgentRecord[]>): (record: AgentRecord) => KindColor {
  const types = createMemo(() => typeNames(records()));
  return (record) => colorOfType(types(), typeOf(record));
}

/** All types, `main` first, then by frequency. */
export function typeNames(records: readonly AgentRecord[]): string[] {
  const counts = new Map<string, number>();
  for (const record of records) counts.set(typeOf(record), (counts.get(typeOf(record)) ?? 0) + 1);
  return [...counts]
    .sort(([a, x], [b, y]) => Number(b === "main") - Number(a === "main") || y - x || (a < b ? -1 : 1))
    .map(([name]) => name);
}

export const colorOfType = (types: readonly string[], type: string): KindColor =>
  TYPED[types.indexOf(type)] ?? "kind-rest";
