/** A database with a recorded schema of OpenCode, filled by tests. */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { FIXTURES } from "./fixtures.ts";

export const databaseIn = (name: string, home = "home") =>
  join(FIXTURES, "opencode", name, home, ".local/share/opencode/opencode.db");

/** The tables and indexes of a recorded database. */
function schemaOf(path: string): string[] {
  const db = new DatabaseSync(`file:${path}?immutable=1`, { readOnly: true });
  try {
    return db
      .prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC")
      .all()
      .map((row) => String(row.sql));
  } finally {
    db.close();
  }
}

/** Some versions have the table and leave it empty. */
function hasEvents(path: string): boolean {
  const db = new DatabaseSync(`file:${path}?immutable=1`, { readOnly: true });
  try {
    return db.prepare("SELECT 1 FROM event LIMIT 1").get() !== undefined;
  } finally {
    db.close();
  }
}

export class OpenCodeDatabase {
  readonly db: DatabaseSync;
  readonly #events: boolean;
  #time = Date.parse("2026-11-01T00:00:00Z");

  constructor(path: string, like = "single") {
    this.db = new DatabaseSync(path);
    this.db.exec("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF");
    const schema = schemaOf(databaseIn(like));
    for (const sql of schema) this.db.exec(sql);
    this.#events = schema.some((sql) => /CREATE TABLE `event`/.test(sql)) && hasEvents(databaseIn(like));
  }

  get now(): number {
    return this.#time;
  }

  tick(ms = 10): number {
    this.#time += ms;
    return this.#time;
  }

  #changed(session: string, type: string) {
    if (!this.#events) return;
    this.db
      .prepare("INSERT INTO event_sequence (aggregate_id, seq) VALUES (?, 0) ON CONFLICT DO UPDATE SET seq = seq + 1")
      .run(session);
    const { seq } = this.db.prepare("SELECT seq FROM event_sequence WHERE aggregate_id = ?").get(session) as {
      seq: number;
    };
    this.db
      .prepare("INSERT INTO event (id, aggregate_id, seq, type, data) VALUES (?, ?, ?, ?, '{}')")
      .run(`evt_${session}_${seq}`, session, seq, type);
  }

  session(id: string, parent: string | null = null, title = `Title of ${id}`) {
    const at = this.tick();
    this.db
      .prepare(
        "INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated) VALUES (?, 'p', ?, 's', '/home/dev/x', ?, '1.18.33', ?, ?) ON CONFLICT DO UPDATE SET title = excluded.title, time_updated = excluded.time_updated",
      )
      .run(id, parent, title, at, at);
    this.#changed(id, "session.updated.1");
  }

  message(session: string, id: string, data: object) {
    const at = this.tick();
    this.db
      .prepare(
        "INSERT INTO message (id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data, time_updated = excluded.time_updated",
      )
      .run(id, session, at, at, JSON.stringify({ time: { created: at }, ...data }));
    this.#changed(session, "message.updated.1");
  }

  part(session: string, message: string, id: string, data: object | string) {
    const at = this.tick();
    this.db
      .prepare(
        "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data, time_updated = excluded.time_updated",
      )
      .run(id, message, session, at, at, typeof data === "string" ? data : JSON.stringify(data));
    this.#changed(session, "message.part.updated.1");
  }

  /** A user message and its response. */
  turn(session: string, name: string, asked: string, answered: string) {
    this.message(session, `msg_${name}u`, { role: "user" });
    this.part(session, `msg_${name}u`, `prt_${name}u`, { type: "text", text: asked });
    this.answer(session, `msg_${name}a`, `prt_${name}a`, answered);
  }

  answer(session: string, message: string, part: string, text: string, more: object = {}) {
    const tokens = { input: 10, output: 2, reasoning: 0, cache: { read: 0, write: 0 } };
    this.part(session, message, part, { type: "text", text, time: { start: this.now, end: this.now } });
    this.message(session, message, {
      role: "assistant",
      modelID: "m",
      tokens,
      time: { created: this.now, completed: this.now + 1 },
      finish: "stop",
      ...more,
    });
  }

  close() {
    this.db.close();
  }
}
