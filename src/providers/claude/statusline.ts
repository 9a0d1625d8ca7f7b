import { asAmount, asList, asNumber, asObject, asWords, type JsonObject } from "../../core/json.ts";
import { NAME } from "./keys.ts";

/** What Claude Code asks a status line for, on its stdin. */
export interface StatusAsked {
  readonly provider: string;
  readonly thread: string;
  /** The thread's own transcript, and the folder in which those of its agents lie. */
  readonly transcript: string | null;
  readonly folder: string | null;
  /** `subagentStatusLine`: the rows that are shown, by the ids of their agents; null for `statusLine`. */
  readonly rows: readonly string[] | null;
  readonly columns: number | null;
  /** What the product itself says that all of it cost so far. */
  readonly costUsd: number | null;
}

export function statusAsked(json: JsonObject): StatusAsked | null {
  const thread = asWords(json.session_id);
  if (thread === null) return null;
  const transcript = asWords(json.transcript_path);
  return {
    provider: NAME,
    thread,
    transcript,
    folder: transcript?.replace(/\.jsonl$/, "") ?? null,
    rows: Array.isArray(json.tasks) ? asList(json.tasks).flatMap((task) => asWords(asObject(task)?.id) ?? []) : null,
    columns: asNumber(json.columns),
    costUsd: asAmount(asObject(json.cost)?.total_cost_usd),
  };
}
