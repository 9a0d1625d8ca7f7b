import type { DatabaseSync } from "node:sqlite";

export type Statements = ReturnType<typeof statementsOf>;

export function statementsOf(db: DatabaseSync) {
  const of = "owner = ? AND destination = ?";
  const at = "owner = ? AND name = ?";
  return {
    open: db.prepare("INSERT OR IGNORE INTO destination (owner, name) VALUES (?, ?)"),
    since: db.prepare(`UPDATE destination SET since = coalesce(since, ?) WHERE ${at}`),
    destinations: db.prepare(`
      SELECT d.*, count(o.id) FILTER (WHERE o.refused IS NULL) AS waiting, count(o.refused) AS refused,
             coalesce(sum(length(o.body)) FILTER (WHERE o.refused IS NULL), 0) AS waiting_bytes
        FROM destination d LEFT JOIN outbox o ON o.owner = ? AND o.destination = d.name
       WHERE d.owner = ? GROUP BY d.name ORDER BY d.name`),
    posted: db.prepare(`SELECT key, place, is_open FROM posted WHERE ${of} AND key = ?`),
    post: db.prepare(
      "INSERT OR IGNORE INTO posted (owner, destination, key, thread, place, is_open) VALUES (?, ?, ?, ?, ?, ?)",
    ),
    end: db.prepare(`UPDATE posted SET is_open = 0 WHERE ${of} AND key = ? AND place = ? AND is_open = 1`),
    stillOpen: db.prepare(
      `SELECT key, place, is_open FROM posted WHERE ${of} AND thread = ? AND is_open = 1 ORDER BY key`,
    ),
    put: db.prepare("INSERT INTO outbox (owner, destination, batch, key, what, body, at) VALUES (?, ?, ?, ?, ?, ?, ?)"),
    next: db.prepare(`
      SELECT * FROM outbox WHERE ${of} AND refused IS NULL
         AND batch = (SELECT batch FROM outbox WHERE ${of} AND refused IS NULL ORDER BY id LIMIT 1)
       ORDER BY id LIMIT ?`),
    items: db.prepare(`SELECT * FROM outbox WHERE ${of} ORDER BY refused IS NULL, id LIMIT ?`),
    remove: db.prepare("DELETE FROM outbox WHERE id = ?"),
    arrived: db.prepare(
      `UPDATE destination SET delivered = delivered + ?, delivered_at = ?, turned_down = coalesce(?, turned_down), failures = 0, next_at = 0, reason = NULL WHERE ${at}`,
    ),
    refuse: db.prepare("UPDATE outbox SET refused = ?, attempts = attempts + 1 WHERE id = ?"),
    attempt: db.prepare("UPDATE outbox SET attempts = attempts + 1 WHERE id = ?"),
    postpone: db.prepare(`UPDATE destination SET failures = failures + 1, next_at = ?, reason = ? WHERE ${at}`),
    hurry: db.prepare(`UPDATE destination SET failures = 0, next_at = 0, reason = NULL WHERE ${at}`),
    retry: db.prepare(`UPDATE outbox SET refused = NULL WHERE ${of} AND refused IS NOT NULL`),
    drop: db.prepare(`DELETE FROM outbox WHERE ${of} AND refused IS NOT NULL`),
    bytes: db.prepare("SELECT coalesce(sum(length(body)), 0) AS bytes FROM outbox WHERE owner = ?"),
    held: db.prepare(`SELECT holder, held_until FROM destination WHERE ${at}`),
    hold: db.prepare(`UPDATE destination SET holder = ?, held_until = ? WHERE ${at}`),
    ask: db.prepare(`UPDATE destination SET asked_at = ? WHERE ${at}`),
    release: db.prepare(
      `UPDATE destination SET holder = NULL, held_until = 0 WHERE ${at} AND holder = ? AND asked_at <= ?`,
    ),
    lookedTo: db.prepare(`UPDATE destination SET looked_to = ? WHERE ${at}`),
    movePosted: db.prepare(`UPDATE posted SET thread = ? WHERE ${of} AND thread = ? AND is_open = 1`),
    unfinished: db.prepare(`SELECT thread FROM unfinished_export WHERE ${of} ORDER BY thread`),
    addUnfinished: db.prepare("INSERT OR IGNORE INTO unfinished_export (owner, destination, thread) VALUES (?, ?, ?)"),
    removeUnfinished: db.prepare(`DELETE FROM unfinished_export WHERE ${of} AND thread = ?`),
  };
}
