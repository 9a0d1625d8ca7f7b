import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import type { DatabasePlan, DatabaseSchema, DatabaseStream, Parser, SourceFile } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, decodeText, type JsonObject, parseJson } from "../../core/tools/json.ts";
import { originOf, textField } from "./identity.ts";
import * as key from "./keys.ts";

/** `state_<n>.sqlite`: Codex's own list of threads and, since 0.117, of spawns. Read in addition to the rollouts. */
export const STATE_STREAM: Pick<DatabaseStream, "shape" | "plan" | "open"> = {
  shape: "database",
  plan: planOf,
  open: (file) => stateParser(file),
};

const WANTED = [
  "title",
  "name",
  "first_user_message",
  "source",
  "cwd",
  "git_branch",
  "cli_version",
  "agent_nickname",
  "agent_role",
  "agent_path",
];
const REVISED = ["updated_at", "updated_at_ms", "title", "name", "cwd"];

/** Queries only existing columns, which were added by different versions. */
export function planOf({ tables }: DatabaseSchema): DatabasePlan | { readonly unknown: string } {
  const columns = tables.get("threads");
  if (columns?.includes("id") !== true)
    return { unknown: `has no table of threads, but ${[...tables.keys()].sort().join(", ") || "none at all"}` };
  const has = (names: readonly string[]) => names.filter((name) => columns.includes(name));
  const hasEdges = ["parent_thread_id", "child_thread_id", "status"].every((name) =>
    tables.get("thread_spawn_edges")?.includes(name),
  );
  const edge = (column: string) =>
    hasEdges ? `(SELECT ${column} FROM thread_spawn_edges WHERE child_thread_id = t.id)` : "NULL";
  // Children without a row of their own appear only here.
  const others = hasEdges
    ? "(SELECT json_group_array(child_thread_id) FROM thread_spawn_edges e WHERE e.parent_thread_id = t.id AND NOT EXISTS (SELECT 1 FROM threads c WHERE c.id = e.child_thread_id))"
    : "'[]'";
  const fields = [
    ...has(WANTED).map((name) => `'${name}', t.${name}`),
    `'parent', ${edge("parent_thread_id")}`,
    `'edge', ${edge("status")}`,
  ];
  const revision = [
    ...has(REVISED).map((name) => `coalesce(t.${name}, '')`),
    `coalesce(${edge("status")}, '')`,
    others,
  ].join(" || ' ' || ");
  const record = `SELECT 'thread' AS row, 1 AS position, json_object('id', t.id, ${fields.join(", ")}, 'others', json(${others})) AS record FROM threads t WHERE t.id = ?`;
  return {
    objects: { sql: `SELECT t.id AS object, ${revision} AS revision FROM threads t`, values: [] },
    rows: (object) => ({ sql: record, values: [object] }),
    row: (object) => ({ sql: record, values: [object] }),
    extent: (object) => ({ sql: "SELECT 0 AS bytes, 1 AS intact FROM threads WHERE id = ?", values: [object] }),
  };
}

function stateParser(file: SourceFile): Parser {
  return {
    push(record, line, row) {
      const { text } = decodeText(record);
      const json = asObject(parseJson(text)?.value);
      const id = asNonBlank(json?.id)?.toLowerCase() ?? null;
      if (json === null || id === null) return problemAt(file.path, line, "record-malformed", "a row without an id");
      const out = new FindingsOf({
        path: file.path,
        line,
        ...(row === undefined ? {} : { row }),
        at: null,
        speaker: key.thread(id),
        keys: [],
      });
      readThread(out, json, id);
      return out;
    },
    events: () => [],
    save: () => null,
  };
}

function readThread(out: FindingsOf, json: JsonObject, id: string) {
  const agent = key.thread(id);
  const source = asText(json.source) ?? "";
  const origin = originOf({ ...json, source: parseJson(source)?.value ?? source });
  const edge = asNonBlank(json.parent)?.toLowerCase() ?? null;
  const parent = edge ?? origin.parent;
  out.add({
    type: "agent-described",
    agent,
    ...textField("cwd", json.cwd),
    ...textField("branch", json.git_branch),
    ...textField("productVersion", json.cli_version),
    ...textField("name", origin.nickname),
    ...textField("agentType", origin.type),
    ...textField("path", origin.path),
    ...textField("description", origin.path),
  });
  if (parent !== null && parent !== id) named(out, id, parent, edge === null ? "threads.source" : "thread_spawn_edges");
  for (const other of asList(json.others)) {
    const child = asNonBlank(other)?.toLowerCase();
    if (child !== undefined && child !== id) named(out, child, id, "thread_spawn_edges");
  }
  // `open` has no meaning: it stays, whatever happens to the agent. With v1 a user or the parent closes an agent for
  // good.
  if (json.edge === "closed")
    out.add({
      type: "lifecycle",
      of: agent,
      state: "shutdown",
      source: "protocol",
      says: "Codex's list of spawned threads marks it as closed",
      result: null,
    });
  if (parent === null) readTitle(out, json, id);
}

function named(out: FindingsOf, child: string, parent: string, rule: "thread_spawn_edges" | "threads.source") {
  const says =
    rule === "threads.source"
      ? `Codex's list of threads names ${parent} as its parent`
      : `Codex's list of spawned threads has it under ${parent}`;
  out.add({
    type: "parent-named",
    child: key.thread(child),
    parent: key.thread(parent),
    rule,
    source: "protocol",
    confidence: 1,
    says,
  });
}

/** Without a title, the column contains the first message, which for a fork is an ancestor's. */
function readTitle(out: FindingsOf, json: JsonObject, id: string) {
  const [name, title] = [asNonBlank(json.name), asNonBlank(json.title)];
  const of = key.thread(id);
  if (name !== null) out.add({ type: "thread-titled", of, title: name, rank: 0 });
  if (title !== null && title !== asNonBlank(json.first_user_message))
    out.add({ type: "thread-titled", of, title, rank: 1 });
}
