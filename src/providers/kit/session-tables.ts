import type { AgentKey, CallKey, RecordKey } from "../../core/facts/ids.ts";
import { callKey, recordKey, threadKey } from "../../core/facts/ids.ts";
import type { LifecycleState, RecordRead } from "../../core/facts/observation.ts";
import { NO_TOKENS, type Tokens } from "../../core/facts/usage.ts";
import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import type { DatabasePlan, DatabaseSchema, Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import {
  asCount,
  asNonBlank,
  asObject,
  asText,
  decodeText,
  type JsonObject,
  parseJson,
} from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { RECORD } from "./record.ts";

/** A database with one row per session and one per message, which name their session in `session_id`. */
export interface SessionTables {
  /** Columns of both tables: those that must exist, and those that are read if they exist. */
  readonly sessions: { readonly needed: readonly string[]; readonly read: readonly string[] };
  readonly messages: { readonly needed: readonly string[]; readonly read: readonly string[] };
  /** SQL conditions and values about the session `s`. */
  readonly isRead: string;
  readonly computed: Readonly<Record<string, string>>;
  /** The column of messages that is JSON. It is `content` of the record. */
  readonly content: string;
  /** The column that grows with every change of a message; messages of the same value are read again. */
  readonly changed: string;
}

/** The reader's position in a session. */
interface Cursor {
  readonly changed: number;
  readonly messages: number;
}

const SESSION_ROW = "session";
const ASSISTANT = "m.session_id = s.id AND m.role = 'assistant'";

const cursorIn = (saved: unknown): Cursor => {
  const json = asObject(saved);
  return { changed: asCount(json?.changed), messages: asCount(json?.messages) };
};

/** Each session is an object. Its own row is read at every change, of its messages those that are new or changed. */
export function planOf(
  { sessions, messages, isRead, computed, content, changed }: SessionTables,
  { tables }: DatabaseSchema,
): DatabasePlan | { readonly unknown: string } {
  const has = (table: string) => tables.get(table) ?? [];
  const missing = [
    ...sessions.needed.filter((name) => !has("sessions").includes(name)).map((name) => `sessions.${name}`),
    ...[...messages.needed, content]
      .filter((name) => !has("messages").includes(name))
      .map((name) => `messages.${name}`),
  ];
  if (missing.length > 0) return { unknown: tables.size === 0 ? "it is empty" : `it has no ${missing.join(", no ")}` };
  const fields = (table: "sessions" | "messages", alias: string, columns: readonly string[]) =>
    columns.filter((name) => has(table).includes(name)).map((name) => `'${name}', ${alias}.${name}`);
  const last = (column: string) =>
    has("messages").includes(column)
      ? `(SELECT m.${column} FROM messages m WHERE ${ASSISTANT} ORDER BY m.rowid DESC LIMIT 1)`
      : "NULL";
  const extras = { last: last("id"), calls: `(SELECT count(*) FROM messages m WHERE ${ASSISTANT})`, ...computed };
  const whole = [
    ...fields("sessions", "s", [...sessions.needed, ...sessions.read]),
    ...Object.entries(extras).map(([name, sql]) => `'${name}', ${sql}`),
    `'messages', (SELECT count(*) FROM messages m WHERE m.session_id = s.id)`,
  ];
  const session = `SELECT '${SESSION_ROW}' AS row, 0 AS position, json_object('is', 'session', ${whole.join(", ")}) AS record FROM sessions s WHERE s.id = ?1`;
  const rest = `json_object('is', 'message', 'changed', m.${changed}, ${fields("messages", "m", [...messages.needed, ...messages.read]).join(", ")})`;
  // The content is embedded as it is: quoted, it would be parsed twice.
  const message = `SELECT m.id || '' AS row, m.rowid AS position, '{"content":' || iif(json_valid(m.${content}), m.${content}, 'null') || ',' || substr(${rest}, 2) AS record FROM messages m WHERE m.session_id = ?1`;
  return {
    objects: {
      sql: `SELECT s.id AS object, concat_ws(' ', s.updated_at, (SELECT concat_ws(' ', count(*), max(m.${changed}), max(m.rowid)) FROM messages m WHERE m.session_id = s.id)) AS revision FROM sessions s WHERE ${isRead}`,
      values: [],
    },
    rows: (id, saved) => ({
      sql: `${session} UNION ALL ${message} AND m.${changed} >= ?2 ORDER BY position`,
      values: [id, cursorIn(saved).changed],
    }),
    row: (id, row) =>
      row === SESSION_ROW ? { sql: session, values: [id] } : { sql: `${message} AND m.id = ?2`, values: [id, row] },
    extent: (id, saved) => ({
      sql: `SELECT coalesce(sum(octet_length(m.${content})), 0) AS bytes, count(*) >= ?2 AS intact FROM messages m WHERE m.session_id = ?1`,
      values: [id, cursorIn(saved).messages],
    }),
  };
}

/** What a message states, in the words of all products. */
export interface ReadMessage {
  readonly id: string;
  readonly at: number | null;
  readonly role: "user" | "assistant" | "other";
  readonly state: RecordRead["state"];
  readonly isCertain: boolean;
  readonly text: string;
  readonly thoughts: readonly string[];
  readonly error: string | null;
  readonly model: string | null;
  readonly vendor: string | null;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: JsonObject }[];
  readonly results: readonly {
    readonly call: string;
    readonly name: string | null;
    readonly isError: boolean;
    readonly text: string;
  }[];
}

/** The usage of a session as its row states it. It counts for the last response. */
export interface StatedUsage {
  readonly at: number | null;
  readonly tokens: Tokens;
  readonly costUsd: number | null;
  readonly model: string | null;
}

/** Every session is a thread here; those that another one spawned become its children when linked. */
export const keysOf = (name: string) => ({
  session: (id: string): AgentKey => threadKey(name, id),
  call: (session: string, id: string): CallKey => callKey(name, `${session}/${id}`),
  record: (session: string, id: string): RecordKey => recordKey(name, `${session}/${id}`),
});

/** Reads one session of such a database. */
export abstract class SessionRows implements Parser {
  protected readonly key: ReturnType<typeof keysOf>;
  protected readonly file: SourceFile;
  #cursor: Cursor;
  #last: { readonly row: string | undefined; readonly drafts: readonly EventDraft[] } | null = null;

  constructor(name: string, file: SourceFile, saved?: unknown) {
    this.key = keysOf(name);
    this.file = file;
    this.#cursor = cursorIn(saved);
  }

  /** States what the row of the session says about it, and returns its usage. */
  protected abstract session(out: FindingsOf, id: string, json: JsonObject): StatedUsage | null;
  protected abstract message(json: JsonObject): ReadMessage | null;
  /** States the agents that a message spawns or names. */
  protected abstract spawns(out: FindingsOf, session: string, message: ReadMessage, json: JsonObject): void;

  save = (): Cursor => this.#cursor;

  events(record: Uint8Array, line: number, row?: string): readonly EventDraft[] {
    if (this.#last === null || this.#last.row !== row) this.push(record, line, row);
    return this.#last?.drafts ?? [];
  }

  push(record: Uint8Array, line: number, row?: string): Findings {
    this.#last = { row, drafts: [] };
    const { path } = this.file;
    const json = asObject(parseJson(decodeText(record).text)?.value);
    const id = asNonBlank(json?.is === "session" ? json.id : json?.session_id);
    if (json === null || id === null)
      return problemAt(path, line, "record-malformed", "a row without its session", row);
    const speaker = this.key.session(id);
    if (json.is === "session") {
      this.#cursor = { ...this.#cursor, messages: asCount(json.messages) };
      const out = new FindingsOf({ path, line, row, at: null, speaker, keys: [] });
      this.#session(out, id, json);
      return out;
    }
    this.#cursor = { ...this.#cursor, changed: Math.max(this.#cursor.changed, asCount(json.changed)) };
    const message = this.message(json);
    if (message === null) return problemAt(path, line, "record-malformed", "a message that cannot be read", row);
    const response = this.key.record(id, message.id);
    const out = new FindingsOf({ path, line, row, at: message.at, speaker, keys: [response] });
    this.#message(out, id, message, response);
    this.spawns(out, id, message, json);
    this.#last = { row, drafts: this.#drafts(id, message, response) };
    return out;
  }

  #session(out: FindingsOf, id: string, json: JsonObject) {
    const { path, bytes } = this.file;
    out.add({ type: "agent-described", agent: this.key.session(id), file: { path, bytes } });
    const usage = this.session(out, id, json);
    const last = asNonBlank(json.last) ?? (typeof json.last === "number" ? String(json.last) : null);
    if (usage === null || last === null) return;
    const response = this.key.record(id, last);
    // The last statement of a cost counts.
    out.part({ at: usage.at, keys: [response], order: Number.MAX_SAFE_INTEGER }).add({
      type: "model-call",
      response,
      model: usage.model ?? "",
      tokens: usage.tokens,
      ...(usage.costUsd === null ? {} : { costUsd: usage.costUsd }),
      chars: 0,
      ended: true,
      fromTotals: true,
    });
  }

  #message(out: FindingsOf, session: string, message: ReadMessage, response: RecordKey) {
    const { role, state, text, error, calls, results, model, vendor } = message;
    out.add({
      ...RECORD,
      role,
      state,
      certain: message.isCertain,
      calls: calls.map(({ id, name }) => ({ call: this.key.call(session, id), name })),
      results: results.map(({ call, isError }) => ({ call: this.key.call(session, call), isError })),
      text: state === "answered" && text.trim() !== "" ? text : null,
      message: role !== "other",
      ...(error === null ? {} : { error }),
    });
    if (role === "user" && text.trim() !== "" && results.length === 0)
      out.add({ type: "agent-described", agent: this.key.session(session), prompt: text });
    // Its usage is in the row of the session, with that of all other responses.
    if (role === "assistant")
      out.add({
        type: "model-call",
        response,
        model: model ?? "",
        ...(vendor === null ? {} : { vendor }),
        costUsd: 0,
        tokens: NO_TOKENS,
        chars: 0,
        ended: false,
        fromTotals: true,
      });
  }

  #drafts(session: string, message: ReadMessage, response: RecordKey): readonly EventDraft[] {
    const { at, role, text, thoughts, error, calls, results } = message;
    const base = {
      speaker: this.key.session(session),
      keys: [response],
      at,
      tool: null,
      response: role === "assistant" ? response : null,
    };
    const drafts: Omit<EventDraft, "name">[] = [
      ...thoughts.map((thought) => ({ ...base, kind: "reasoning" as const, text: thought })),
      ...(text.trim() === "" || results.length > 0
        ? []
        : [{ ...base, kind: role === "other" ? ("note" as const) : role, text }]),
      ...(error === null ? [] : [{ ...base, kind: "error" as const, text: error }]),
      ...calls.map(({ id, name, input }) => ({
        ...base,
        kind: "toolCall" as const,
        text: null,
        tool: { name, call: this.key.call(session, id), input, isError: false },
      })),
      ...results.map(({ call, name, isError, text: result }) => ({
        ...base,
        kind: "toolResult" as const,
        text: result,
        tool: { name, call: this.key.call(session, call), input: null, isError },
      })),
    ];
    return drafts.map((draft, i) => ({ ...draft, name: String(i) }));
  }

  /** The end of the agent of a call, as the result of the call states it. */
  protected ended(out: FindingsOf, child: AgentKey, state: LifecycleState, says: string, result: string | null) {
    out.add({ type: "lifecycle", of: child, state, source: "parent_rollout", says, result });
  }
}

/** Texts of JSON columns. */
export const columnIn = (value: unknown): unknown => parseJson(asText(value) ?? "")?.value;
