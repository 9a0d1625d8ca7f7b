import type { StatusLine } from "../../core/ports/manifest.ts";
import { asAmount, asList, asNonBlank, asNumber, asObject } from "../../core/tools/json.ts";

/** The JSON that Claude Code passes to `statusLine` and, with `tasks`, to `subagentStatusLine`. */
export const statusLine: StatusLine = {
  isGeneric: true,
  read(json) {
    const thread = asNonBlank(json.session_id);
    if (thread === null) return null;
    const transcript = asNonBlank(json.transcript_path);
    const tasks = Array.isArray(json.tasks) ? asList(json.tasks) : null;
    return {
      thread,
      transcript,
      folder: transcript?.replace(/\.jsonl$/, "") ?? null,
      rows: tasks?.flatMap((task) => asNonBlank(asObject(task)?.id) ?? []) ?? null,
      columns: asNumber(json.columns),
      costUsd: asAmount(asObject(json.cost)?.total_cost_usd),
    };
  },
};
