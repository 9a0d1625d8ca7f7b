import type { AgentRecord } from "../core/agent.ts";
import { totalTokens, type Usage } from "../core/usage.ts";

/** What an agent is called in a line. */
export function labelOf({ title, description, name, type, prompt, kind, agentId }: AgentRecord): string {
  const words = title ?? description ?? name ?? prompt ?? agentId ?? kind;
  const line = words.replace(/\s+/g, " ").trim();
  const short = line.length > 120 ? `${line.slice(0, 119)}…` : line;
  return type === null || short === type ? short : `${short} (${type})`;
}

export function tokenWords(usage: Usage): string {
  const tokens = totalTokens(usage);
  return tokens < 1_000 ? String(tokens) : tokens < 1_000_000 ? `${(tokens / 1_000).toFixed(1)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}

export const costWords = ({ costUsd }: Usage) =>
  costUsd === null ? "–" : costUsd === 0 ? "$0" : costUsd < 0.01 ? `$${costUsd.toFixed(4)}` : `$${costUsd.toFixed(2)}`;

export function durationWords(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
