import type { RecordState } from "../../core/facts/observation.ts";
import { readUserText } from "./prompt.ts";
import { isSynthetic, type Row, textOf } from "./rows.ts";

/** The state of the agent after this record; null if the record does not change it. */
export function stateAfter(row: Row): { readonly state: RecordState; readonly certain: boolean } | null {
  if (row.json.isAbortedMidStream === true || row.json.interruptedByShutdown === true) return sure("interrupted");
  if (row.type === "assistant") return afterResponse(row);
  // A model refused in mid-response; another one is asked at once.
  if (isRetried(row)) return sure("open");
  return row.type === "user" ? afterUser(row) : null;
}

const sure = (state: RecordState) => ({ state, certain: true });

/** The turn is repeated on another model, and the messages of the first one are taken back. */
export const isRetried = ({ type, json }: Row) =>
  type === "system" && json.subtype === "model_refusal_fallback" && json.direction === "retry";

function afterResponse(row: Row) {
  if (row.json.isApiErrorMessage === true) return sure("failed");
  if (isSynthetic(row)) return null;
  if (row.blocks.some((b) => b.is === "tool-use")) return sure("open");
  const stop = row.message?.stop_reason;
  if (stop === "tool_use" || stop === "pause_turn") return sure("open");
  if (typeof stop === "string") return sure("answered");
  // 2.1.10 to 2.1.50 write null for every row, others for all but the last; then a text row is the best sign of a
  // response.
  return row.blocks.some((b) => b.is === "text") ? { state: "answered" as const, certain: false } : sure("open");
}

function afterUser(row: Row) {
  if (row.blocks.some((b) => b.is === "tool-result")) return sure(row.json.toolEndsTurn === true ? "answered" : "open");
  if (row.json.isMeta === true || row.json.isCompactSummary === true || row.json.isVisibleInTranscriptOnly === true)
    return null;
  const text = readUserText(textOf(row));
  if (text.is === "interrupt") return sure("interrupted");
  return text.is === "local" ? null : sure("open");
}
