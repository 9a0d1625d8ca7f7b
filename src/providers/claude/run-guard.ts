import type { LedgerNotice } from "../../core/guard/ledger.ts";
import type { RunGuard } from "../../core/ports/control.ts";
import { asNonBlank, asObject, asText, type JsonObject, parseJson } from "../../core/tools/json.ts";
import { DEFAULT_TYPE } from "./hook-guard.ts";

const TASKS = /"subtype":\s*"task_(?:started|notification|updated)"/;
const ENDED = new Set(["completed", "failed", "killed", "stopped"]);

/** The printed stream names the call of every agent when it starts, at any depth (2.1.325). */
export const runGuard: RunGuard = {
  spawnOf: ({ input }) => ({
    type: asNonBlank(input.subagent_type) ?? DEFAULT_TYPE,
    description: asNonBlank(input.description),
  }),
  noticesIn(line) {
    const json = TASKS.test(line) ? asObject(parseJson(line)?.value) : null;
    const [thread, agent] = [asNonBlank(json?.session_id), asNonBlank(json?.task_id)];
    if (json === null || thread === null || agent === null) return null;
    return { thread, notices: noticesOf(json, agent) };
  },
};

function noticesOf(json: JsonObject, agent: string): readonly LedgerNotice[] {
  const [call, type] = [asNonBlank(json.tool_use_id), asNonBlank(json.subagent_type)];
  const started: LedgerNotice = { is: "started", agent, type };
  if (json.subtype === "task_started") return call === null ? [started] : [{ is: "bound", call, agent }, started];
  const status = asText(json.status) ?? asText(asObject(json.patch)?.status) ?? "";
  return ENDED.has(status) ? [{ is: "ended", call: null, agent, type }] : [];
}
