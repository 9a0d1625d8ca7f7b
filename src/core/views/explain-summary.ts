import { addUsage, NO_USAGE, totalTokens, type Usage } from "../facts/usage.ts";
import type { SpentRow } from "./stats.ts";

export const SUMMED = ["type", "project", "model"] as const;
type Summed = (typeof SUMMED)[number];

/** Agents that ended without a result, over many threads. */
export interface LostLine {
  /** The agent type, project or model; null if unknown. */
  readonly key: string | null;
  readonly agents: number;
  readonly failed: number;
  readonly interrupted: number;
  /** Usage of the failed and interrupted agents alone. */
  readonly lost: Usage;
  /** The known part of its cost: `lost.costUsd` is null if one price is missing. */
  readonly knownLostUsd: number;
  /** The threads behind these numbers, largest first. */
  readonly threads: readonly LostThread[];
}

interface LostThread {
  readonly uri: string;
  readonly failed: number;
  readonly interrupted: number;
  readonly knownLostUsd: number;
}

export interface Summary extends Omit<LostLine, "key"> {
  readonly by: Readonly<Record<Summed, readonly LostLine[]>>;
}

/** What failed most and what cost most for nothing. Groups without such agents are left out. */
export function summarise(rows: readonly SpentRow[]): Summary {
  const by = (field: Summed) =>
    [...Map.groupBy(rows, (row) => row[field])]
      .map(([key, list]) => ({ key, ...lostIn(list) }))
      .filter(({ failed, interrupted }) => failed + interrupted > 0)
      .sort(byLoss);
  return { ...lostIn(rows), by: { type: by("type"), project: by("project"), model: by("model") } };
}

const isFailed = ({ status }: SpentRow) => status === "errored";
const isLost = (row: SpentRow) => isFailed(row) || row.status === "shutdown";
const agentsIn = (rows: readonly SpentRow[]) => rows.reduce((sum, { agents }) => sum + agents, 0);
const costIn = (rows: readonly SpentRow[]) => rows.reduce((sum, { usage }) => sum + (usage.costUsd ?? 0), 0);

function lostIn(rows: readonly SpentRow[]): Omit<LostLine, "key"> {
  const lost = rows.filter(isLost);
  const failed = agentsIn(lost.filter(isFailed));
  const threads = [...Map.groupBy(lost, ({ thread }) => thread)].map(([uri, list]) => {
    const errors = agentsIn(list.filter(isFailed));
    return { uri, failed: errors, interrupted: agentsIn(list) - errors, knownLostUsd: costIn(list) };
  });
  return {
    agents: agentsIn(rows),
    failed,
    interrupted: agentsIn(lost) - failed,
    lost: lost.map(({ usage }) => usage).reduce(addUsage, NO_USAGE),
    knownLostUsd: costIn(lost),
    threads: threads.sort(
      (a, b) => b.knownLostUsd - a.knownLostUsd || countIn(b) - countIn(a) || (a.uri < b.uri ? -1 : 1),
    ),
  };
}

const countIn = ({ failed, interrupted }: Pick<LostLine, "failed" | "interrupted">) => failed + interrupted;
const byLoss = (a: LostLine, b: LostLine) =>
  b.knownLostUsd - a.knownLostUsd ||
  totalTokens(b.lost) - totalTokens(a.lost) ||
  countIn(b) - countIn(a) ||
  ((a.key ?? "") < (b.key ?? "") ? -1 : 1);
