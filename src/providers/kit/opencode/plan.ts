import type { DatabasePlan, DatabaseSchema, Mark, Query } from "../../../core/ports/provider.ts";
import { asCount, asObject, asText } from "../../../core/tools/json.ts";

/** The reader's position in a session. */
export interface Cursor {
  /** The newest change time, and the record with this time, which is read again only if its size changes. */
  readonly updated: number;
  readonly edge: string;
  readonly edgeSize: number;
  readonly extent: Extent;
  /** The last message is incomplete. */
  readonly open: boolean;
}

/** Number of messages and parts, and row number and id of the last of each: shows whether rows were deleted. */
export interface Extent {
  readonly messages: number;
  readonly parts: number;
  readonly message: number;
  readonly part: number;
  readonly messageId: string;
  readonly partId: string;
}

export function cursorIn(saved: unknown): Cursor | null {
  const json = asObject(saved);
  const extent = asObject(json?.extent);
  if (json === null || extent === null) return null;
  return {
    updated: asCount(json.updated),
    edge: asText(json.edge) ?? "",
    edgeSize: asCount(json.edgeSize),
    extent: extentIn(extent),
    open: json.open === true,
  };
}

export const extentIn = (value: unknown): Extent => {
  const json = asObject(value) ?? {};
  return {
    messages: asCount(json.messages),
    parts: asCount(json.parts),
    message: asCount(json.message),
    part: asCount(json.part),
    messageId: asText(json.messageId) ?? "",
    partId: asText(json.partId) ?? "",
  };
};

const NEEDED = {
  session: ["id", "parent_id", "title", "version", "directory", "time_created", "time_updated"],
  message: ["id", "session_id", "time_created", "time_updated", "data"],
  part: ["id", "message_id", "session_id", "time_created", "time_updated", "data"],
} as const;

/** Tables of OpenCode 2, which keeps its sessions in the same file. */
const V2_TABLES = ["session_v2"];

/** Above these numbers of new events and rows, every session is checked instead. */
const MAX_EVENTS = 20_000;
const MAX_ROWS = 100_000;
/** Larger parts are not read; most are attached files. */
const MAX_PART = 4 << 20;

/** SQLite since 1.2.0. Missing columns are read as null. */
export function planFor({ tables }: DatabaseSchema): DatabasePlan | { readonly unknown: string } {
  const missing = Object.entries(NEEDED).flatMap(([table, columns]) =>
    columns.filter((column) => tables.get(table)?.includes(column) !== true).map((column) => `${table}.${column}`),
  );
  const ofV2 = V2_TABLES.filter((table) => tables.has(table));
  if (missing.length > 0) {
    const names = [...tables.keys()].sort().join(", ");
    const why =
      ofV2.length > 0
        ? "it belongs to OpenCode 2, whose schema is not supported yet"
        : `it has no ${missing.slice(0, 3).join(", no ")}`;
    return { unknown: tables.size === 0 ? "it is empty" : `${why}; its tables: ${names}` };
  }
  const events = tables.has("event") && tables.has("event_sequence");
  const plan = planOfV1(tables.get("session") ?? [], events);
  return ofV2.length === 0
    ? plan
    : {
        ...plan,
        unread: `the sessions of OpenCode 2 in it (${ofV2.join(", ")}) have a schema that is not supported yet`,
      };
}

function planOfV1(columns: readonly string[], events: boolean): DatabasePlan {
  const seq = events ? "(SELECT seq FROM event_sequence q WHERE q.aggregate_id = s.id)" : "NULL";
  return {
    objects: {
      sql: `SELECT s.id AS object, concat_ws(':', ${seq}, s.time_updated, (SELECT max(rowid) FROM part p WHERE p.session_id = s.id)) AS revision FROM session s`,
      values: [],
    },
    changes: {
      mark: { sql: markSql(events), values: [] },
      changed: (since, now) => changedSql(since, now, events),
      lost: (since) => ({
        sql: "SELECT NOT EXISTS (SELECT 1 FROM session WHERE rowid = ?1 AND id = ?2) OR (SELECT count(*) FROM session WHERE +rowid <= ?1) < ?3 AS lost",
        values: [since.session ?? 0, since.sessionId ?? "", since.sessions ?? 0],
      }),
      // Up to 1.15 the event log exists but is empty.
      isOpen: (saved, now) => now.event === null && cursorIn(saved)?.open === true,
    },
    rows: (session, saved) => {
      const cursor = cursorIn(saved);
      const isNew = 'updated >= ?2 AND NOT ("row" = ?3 AND size = ?4)';
      return {
        sql: recordSql(columns, isNew),
        values: [session, cursor?.updated ?? -1, cursor?.edge ?? "", cursor?.edgeSize ?? -1],
      };
    },
    row: (session, row) => ({ sql: recordSql(columns, '"row" = ?2'), values: [session, row] }),
    extent: (session, saved) => extentSql(session, cursorIn(saved)?.extent ?? null),
  };
}

/** Changes are found by row number: of the event log if there is one, and of the tables. */
function markSql(events: boolean): string {
  const event = events ? "(SELECT max(rowid) FROM event)" : "NULL";
  return `SELECT ${event} AS event, (SELECT max(rowid) FROM message) AS message, (SELECT max(rowid) FROM part) AS part,
    (SELECT max(rowid) FROM session) AS session, (SELECT id FROM session ORDER BY rowid DESC LIMIT 1) AS sessionId, (SELECT count(*) FROM session) AS sessions,
    CASE WHEN ${event} IS NULL THEN (SELECT max(time_updated) FROM session) END AS updated`;
}

function changedSql(since: Mark, now: Mark, events: boolean): Query | null {
  const grew = (what: string) => Number(now[what] ?? 0) - Number(since[what] ?? 0);
  if (grew("event") > MAX_EVENTS || grew("message") + grew("part") > MAX_ROWS) return null;
  const after = (table: string, column: string, what: string) => ({
    // NOT INDEXED: otherwise SQLite scans a whole index.
    sql: `SELECT ${column} AS object FROM ${table} NOT INDEXED WHERE rowid > ?`,
    values: [Number(since[what] ?? 0)],
  });
  const queries = [
    after("message", "session_id", "message"),
    after("part", "session_id", "part"),
    after("session", "id", "session"),
    ...(events ? [after("event", "aggregate_id", "event")] : []),
    // Without an event log a new title is only visible here.
    ...(now.event === null
      ? [
          {
            sql: "SELECT id AS object FROM session NOT INDEXED WHERE time_updated > ?",
            values: [Number(since.updated ?? 0)],
          },
        ]
      : []),
  ];
  return {
    sql: queries.map((query) => query.sql).join(" UNION ALL "),
    values: queries.flatMap((query) => query.values),
  };
}

function extentSql(session: string, known: Extent | null): Query {
  const bytes = "SELECT coalesce((SELECT sum(octet_length(data)) FROM part WHERE session_id = ?1), 0) AS bytes";
  if (known === null) return { sql: `${bytes}, 1 AS intact FROM session WHERE id = ?1`, values: [session] };
  const same = (table: string, top: string, id: string, count: string) =>
    `(${count} = 0 OR (EXISTS (SELECT 1 FROM ${table} WHERE rowid = ${top} AND id = ${id}) AND (SELECT count(*) FROM ${table} WHERE session_id = ?1 AND rowid <= ${top}) = ${count}))`;
  return {
    sql: `${bytes}, (${same("message", "?2", "?3", "?4")} AND ${same("part", "?5", "?6", "?7")}) AS intact FROM session WHERE id = ?1`,
    values: [session, known.message, known.messageId, known.messages, known.part, known.partId, known.parts],
  };
}

/** Embeds stored JSON if it is valid. */
const json = (column: string) => `iif(json_valid(${column}), ${column}, 'null')`;

/** The session and each message with its parts, as one record each. Contents are only read for `wanted` records. */
function recordSql(columns: readonly string[], wanted: string): string {
  const column = (name: string) => (columns.includes(name) ? `s.${name}` : "NULL");
  const ofMessage = (what: string) => `(SELECT ${what} FROM part p WHERE p.message_id = m.id)`;
  const part = `'{"id":' || json_quote(p.id) || ',"data":' || iif(octet_length(p.data) > ${MAX_PART}, '{"type":"oversized","bytes":' || octet_length(p.data) || '}', ${json("p.data")}) || '}'`;
  const last = (table: string, what: string) =>
    `(SELECT ${what} FROM ${table} WHERE session_id = ?1 ORDER BY rowid DESC LIMIT 1)`;
  const extent = `json_object('messages', (SELECT count(*) FROM message WHERE session_id = ?1), 'parts', (SELECT count(*) FROM part WHERE session_id = ?1),
      'message', ${last("message", "rowid")}, 'messageId', ${last("message", "id")}, 'part', ${last("part", "rowid")}, 'partId', ${last("part", "id")})`;
  return `WITH known AS MATERIALIZED (
      SELECT 'session' AS "row", 0 AS position, time_updated AS updated, 0 AS size FROM session WHERE id = ?1
      UNION ALL
      SELECT m.id, m.rowid, max(m.time_updated, coalesce(${ofMessage("max(p.time_updated)")}, 0)), octet_length(m.data) + coalesce(${ofMessage("sum(octet_length(p.data))")}, 0)
      FROM message m WHERE m.session_id = ?1),
    extent AS MATERIALIZED (SELECT ${extent} AS of)
    SELECT "row", position, json_object('updated', k.updated, 'session', json_object('id', s.id, 'parentID', s.parent_id, 'title', s.title, 'version', s.version,
        'directory', s.directory, 'agent', ${column("agent")}, 'permission', ${column("permission")}, 'time', json_object('created', s.time_created))) AS record
    FROM known k CROSS JOIN session s ON s.id = ?1 WHERE position = 0 AND ${wanted}
    UNION ALL
    SELECT "row", position, '{"updated":' || k.updated || ',"size":' || k.size || ',"extent":' || extent.of || ',"id":' || json_quote(m.id)
        || ',"sessionID":' || json_quote(m.session_id) || ',"info":' || ${json("m.data")}
        || ',"parts":[' || coalesce(${ofMessage(`group_concat(${part}, ',' ORDER BY p.rowid)`)}, '') || ']}'
    FROM known k CROSS JOIN message m ON m.rowid = k.position CROSS JOIN extent WHERE position > 0 AND ${wanted}`;
}
