import { asAmount, asList, asNonBlank, asNumber, asObject, type JsonObject } from "../../core/tools/json.ts";
import { NAME } from "./keys.ts";

/** The JSON that Claude Code sends to a status line command on stdin. */
export interface StatusRequest {
  readonly provider: string;
  readonly thread: string;
  /** The transcript of the thread, and the folder with those of its agents. */
  readonly transcript: string | null;
  readonly folder: string | null;
  /** For `subagentStatusLine`: the visible rows, by agent id; null for `statusLine`. */
  readonly rows: readonly string[] | null;
  readonly columns: number | null;
  /** The total cost according to the product. */
  readonly costUsd: number | null;
}

export function readStatusRequest(json: JsonObject): StatusRequest | null {
  const thread = asNonBlank(json.session_id);
  if (thread === null) return null;
  const transcript = asNonBlank(json.transcript_path);
  return {
    provider: NAME,
    thread,
    transcript,
    folder: transcript?.replace(/\.jsonl$/, "") ?? null,
    rows: Array.isArray(json.tasks) ? asList(json.tasks).flatMap((task) => asNonBlank(asObject(task)?.id) ?? []) : null,
    columns: asNumber(json.columns),
    costUsd: asAmount(asObject(json.cost)?.total_cost_usd),
  };
}
