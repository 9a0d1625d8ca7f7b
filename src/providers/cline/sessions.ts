import type { LifecycleState } from "../../core/facts/observation.ts";
import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import type { DatabasePlan, DatabaseSchema, Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import {
  asNonBlank,
  asNumber,
  asObject,
  asTime,
  decodeText,
  type JsonObject,
  parseJson,
} from "../../core/tools/json.ts";
import { AT_WORK } from "../kit/live-stream.ts";
import * as key from "./keys.ts";
import { idsIn } from "./locate.ts";

const REQUIRED = ["session_id", "pid", "started_at", "status", "parent_session_id", "parent_agent_id", "updated_at"];
const COLUMNS = [
  ...REQUIRED,
  ...["ended_at", "exit_code", "cwd", "agent_id", "team_name", "is_subagent", "prompt", "metadata_json"],
];

/** `db/sessions.db`: one row per session and agent, changed in place. Each is an object of its own. */
export function planFor({ tables }: DatabaseSchema): DatabasePlan | { readonly unknown: string } {
  const columns = tables.get("sessions") ?? [];
  const missing = REQUIRED.filter((name) => !columns.includes(name));
  if (missing.length > 0)
    return { unknown: tables.size === 0 ? "it is empty" : `its table sessions has no ${missing.join(", no ")}` };
  const fields = COLUMNS.filter((name) => columns.includes(name)).map((name) => `'${name}', s.${name}`);
  // The id of the session's own agent is in no row.
  const hasAgentParent =
    "EXISTS (SELECT 1 FROM sessions p WHERE p.session_id = s.parent_session_id || '__' || s.parent_agent_id)";
  const record = `SELECT s.session_id AS row, 1 AS position, json_object(${fields.join(", ")}, 'is_parent_agent', ${hasAgentParent}) AS record FROM sessions s WHERE s.session_id = ?1`;
  return {
    objects: {
      sql: "SELECT session_id AS object, concat_ws(' ', status, updated_at) AS revision FROM sessions",
      values: [],
    },
    rows: (session) => ({ sql: record, values: [session] }),
    row: (session) => ({ sql: record, values: [session] }),
    extent: (session) => ({
      sql: "SELECT coalesce(octet_length(prompt), 0) + coalesce(octet_length(metadata_json), 0) AS bytes, 1 AS intact FROM sessions WHERE session_id = ?1",
      values: [session],
    }),
  };
}

/** A row of the database, or `<session>.json`, which has the same fields for the session itself. */
export class SessionRow implements Parser {
  readonly #file: SourceFile;

  constructor(file: SourceFile) {
    this.#file = file;
  }

  push(record: Uint8Array, line: number, row?: string): Findings {
    const json = asObject(parseJson(decodeText(record).text)?.value);
    const id = asNonBlank(json?.session_id);
    const [place, code] = row === undefined ? [0, "line-not-json" as const] : [line, "record-malformed" as const];
    if (json === null) return problemAt(this.#file.path, place, code, `${record.length} bytes`, row);
    if (id === null) return problemAt(this.#file.path, place, "record-malformed", "a session without its id", row);
    const { session, agent, isMate } = idsIn(id);
    const speaker = key.agent(session, agent);
    const at = asTime(json.started_at);
    const out = new FindingsOf({ path: this.#file.path, line: place, row, at, speaker, keys: [] });
    this.#describe(out, json, session, agent);
    if (agent !== null) readParent(out, json, session, agent, isMate);
    out.add(AT_WORK);
    const end = endOf(json, agent !== null && !isMate);
    if (end !== null)
      out.addAt(asTime(json.ended_at) ?? asTime(json.updated_at), {
        type: "lifecycle",
        of: speaker,
        source: "protocol",
        result: null,
        // The agent's own messages take precedence: the row of a failed agent says `completed`, too.
        yields: true,
        ...end,
      });
    return out;
  }

  #describe(out: FindingsOf, json: JsonObject, session: string, agent: string | null) {
    const { path, bytes, bornMs = null, isForeign } = this.#file;
    const described = { type: "agent-described", agent: key.agent(session, agent) } as const;
    const meta = metadataIn(json);
    const [cwd, prompt, title] = [asNonBlank(json.cwd), asNonBlank(json.prompt), asNonBlank(meta?.title)];
    const version = asNonBlank(asObject(meta?.sessionHistoryOrigin)?.version);
    out.add({
      ...described,
      file: { path, bytes, bornMs },
      ...(cwd === null ? {} : { cwd }),
      ...(prompt === null ? {} : { prompt }),
      ...(version === null ? {} : { productVersion: version }),
    });
    if (agent === null && cwd !== null) out.add({ type: "thread-began", thread: described.agent, cwd });
    // Without a title, the product repeats the prompt.
    if (agent === null && title !== null && title !== prompt)
      out.addOfFile({ type: "thread-titled", of: described.agent, title, rank: 1 });
    const pid = asNumber(json.pid);
    if (pid !== null && isForeign !== true && STATES[asNonBlank(json.status) ?? ""] === undefined)
      out.add({
        type: "process-seen",
        thread: key.agent(session, null),
        process: { pid, birth: null, domain: null, startedAt: asTime(json.started_at) },
        waitingFor: null,
      });
  }

  events = () => [];
  save = () => null;
}

function readParent(out: FindingsOf, json: JsonObject, session: string, id: string, isMate: boolean) {
  const agent = key.agent(session, id);
  const [above, prompt] = [asNonBlank(json.parent_agent_id), asNonBlank(json.prompt)];
  const kind = isMate ? "teammate" : "subagent";
  out.add({ type: "agent-described", agent, kind, vouched: true, ...(isMate ? { name: id } : {}) });
  const parent = json.is_parent_agent === 1 ? above : null;
  out.add({
    type: "parent-named",
    child: agent,
    parent: key.agent(session, parent),
    rule: parent === null ? "sessions.parent_session_id" : "sessions.parent_agent_id",
    source: "protocol",
    confidence: 1,
    says: `its row names ${parent === null ? `session ${session}` : `agent ${parent}`} as its parent`,
  });
  const match = { type: "spawn-match", agent, source: "protocol" } as const;
  if (isMate)
    out.add({
      ...match,
      match: key.mate(session, id),
      rule: "sessions.agent_id",
      exclusive: false,
      says: `its row names teammate ${id}, which its parent's call spawned`,
    });
  else if (prompt !== null)
    out.add({
      ...match,
      match: key.task(session, parent, prompt),
      rule: "sessions.prompt",
      exclusive: true,
      says: "its prompt is the task of its parent's call",
    });
}

const STATES: Readonly<Record<string, LifecycleState>> = {
  completed: "completed",
  failed: "errored",
  cancelled: "shutdown",
};

/**
 * `running` stays there after a kill, until Cline notices that the process is gone. A sub-agent that fails is
 * `completed`: `failed` and `cancelled` are those of its session, which ended before it did.
 */
function endOf(
  json: JsonObject,
  isSubAgent: boolean,
): { readonly state: LifecycleState; readonly says: string } | null {
  const status = asNonBlank(json.status) ?? "";
  const code = asNumber(json.exit_code);
  const state = Object.hasOwn(STATES, status) ? STATES[status] : undefined;
  if (state === undefined) return null;
  const marker = asNonBlank(metadataIn(json)?.terminal_marker);
  const isCut = marker !== null || (isSubAgent && state !== "completed");
  const why = marker ?? (code === null ? null : `exit code ${code}`);
  return { state: isCut ? "shutdown" : state, says: `its row has status ${status}${why === null ? "" : `, ${why}`}` };
}

/** An object in the file of a session, and JSON in a column of its row. */
const metadataIn = (json: JsonObject) =>
  asObject(json.metadata) ?? asObject(parseJson(asNonBlank(json.metadata_json) ?? "")?.value);
