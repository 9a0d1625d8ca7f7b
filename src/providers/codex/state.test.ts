import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { Observation } from "../../core/facts/observation.ts";
import { planOf, STATE_STREAM } from "./state.ts";

/** The facts of every thread in a list of threads with these columns. */
function read(sql: string): Observation[] {
  const db = new DatabaseSync(":memory:");
  db.exec(sql);
  const names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const columns = (table: string) =>
    db
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map((c) => String(c.name));
  const plan = planOf({
    userVersion: 0,
    tables: new Map(names.map(({ name }) => [String(name), columns(String(name))])),
  });
  if ("unknown" in plan) throw new Error(plan.unknown);
  return db
    .prepare(plan.objects.sql)
    .all()
    .flatMap(({ object }) => {
      const query = plan.rows(String(object), null);
      const record = String(db.prepare(query.sql).get(...query.values)?.record);
      return STATE_STREAM.open({ path: "state_5.sqlite", bytes: 0 }).push(new TextEncoder().encode(record), 1, "thread")
        .observations;
    });
}

const PARENT = { subagent: { thread_spawn: { parent_thread_id: "a", agent_path: "/root/x", agent_nickname: "Nick" } } };

describe("Codex's own list of threads", () => {
  it("names parents, and agents without other records", () => {
    const found =
      read(`CREATE TABLE threads (id TEXT, title TEXT, name TEXT, first_user_message TEXT, source TEXT, updated_at INTEGER);
      CREATE TABLE thread_spawn_edges (parent_thread_id TEXT, child_thread_id TEXT, status TEXT);
      INSERT INTO threads VALUES ('a', 'hello', 'A name', 'hello', 'exec', 1), ('b', 'hello', NULL, 'other', '${JSON.stringify(PARENT)}', 1);
      INSERT INTO thread_spawn_edges VALUES ('a', 'b', 'closed'), ('b', 'c', 'open')`);
    expect(found.flatMap((o) => (o.type === "parent-named" ? [[o.child, o.parent, o.rule]] : []))).toEqual([
      ["codex:b", "codex:a", "thread_spawn_edges"],
      ["codex:c", "codex:b", "thread_spawn_edges"],
    ]);
    expect(found.flatMap((o) => (o.type === "lifecycle" ? [[o.of, o.state]] : []))).toEqual([["codex:b", "shutdown"]]);
    expect(found.flatMap((o) => (o.type === "thread-titled" ? [[o.of, o.title]] : []))).toEqual([
      ["codex:a", "A name"],
    ]);
    expect(found.find((o) => o.type === "agent-described" && o.agent === "codex:b")).toMatchObject({
      name: "Nick",
      path: "/root/x",
    });
  });

  it("is read with whichever of the columns it has", () => {
    const found = read(
      `CREATE TABLE threads (id TEXT, source TEXT); INSERT INTO threads VALUES ('b', '${JSON.stringify(PARENT)}')`,
    );
    expect(found.flatMap((o) => (o.type === "parent-named" ? [[o.child, o.parent, o.rule]] : []))).toEqual([
      ["codex:b", "codex:a", "threads.source"],
    ]);
  });

  it("is reported if it has another schema", () => {
    expect(planOf({ userVersion: 9, tables: new Map([["other", ["id"]]]) })).toEqual({
      unknown: "has no table of threads, but other",
    });
  });
});
