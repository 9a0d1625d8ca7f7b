/** Databases of the size of real ones: recorded rows repeated, or written by the schema if a product has no recording. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { CRUSH_SCHEMA, GOOSE_SCHEMA } from "../../test/support/session-schemas.ts";
import { idsIn, isId, nextId, renewed, withLongTexts } from "./reader-texts.ts";

export const DATABASE_BYTES = 12e6;
/** So many times the messages of a session are repeated before the next session begins. */
const SESSION_TIMES = 25;
const HOUR_MS = 3_600_000;

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SQLInputValue[])[];
}

/** Repeats the rows of a recorded database with longer texts, new ids and later times; only those with messages. */
export function enlarge(path: string): void {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  const names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
  const recorded = names.map(({ name }) => tableIn(db, String(name)));
  if (recorded.some(({ name }) => name === "part")) repeatRows(db, recorded);
  // Recorded databases are vacuumed to the smallest pages.
  db.exec("PRAGMA journal_mode = DELETE; PRAGMA page_size = 4096; VACUUM");
  db.close();
}

function repeatRows(db: DatabaseSync, recorded: readonly Table[]): void {
  const tables = recorded.map((table) => (table.name === "part" ? withLongParts(table) : table));
  const sessions = new Set(tables.filter(({ name }) => name === "session").flatMap(idsOf));
  const ids = new Set(tables.flatMap((table) => [...idsOf(table), ...idsIn(textsOf(table).filter(isJson))]));
  for (const id of sessions) ids.delete(id);
  const bytes = tables.flatMap(textsOf).reduce((sum, text) => sum + text.length, 0);
  db.exec("BEGIN");
  for (let n = 1; n <= DATABASE_BYTES / bytes; n += 1) {
    const of = Math.floor(n / SESSION_TIMES);
    for (const { name, columns, rows } of tables) {
      const insert = db.prepare(`INSERT OR IGNORE INTO "${name}" VALUES (${columns.map(() => "?").join(", ")})`);
      for (const row of rows)
        insert.run(
          ...row.map((value) => {
            if (typeof value === "number") return value > 1.7e12 && value < 2e12 ? value + n * HOUR_MS : value;
            if (typeof value !== "string") return value;
            if (sessions.has(value)) return of === 0 ? value : nextId(value, of);
            return ids.has(value) ? nextId(value, n) : isJson(value) ? renewed(value, ids, n) : value;
          }),
        );
    }
  }
  db.exec("COMMIT");
}

function tableIn(db: DatabaseSync, name: string): Table {
  const columns = db.prepare(`SELECT name FROM pragma_table_info('${name}')`).all();
  const rows = db.prepare(`SELECT * FROM "${name}"`).all();
  return { name, columns: columns.map((column) => String(column.name)), rows: rows.map((row) => Object.values(row)) };
}

/** A part of a message, such as a text or a tool call with its result, is what other products call a record. */
function withLongParts(table: Table): Table {
  const longer = withLongTexts(table.rows.flat().filter(isJson));
  return {
    ...table,
    rows: table.rows.map((row) => row.map((value) => (isJson(value) ? (longer.shift() ?? value) : value))),
  };
}

const isJson = (value: unknown): value is string => typeof value === "string" && /^[[{]/.test(value);
const textsOf = ({ rows }: Table) => rows.flat().filter((value) => typeof value === "string");
const idsOf = ({ columns, rows }: Table) =>
  rows.flatMap((row) => row.filter((value, i) => /(?:^|_)id$/i.test(columns[i] ?? "") && isId(value)).map(String));

const TEXT = "and the next line of what the tool has printed\n".repeat(40);

/** A home with a database of a product that could not be recorded; false if the product is another one. */
export function writeDatabase(product: string, home: string): boolean {
  if (product === "crush") writeCrush(home);
  else if (product === "goose") writeGoose(home);
  else return false;
  return true;
}

const MESSAGES = 200;
const SESSIONS = Math.round(DATABASE_BYTES / MESSAGES / TEXT.length);
const BEGAN = 1_770_000_000;

function writeCrush(home: string): void {
  const path = join(home, "work/app");
  const list = join(home, ".local/share/crush/projects.json");
  mkdirSync(dirname(list), { recursive: true });
  writeFileSync(list, JSON.stringify({ projects: [{ path, data_dir: ".crush" }] }));
  const part = (type: string, data: object) => ({ type, data });
  writeSessions(join(path, ".crush/crush.db"), CRUSH_SCHEMA, {
    session:
      "INSERT INTO sessions (id, title, prompt_tokens, completion_tokens, cost, updated_at, created_at) VALUES (?1, 'Look around', 900, 40, 0.05, ?2, ?2)",
    message:
      "INSERT INTO messages (id, session_id, role, parts, model, provider, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, 'claude-sonnet', 'anthropic', ?5, ?5)",
    asked: (n) => ["user", [part("text", { text: `${n} ${TEXT}` })]],
    called: (n) => [
      "assistant",
      [
        part("text", { text: TEXT }),
        part("tool_call", { id: `call_${n}`, name: "bash", input: '{"command":"npm test"}', finished: true }),
        part("finish", { reason: "tool_use" }),
      ],
    ],
    returned: (n) => ["tool", [part("tool_result", { tool_call_id: `call_${n}`, name: "bash", content: TEXT })]],
  });
}

function writeGoose(home: string): void {
  const text = (words: string) => ({ type: "text", text: words });
  const value = { name: "developer__shell", arguments: { command: "npm test" } };
  writeSessions(join(home, ".local/share/goose/sessions/sessions.db"), GOOSE_SCHEMA, {
    session:
      "INSERT INTO sessions (id, name, session_type, working_dir, created_at, accumulated_input_tokens, accumulated_output_tokens) VALUES (?1, 'Tests', 'user', '/home/dev/app', datetime(?2, 'unixepoch'), 900, 40)",
    message:
      "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp) VALUES (?1, ?2, ?3, ?4, ?5)",
    asked: (n) => ["user", [text(`${n} ${TEXT}`)]],
    called: (n) => [
      "assistant",
      [text(TEXT), { type: "toolRequest", id: `call_${n}`, toolCall: { status: "success", value } }],
    ],
    returned: (n) => [
      "user",
      [{ type: "toolResponse", id: `call_${n}`, toolResult: { status: "success", value: { content: [text(TEXT)] } } }],
    ],
  });
}

type Written = (n: number) => readonly [role: string, content: readonly object[]];

interface SessionRows {
  /** Inserts a session: id, time in seconds. */
  readonly session: string;
  /** Inserts a message: id, session, role, content, time. */
  readonly message: string;
  readonly asked: Written;
  readonly called: Written;
  readonly returned: Written;
}

/** Sessions in which the model calls a tool again and again. */
function writeSessions(path: string, schema: string, rows: SessionRows): void {
  mkdirSync(dirname(path), { recursive: true });
  const db = new DatabaseSync(path);
  db.exec(schema);
  db.exec("BEGIN");
  const [session, message] = [db.prepare(rows.session), db.prepare(rows.message)];
  for (let s = 0; s < SESSIONS; s += 1) {
    const id = `20260521_${s}`;
    session.run(id, BEGAN + s * 3_600);
    for (let n = 0; n < MESSAGES; n += 1) {
      const [role, content] = (n === 0 ? rows.asked : n % 2 === 1 ? rows.called : rows.returned)(Math.ceil(n / 2));
      message.run(`${id} ${n}`, id, role, JSON.stringify(content), BEGAN + s * 3_600 + n);
    }
  }
  db.exec("COMMIT");
  db.close();
}
