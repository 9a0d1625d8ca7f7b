import type { AgentKey, CallKey, RecordKey } from "../../core/facts/ids.ts";
import { recordKey, threadKey } from "../../core/facts/ids.ts";
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
import { callKeysOf } from "./keys.ts";
import { RECORD } from "./record.ts";

/** A database with the tables `sessions` and `messages`. A message names its session in `session_id`. */
export interface SessionTables {
  readonly sessions: Columns;
  readonly messages: Columns;
  /** A condition in SQL about the session `s`: which sessions are read. */
  readonly isRead: string;
  /** More fields of a session's record: expressions in SQL about the session `s`. */
  readonly computed: Readonly<Record<string, string>>;
  /** The column of messages that contains JSON; `content` in the record of a message. */
  readonly content: string;
  /** The column that grows with every change of a message. Messages with the last value are read again. */
  readonly changed: string;
}

/** If a required column is missing, the schema is unknown. Optional ones are read if they exist. */
interface Columns {
  readonly required: readonly string[];
  readonly optional: readonly string[];
}

/** The reader's position in a session: the last value of `SessionTables.changed`, and the number of messages. */
interface Cursor {
  readonly changed: number;
  readonly messages: number;
}

const SESSION_ROW = "session";
const RESPONSES = "messages m WHERE m.session_id = s.id AND m.role = 'assistant'";
/** The id of the last response, and the number of responses. */
const LAST_RESPONSE = {
  last: `(SELECT m.id FROM ${RESPONSES} ORDER BY m.rowid DESC LIMIT 1)`,
  calls: `(SELECT count(*) FROM ${RESPONSES})`,
};

const fieldsOf = (alias: string, { required, optional }: Columns, existing: readonly string[]) =>
  [...required, ...optional].filter((name) => existing.includes(name)).map((name) => `'${name}', ${alias}.${name}`);

const cursorIn = (saved: unknown): Cursor => {
  const json = asObject(saved);
  return { changed: asCount(json?.changed), messages: asCount(json?.messages) };
};

/** Each session is an object. A change reads its own row again, and the messages that are new or changed. */
export function planOf(
  { sessions, messages, isRead, computed, content, changed }: SessionTables,
  { tables }: DatabaseSchema,
): DatabasePlan | { readonly unknown: string } {
  const inSessions = tables.get("sessions") ?? [];
  const inMessages = tables.get("messages") ?? [];
  const missing = [
    ...sessions.required.filter((name) => !inSessions.includes(name)).map((name) => `sessions.${name}`),
    ...[...messages.required, content].filter((name) => !inMessages.includes(name)).map((name) => `messages.${name}`),
  ];
  if (missing.length > 0) return { unknown: tables.size === 0 ? "it is empty" : `it has no ${missing.join(", no ")}` };
  const sessionFields = [
    ...fieldsOf("s", sessions, inSessions),
    ...Object.entries({ ...LAST_RESPONSE, ...computed }).map(([name, sql]) => `'${name}', ${sql}`),
    "'messages', (SELECT count(*) FROM messages m WHERE m.session_id = s.id)",
  ];
  const session = `SELECT '${SESSION_ROW}' AS row, 0 AS position, json_object('is', 'session', ${sessionFields.join(", ")}) AS record FROM sessions s WHERE s.id = ?1`;
  const messageFields = `json_object('is', 'message', 'changed', m.${changed}, ${fieldsOf("m", messages, inMessages).join(", ")})`;
  // The content is embedded unquoted: a quoted one would be parsed twice.
  const message = `SELECT m.id || '' AS row, m.rowid AS position, '{"content":' || iif(json_valid(m.${content}), m.${content}, 'null') || ',' || substr(${messageFields}, 2) AS record FROM messages m WHERE m.session_id = ?1`;
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

/** A message, independent of the product. */
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

/** The total usage in the row of a session. It is counted for the last response. */
export interface StatedUsage {
  readonly at: number | null;
  readonly tokens: Tokens;
  readonly costUsd: number | null;
  readonly model: string | null;
}

/** Every session is a thread here; the linker makes spawned ones children. */
const keysOf = (name: string) => ({
  session: (id: string): AgentKey => threadKey(name, id),
  call: callKeysOf(name),
  record: (session: string, id: string): RecordKey => recordKey(name, `${session}/${id}`),
});

/** Reads one session: its own row, and those of its messages. */
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

  /** States what the session's own row contains, and returns its usage. */
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
    // If several facts state the cost of a response, the last one counts.
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
    // The session's own row has the usage of all responses.
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

  /** States the title and the beginning of a thread. */
  protected began(out: FindingsOf, thread: AgentKey, at: number | null, title: string | null, cwd: string | null) {
    if (title !== null) out.add({ type: "thread-titled", of: thread, title, rank: 0 });
    if (cwd !== null && at !== null) out.addAt(at, { type: "thread-began", thread, cwd });
  }

  /** The end of the agent of a call, as the result of the call states it. */
  protected ended(
    out: FindingsOf,
    of: AgentKey | { readonly call: CallKey },
    state: LifecycleState,
    says: string,
    result: string | null,
  ) {
    out.add({ type: "lifecycle", of, state, source: "parent_rollout", says, result });
  }
}

/** Parses a column that contains JSON. */
export const columnIn = (value: unknown): unknown => parseJson(asText(value) ?? "")?.value;
