import { threadKey } from "../../../core/facts/ids.ts";
import { UNASSIGNED_RULE } from "../../../core/link/evidence.ts";
import { FindingsOf, problemAt } from "../../../core/ports/findings.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../../core/ports/provider.ts";
import { readRecorded } from "../../../core/ports/recording.ts";
import {
  asCount,
  asList,
  asNonBlank,
  asNumber,
  asObject,
  asText,
  decodeText,
  type JsonObject,
} from "../../../core/tools/json.ts";
import type { EventDraft } from "../../../core/views/event.ts";
import { AT_WORK } from "../live-stream.ts";
import { RECORD } from "../record.ts";
import { errorKey, eventsOf, eventsOfPart } from "./events.ts";
import { asMessage, Fold } from "./fold.ts";
import { isResponse, type Request, type Update, updateIn } from "./frame.ts";
import type { Keys } from "./keys.ts";
import { copyKey, partCopyKey, readLonePart, readMessage, speakerOf, stateAfter } from "./message.ts";
import { readSession } from "./session.ts";
import { errorText, type Message, messageOf, partOf, sessionOf } from "./shapes.ts";

/** Text deltas, by far the most frames. The complete text follows. */
const DELTA = '"message.part.delta"';
const HEAD = 1_000;

interface Waiting {
  readonly session: string;
  readonly since: number;
  readonly request: Request;
}

/**
 * Reads the recording of a followed server: frames of its event stream and responses to requests. Each states the
 * current state of a session, message or request and replaces earlier ones about it.
 */
export class ServerEvents implements Parser {
  readonly #key: Keys;
  readonly #file: SourceFile;
  readonly #fold: Fold;
  readonly #sessions = new Map<string, JsonObject>();
  readonly #waiting = new Map<string, Waiting>();
  /** When a session failed, for sessions that have not continued since. */
  readonly #failed = new Map<string, number>();
  /** Errors that were returned as events: by message, or by session and text. */
  readonly #returnedErrors = new Set<string>();
  /** The last error of each session: its text, and the newest message at the time. */
  readonly #lastErrors = new Map<string, { readonly after: string | null; readonly says: string }>();
  /** When each session was last mentioned. */
  readonly #mentioned = new Map<string, number>();

  constructor(key: Keys, file: SourceFile, saved?: unknown) {
    this.#key = key;
    this.#file = file;
    const json = asObject(saved);
    this.#fold = new Fold(json?.fold);
    for (const item of asList(json?.sessions))
      this.#sessions.set(asText(asObject(item)?.id) ?? "", asObject(item) ?? {});
    for (const item of asList(json?.waiting)) this.#waiting.set((item as Waiting).request.id, item as Waiting);
    for (const [session, at] of Object.entries(asObject(json?.failed) ?? {})) this.#failed.set(session, asCount(at));
    for (const [session, at] of Object.entries(asObject(json?.mentioned) ?? {}))
      this.#mentioned.set(session, asCount(at));
  }

  save(): unknown {
    const [sessions, waiting] = [[...this.#sessions.values()], [...this.#waiting.values()]];
    return {
      fold: this.#fold.save(),
      sessions,
      waiting,
      failed: Object.fromEntries(this.#failed),
      mentioned: Object.fromEntries(this.#mentioned),
    };
  }

  push(record: Uint8Array, line: number): Findings {
    if (isDelta(record)) return NOTHING;
    const recorded = readRecorded(record);
    if (recorded === null) return problemAt(this.#file.path, line, "record-malformed", `${record.length} bytes`);
    if ("text" in recorded) return problemAt(this.#file.path, line, "line-not-json", recorded.text.slice(0, 80));
    const update = "raw" in recorded ? updateIn(recorded.raw) : null;
    if (update === null) return NOTHING;
    const rows = new Rows(this.#file.path, line);
    this.#introduce(rows, update.session);
    this.#apply(rows, update, recorded.at);
    if ("raw" in recorded && !isResponse(recorded.raw)) this.#mentioned.set(update.session, recorded.at);
    return rows;
  }

  /** A line may be read alone, or after others, which give its context. */
  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (isDelta(record)) return [];
    const recorded = readRecorded(record);
    const update = recorded !== null && "raw" in recorded ? updateIn(recorded.raw) : null;
    if (update?.is === "message") {
      const message = messageOf(update.info, [], update);
      this.#fold.info(update.id, update.session, update.info, line);
      // An error is returned when the message is complete.
      return message === null || message.completed === null
        ? []
        : this.#newEvents(message, eventsOf(this.#key, message));
    }
    if (update?.is === "whole-message") {
      const message = messageOf(update.info, update.parts, update);
      this.#fold.whole(update.id, update.session, update.info, update.parts, line);
      return message === null ? [] : this.#newEvents(message, eventsOf(this.#key, message));
    }
    if (update?.is === "error" && recorded !== null) return this.#failureEvent(update, recorded.at);
    if (update?.is !== "part") return [];
    const part = partOf({ ...update.part, id: update.id });
    const known = this.#fold.part(update.message, update.session, update.id, update.part, line);
    const message = known === null ? null : asMessage(update.message, known);
    if (part === null) return [];
    if (message !== null)
      return this.#newEvents(
        message,
        eventsOf(this.#key, { ...message, info: { ...message.info, error: null }, parts: [part] }),
      );
    return part.start !== null && part.end === null && part.type !== "tool"
      ? []
      : eventsOfPart(this.#key, part, update.session, this.#key.record(`${update.message} 0`));
  }

  /** The server reports a failure for the session and for its message. Only the first report becomes an event. */
  #failureEvent({ session, error, id }: Extract<Update, { is: "error" }>, at: number): EventDraft[] {
    const text = errorText(error);
    const newest = this.#fold.newest(session);
    const message = newest?.info.role === "assistant" ? newest : null;
    // One failure may be reported twice, the second time with a stack trace (1.18.33: an unknown model).
    const [last, after] = [this.#lastErrors.get(session), newest?.id ?? null];
    if (last !== undefined && last.after === after && text.includes(last.says)) return [];
    this.#lastErrors.set(session, { after, says: text.replace(/^\w+: /, "") });
    if (message !== null && asObject(message.info.error) !== null && this.#returnedErrors.has(message.id)) return [];
    this.#returnedErrors.add(message?.id ?? `${session} ${text}`);
    const keys = message !== null ? [errorKey(this.#key, message.id)] : id === null ? [] : [this.#key.record(id)];
    return [
      {
        speaker: this.#key.session(session),
        keys,
        kind: "error",
        text,
        at,
        tool: null,
        response: null,
        ...(id === null ? {} : { name: id }),
      },
    ];
  }

  #newEvents(message: Message, drafts: readonly EventDraft[]): readonly EventDraft[] {
    const added = drafts.filter(
      ({ name, text }) =>
        name !== "error" ||
        !(this.#returnedErrors.has(message.id) || this.#returnedErrors.delete(`${message.session} ${text}`)),
    );
    if (added.some(({ name }) => name === "error")) this.#returnedErrors.add(message.id);
    return named(message, added);
  }

  /** States the recording as a file of every session that it mentions. */
  #introduce(rows: Rows, session: string) {
    if (this.#mentioned.has(session)) return;
    this.#mentioned.set(session, 0);
    const out = rows.of(`file ${session}`, { at: null, speaker: this.#key.session(session), keys: [] });
    out.add({
      type: "agent-described",
      agent: this.#key.session(session),
      file: { path: this.#file.path, bytes: this.#file.bytes },
    });
  }

  #apply(rows: Rows, update: Update, at: number) {
    switch (update.is) {
      case "session":
        return this.#session(rows, update.session, update.info);
      case "session-unknown":
        return this.#unassigned(rows, update.session, at);
      case "deleted":
        this.#closeRequests(rows, update.session);
        return this.#addShutdown(rows, update.session, at, "its session was deleted");
      case "error":
        return this.#error(rows, update, at);
      case "message":
        // A new message after a failure: a new prompt or a retry.
        if (this.#fold.isNew(update.id)) this.#clearFailure(rows, update.session);
        return this.#message(rows, update.id, this.#fold.info(update.id, update.session, update.info, rows.line));
      case "whole-message":
        if (
          this.#fold.isNew(update.id) &&
          (messageOf(update.info, [], update)?.created ?? 0) > (this.#failed.get(update.session) ?? 0)
        )
          this.#clearFailure(rows, update.session);
        return this.#message(
          rows,
          update.id,
          this.#fold.whole(update.id, update.session, update.info, update.parts, rows.line),
        );
      case "message-removed":
      case "part-removed":
        return this.#removed(rows, update);
      case "part":
        return this.#part(rows, update);
      case "status":
        return this.#status(rows, update, at);
      case "request":
        return this.#addRequest(rows, update.session, update.request, at);
      case "request-closed":
        return this.#closeRequest(rows, update.request);
      case "pending-requests":
        return this.#setRequests(rows, update, at);
      default:
        return update satisfies never;
    }
  }

  #session(rows: Rows, id: string, info: JsonObject) {
    const known = this.#sessions.get(id) ?? {};
    const updated = (json: JsonObject) => asNumber(asObject(json.time)?.updated) ?? 0;
    // Updates omit constant fields.
    const merged = updated(info) >= updated(known) ? { ...known, ...info } : { ...info, ...known };
    const { title, version, parentID, directory, agent, permission, time } = merged;
    const needed = Object.fromEntries(
      Object.entries({ id, title, version, parentID, directory, agent, permission, time }).filter(
        ([, value]) => value !== undefined,
      ),
    );
    this.#sessions.set(id, needed);
    const session = sessionOf(needed);
    rows.drop(`unassigned ${id}`);
    if (session === null) return;
    readSession(
      this.#key,
      rows.of(id, { at: session.created, speaker: this.#key.session(id), keys: [] }),
      session,
      this.#file,
      null,
    );
  }

  /** The server does not know the session. If it was known before, it was deleted. */
  #unassigned(rows: Rows, id: string, at: number) {
    if (this.#sessions.has(id)) return this.#addShutdown(rows, id, at, "its server no longer knows it");
    const agent = this.#key.session(id);
    const parent = threadKey("unassigned", this.#key.name);
    const out = rows.of(`unassigned ${id}`, { at: null, speaker: agent, keys: [] });
    out.add({ type: "agent-described", agent: parent, kind: "unassigned" });
    const says = "the server has no session with this id, so its thread is unknown";
    out.add({
      type: "parent-named",
      child: agent,
      parent,
      rule: UNASSIGNED_RULE,
      source: "inferred",
      confidence: 0.05,
      says,
    });
  }

  #message(rows: Rows, id: string, folded: ReturnType<Fold["get"]> | null) {
    const message = folded == null ? null : asMessage(id, folded);
    if (folded == null || message === null) return;
    for (const part of folded.parts.keys()) rows.drop(part);
    // The message itself reports the failure by now.
    if (asObject(message.info.error) !== null && this.#fold.newest(folded.session)?.id === id)
      this.#clearFailure(rows, folded.session);
    if (!this.#fold.isOpen(folded.session)) rows.drop(`state ${folded.session}`);
    readMessage(
      this.#key,
      rows.of(id, {
        at: message.created,
        speaker: speakerOf(this.#key, message),
        keys: [copyKey(this.#key, message)],
        order: folded.order,
      }),
      message,
    );
  }

  #part(rows: Rows, { session, message, id, part: json }: Extract<Update, { is: "part" }>) {
    const folded = this.#fold.part(message, session, id, json, rows.line);
    if (folded !== null && folded.info !== null) return this.#message(rows, message, folded);
    // The message of the part is unknown, or no longer in memory.
    const part = partOf({ ...json, id });
    if (part === null) return;
    readLonePart(
      this.#key,
      rows.of(id, {
        at: part.start,
        speaker: this.#key.session(session),
        keys: part.start === null ? [] : [partCopyKey(this.#key, part)],
      }),
      part,
      session,
    );
  }

  #removed(rows: Rows, update: Extract<Update, { is: "message-removed" | "part-removed" }>) {
    this.#fold.remove(update.id);
    rows.drop(update.id);
    if (update.is === "part-removed") this.#message(rows, update.message, this.#fold.get(update.message));
  }

  #status(rows: Rows, { session, status, asked }: Extract<Update, { is: "status" }>, at: number) {
    // The session continued while the request was pending.
    if (asked !== null && (this.#mentioned.get(session) ?? 0) >= asked) return;
    rows.drop(`state ${session}`);
    if (status.type === "idle") {
      this.#closeRequests(rows, session);
      return this.#addShutdown(rows, session, asked ?? at, "its server reports it as idle");
    }
    // A running session is active if it has unfinished work, or if it had failed: then it continues.
    const hadFailed = this.#failed.has(session) || asObject(this.#fold.newest(session)?.info.error) !== null;
    this.#clearFailure(rows, session);
    if (!hadFailed && !this.#fold.isOpen(session)) return;
    const time = hadFailed ? Math.max(asked ?? at, this.#fold.lastTime(session)) : (asked ?? at);
    const out = rows.of(`state ${session}`, { at: time, speaker: this.#key.session(session), keys: [] });
    out.add(hadFailed ? AT_WORK : RECORD);
    if (status.type !== "retry") return;
    const text = asNonBlank(status.message);
    const says = `to try again (attempt ${asNumber(status.attempt) ?? 1}${text === null ? "" : `: ${text}`})`;
    out.add({ type: "waits", agent: this.#key.session(session), for: null, says });
  }

  /**
   * A failure of the session that no message reports (yet). Sorted after everything known at that time, because clocks
   * differ.
   */
  #error(rows: Rows, { session, error }: Extract<Update, { is: "error" }>, at: number) {
    rows.drop(`state ${session}`);
    this.#closeRequests(rows, session);
    if (asObject(this.#fold.newest(session)?.info.error) !== null) return;
    this.#failed.set(session, at);
    const out = rows.of(`error ${session}`, {
      at: Math.max(at, this.#fold.lastTime(session)),
      speaker: this.#key.session(session),
      keys: [],
    });
    out.add({ ...RECORD, ...stateAfter(error) });
  }

  #clearFailure(rows: Rows, session: string) {
    if (this.#failed.delete(session)) rows.drop(`error ${session}`);
  }

  /** Ends unfinished work. An end in its own last message, now or later, takes precedence. */
  #addShutdown(rows: Rows, session: string, at: number, says: string) {
    rows.drop(`state ${session}`);
    if (!this.#fold.isOpen(session)) return;
    const out = rows.of(`state ${session}`, { at, speaker: this.#key.session(session), keys: [] });
    out.add({
      type: "lifecycle",
      of: this.#key.session(session),
      state: "shutdown",
      source: "child_rollout",
      says,
      result: null,
      yields: true,
    });
  }

  #addRequest(rows: Rows, session: string, request: Request, at: number) {
    const since = this.#waiting.get(request.id)?.since ?? at;
    this.#waiting.set(request.id, { session, since, request });
    const agent = this.#key.session(session);
    const call = request.call == null ? {} : { call: this.#key.call(session, request.call) };
    rows
      .of(request.id, { at: since, speaker: agent, keys: [] })
      .add({ type: "waits", agent, for: request.for, says: request.says, ...call });
  }

  #closeRequest(rows: Rows, request: string) {
    this.#waiting.delete(request);
    rows.drop(request);
  }

  /** All pending requests of the server; others were answered while disconnected. */
  #setRequests(
    rows: Rows,
    { session, requests, what, asked }: Extract<Update, { is: "pending-requests" }>,
    at: number,
  ) {
    const open = new Set(requests.map(({ id }) => id));
    for (const [id, { session: of, request, since }] of this.#waiting)
      if (of === session && request.for === what && since < asked && !open.has(id)) this.#closeRequest(rows, id);
    if ((this.#mentioned.get(session) ?? 0) >= asked) return;
    for (const request of requests) this.#addRequest(rows, session, request, at);
  }

  /** The session has no pending requests any more. */
  #closeRequests(rows: Rows, session: string) {
    for (const [id, waiting] of this.#waiting) if (waiting.session === session) this.#closeRequest(rows, id);
  }
}

/** The findings of one line, by the object they are about. */
class Rows implements Findings {
  readonly line: number;
  readonly observations: FindingsOf["observations"] = [];
  readonly problems: FindingsOf["problems"] = [];
  readonly #path: string;
  readonly #names = new Set<string>();

  constructor(path: string, line: number) {
    this.#path = path;
    this.line = line;
  }

  get replaces(): readonly string[] {
    return [...this.#names];
  }

  of(row: string, context: Omit<ConstructorParameters<typeof FindingsOf>[0], "path" | "line" | "row">): FindingsOf {
    this.#names.add(row);
    return new FindingsOf({ path: this.#path, line: this.line, row, origin: "relay", ...context }, this);
  }

  drop(row: string): void {
    this.#names.add(row);
  }
}

const isDelta = (record: Uint8Array) => decodeText(record.subarray(0, HEAD)).text.includes(DELTA);

/** Errors are named after their message, because many lines of a recording contain the same one. */
const named = (message: Message, drafts: readonly EventDraft[]) =>
  drafts.map((draft) => (draft.name === "error" ? { ...draft, name: `${message.id} error` } : draft));
