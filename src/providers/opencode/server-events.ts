import type { EventDraft } from "../../core/event.ts";
import { FindingsOf, problemAt } from "../../core/findings.ts";
import { threadKey } from "../../core/ids.ts";
import { asCount, asList, asNumber, asObject, asText, asWords, decodeText, type JsonObject } from "../../core/json.ts";
import { UNASSIGNED_RULE } from "../../core/parents.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../core/provider.ts";
import { readRecorded } from "../../core/recording.ts";
import { errorKey, eventsOf, eventsOfPart } from "./events.ts";
import { asMessage, Fold } from "./fold.ts";
import { isAnswer, type Request, type Said, saidIn } from "./frame.ts";
import * as key from "./keys.ts";
import { copyKey, partCopyKey, readLonePart, readMessage, speakerOf, standAfter } from "./message.ts";
import { readSession } from "./session.ts";
import { errorText, type Message, messageOf, partOf, sessionOf } from "./shapes.ts";

/** By far the most frames: words as they are written. They are told once more as a whole. */
const DELTA = '"message.part.delta"';
const HEAD = 1_000;

interface Waiting {
  readonly session: string;
  readonly since: number;
  readonly request: Request;
}

/**
 * What a server said about a session, as it was followed: frames of its event stream and its answers to our questions.
 * Each tells how a session, a message or a request stands by now; what an earlier one said of the same is taken back.
 */
export class ServerEvents implements Parser {
  readonly #file: SourceFile;
  readonly #fold: Fold;
  readonly #sessions = new Map<string, JsonObject>();
  readonly #waiting = new Map<string, Waiting>();
  /** When the server reported that a session failed, for sessions that have not gone on since. */
  readonly #failed = new Map<string, number>();
  /** Of errors that were told as events: the message that failed, or the session and what it said. */
  readonly #toldErrors = new Set<string>();
  /** The last error of each session that was told: what it said, and the newest message then. */
  readonly #lastErrors = new Map<string, { readonly after: string | null; readonly says: string }>();
  /** When each session was last heard of. */
  readonly #heard = new Map<string, number>();

  constructor(file: SourceFile, saved?: unknown) {
    this.#file = file;
    const json = asObject(saved);
    this.#fold = new Fold(json?.fold);
    for (const item of asList(json?.sessions)) this.#sessions.set(asText(asObject(item)?.id) ?? "", asObject(item) ?? {});
    for (const item of asList(json?.waiting)) this.#waiting.set((item as Waiting).request.id, item as Waiting);
    for (const [session, at] of Object.entries(asObject(json?.failed) ?? {})) this.#failed.set(session, asCount(at));
    for (const [session, at] of Object.entries(asObject(json?.heard) ?? {})) this.#heard.set(session, asCount(at));
  }

  save(): unknown {
    const [sessions, waiting] = [[...this.#sessions.values()], [...this.#waiting.values()]];
    return { fold: this.#fold.save(), sessions, waiting, failed: Object.fromEntries(this.#failed), heard: Object.fromEntries(this.#heard) };
  }

  push(record: Uint8Array, line: number): Findings {
    if (isDelta(record)) return NOTHING;
    const recorded = readRecorded(record);
    if (recorded === null) return problemAt(this.#file.path, line, "record-malformed", `${record.length} bytes`);
    if ("text" in recorded) return problemAt(this.#file.path, line, "line-not-json", recorded.text.slice(0, 80));
    const said = "raw" in recorded ? saidIn(recorded.raw) : null;
    if (said === null) return NOTHING;
    const rows = new Rows(this.#file.path, line);
    this.#first(rows, said.session);
    this.#take(rows, said, recorded.at);
    if ("raw" in recorded && !isAnswer(recorded.raw)) this.#heard.set(said.session, recorded.at);
    return rows;
  }

  /** By itself or after others, a line tells what stands in it; what it is a part of is known after others alone. */
  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (isDelta(record)) return [];
    const recorded = readRecorded(record);
    const said = recorded !== null && "raw" in recorded ? saidIn(recorded.raw) : null;
    if (said?.is === "message") {
      const message = messageOf(said.info, [], said);
      this.#fold.info(said.id, said.session, said.info, line);
      // How it ended is told when it has.
      return message === null || message.completed === null ? [] : this.#news(message, eventsOf(message));
    }
    if (said?.is === "whole-message") {
      const message = messageOf(said.info, said.parts, said);
      this.#fold.whole(said.id, said.session, said.info, said.parts, line);
      return message === null ? [] : this.#news(message, eventsOf(message));
    }
    if (said?.is === "error" && recorded !== null) return this.#failureEvent(said, recorded.at);
    if (said?.is !== "part") return [];
    const part = partOf({ ...said.part, id: said.id });
    const known = this.#fold.part(said.message, said.session, said.id, said.part, line);
    const message = known === null ? null : asMessage(said.message, known);
    if (part === null) return [];
    if (message !== null) return this.#news(message, eventsOf({ ...message, info: { ...message.info, error: null }, parts: [part] }));
    return part.start !== null && part.end === null && part.type !== "tool" ? [] : eventsOfPart(part, said.session, key.record(`${said.message} 0`));
  }

  /** The same failure is reported for the session and for its message: whichever comes first is told. */
  #failureEvent({ session, error, id }: Extract<Said, { is: "error" }>, at: number): EventDraft[] {
    const text = errorText(error);
    const newest = this.#fold.newest(session);
    const message = newest?.info.role === "assistant" ? newest : null;
    // One failure may be reported twice, the second time with a stack trace around the same words (1.18.33: an unknown model).
    const [last, after] = [this.#lastErrors.get(session), newest?.id ?? null];
    if (last !== undefined && last.after === after && text.includes(last.says)) return [];
    this.#lastErrors.set(session, { after, says: text.replace(/^\w+: /, "") });
    if (message !== null && asObject(message.info.error) !== null && this.#toldErrors.has(message.id)) return [];
    this.#toldErrors.add(message?.id ?? `${session} ${text}`);
    const keys = message !== null ? [errorKey(message.id)] : id === null ? [] : [key.record(id)];
    return [{ speaker: key.session(session), keys, kind: "error", text, at, tool: null, response: null, ...(id === null ? {} : { name: id }) }];
  }

  #news(message: Message, drafts: readonly EventDraft[]): readonly EventDraft[] {
    const news = drafts.filter(
      ({ name, text }) => name !== "error" || !(this.#toldErrors.has(message.id) || this.#toldErrors.delete(`${message.session} ${text}`)),
    );
    if (news.some(({ name }) => name === "error")) this.#toldErrors.add(message.id);
    return named(message, news);
  }

  /** Whoever is heard of has a record here, whatever else is known. */
  #first(rows: Rows, session: string) {
    if (this.#heard.has(session)) return;
    this.#heard.set(session, 0);
    const out = rows.of(`file ${session}`, { at: null, speaker: key.session(session), keys: [] });
    out.add({ type: "agent-described", agent: key.session(session), file: { path: this.#file.path, bytes: this.#file.bytes } });
  }

  #take(rows: Rows, said: Said, at: number) {
    switch (said.is) {
      case "session":
        return this.#session(rows, said.session, said.info);
      case "session-unknown":
        return this.#unassigned(rows, said.session, at);
      case "deleted":
        this.#settle(rows, said.session);
        return this.#stopped(rows, said.session, at, "its session was deleted");
      case "error":
        return this.#error(rows, said, at);
      case "message":
        // A message that begins after a failure: it was prompted again, or tries again by itself.
        if (this.#fold.isNew(said.id)) this.#recovered(rows, said.session);
        return this.#message(rows, said.id, this.#fold.info(said.id, said.session, said.info, rows.line));
      case "whole-message":
        if (this.#fold.isNew(said.id) && (messageOf(said.info, [], said)?.created ?? 0) > (this.#failed.get(said.session) ?? 0))
          this.#recovered(rows, said.session);
        return this.#message(rows, said.id, this.#fold.whole(said.id, said.session, said.info, said.parts, rows.line));
      case "message-removed":
      case "part-removed":
        return this.#removed(rows, said);
      case "part":
        return this.#part(rows, said);
      case "status":
        return this.#status(rows, said, at);
      case "asks":
        return this.#asks(rows, said.session, said.request, at);
      case "answered":
        return this.#answered(rows, said.request);
      case "asking":
        return this.#asking(rows, said, at);
      default:
        return said satisfies never;
    }
  }

  #session(rows: Rows, id: string, info: JsonObject) {
    const known = this.#sessions.get(id) ?? {};
    const updated = (json: JsonObject) => asNumber(asObject(json.time)?.updated) ?? 0;
    // Updates leave out what never changes.
    const merged = updated(info) >= updated(known) ? { ...known, ...info } : { ...info, ...known };
    const { title, version, parentID, directory, agent, permission, time } = merged;
    const slim = Object.fromEntries(
      Object.entries({ id, title, version, parentID, directory, agent, permission, time }).filter(([, value]) => value !== undefined),
    );
    this.#sessions.set(id, slim);
    const session = sessionOf(slim);
    rows.drop(`unassigned ${id}`);
    if (session === null) return;
    readSession(rows.of(id, { at: session.created, speaker: key.session(id), keys: [] }), session, this.#file, null);
  }

  /** Neither the stream nor the server can tell what it is. One that was known before is gone. */
  #unassigned(rows: Rows, id: string, at: number) {
    if (this.#sessions.has(id)) return this.#stopped(rows, id, at, "its server knows it no more");
    const agent = key.session(id);
    const parent = threadKey("unassigned", key.NAME);
    const out = rows.of(`unassigned ${id}`, { at: null, speaker: agent, keys: [] });
    out.add({ type: "agent-described", agent: parent, kind: "unassigned" });
    const says = "the server knows no session of this id, so that nobody can tell whose it is";
    out.add({ type: "parent-named", child: agent, parent, rule: UNASSIGNED_RULE, source: "inferred", confidence: 0.05, says });
  }

  #message(rows: Rows, id: string, folded: ReturnType<Fold["get"]> | null) {
    const message = folded == null ? null : asMessage(id, folded);
    if (folded == null || message === null) return;
    for (const part of folded.parts.keys()) rows.drop(part);
    // The message itself tells of the failure by now.
    if (asObject(message.info.error) !== null && this.#fold.newest(folded.session)?.id === id) this.#recovered(rows, folded.session);
    if (!this.#fold.isOpen(folded.session)) rows.drop(`state ${folded.session}`);
    readMessage(rows.of(id, { at: message.created, speaker: speakerOf(message), keys: [copyKey(message)], order: folded.order }), message);
  }

  #part(rows: Rows, { session, message, id, part: json }: Extract<Said, { is: "part" }>) {
    const folded = this.#fold.part(message, session, id, json, rows.line);
    if (folded !== null && folded.info !== null) return this.#message(rows, message, folded);
    // Its message is not known, or so old that only this is news of it.
    const part = partOf({ ...json, id });
    if (part === null) return;
    readLonePart(rows.of(id, { at: part.start, speaker: key.session(session), keys: part.start === null ? [] : [partCopyKey(part)] }), part, session);
  }

  #removed(rows: Rows, said: Extract<Said, { is: "message-removed" | "part-removed" }>) {
    this.#fold.remove(said.id);
    rows.drop(said.id);
    if (said.is === "part-removed") this.#message(rows, said.message, this.#fold.get(said.message));
  }

  #status(rows: Rows, { session, status, asked }: Extract<Said, { is: "status" }>, at: number) {
    // While the answer was on its way the session went on.
    if (asked !== null && (this.#heard.get(session) ?? 0) >= asked) return;
    rows.drop(`state ${session}`);
    if (status.type === "idle") {
      this.#settle(rows, session);
      return this.#stopped(rows, session, asked ?? at, "its server says that nothing runs in it");
    }
    // At work: a sign of life, as long as there is something that it is at. After a failure the server's word is enough: it goes on.
    const hadFailed = this.#failed.has(session) || asObject(this.#fold.newest(session)?.info.error) !== null;
    this.#recovered(rows, session);
    if (!hadFailed && !this.#fold.isOpen(session)) return;
    const time = hadFailed ? Math.max(asked ?? at, this.#fold.lastTime(session)) : (asked ?? at);
    const out = rows.of(`state ${session}`, { at: time, speaker: key.session(session), keys: [] });
    out.add({ type: "record", role: "other", stands: hadFailed ? "open" : null, certain: true, calls: [], results: [], text: null, message: false });
    if (status.type !== "retry") return;
    const words = asWords(status.message);
    const says = `to try again (attempt ${asNumber(status.attempt) ?? 1}${words === null ? "" : `: ${words}`})`;
    out.add({ type: "waits", agent: key.session(session), for: null, says });
  }

  /** A failure of the session that no message of its own tells of (yet). Clocks differ: it comes after everything that was known when it was reported. */
  #error(rows: Rows, { session, error }: Extract<Said, { is: "error" }>, at: number) {
    rows.drop(`state ${session}`);
    this.#settle(rows, session);
    if (asObject(this.#fold.newest(session)?.info.error) !== null) return;
    this.#failed.set(session, at);
    const out = rows.of(`error ${session}`, { at: Math.max(at, this.#fold.lastTime(session)), speaker: key.session(session), keys: [] });
    out.add({ type: "record", role: "other", ...standAfter(error), certain: true, calls: [], results: [], text: null, message: false });
  }

  #recovered(rows: Rows, session: string) {
    if (this.#failed.delete(session)) rows.drop(`error ${session}`);
  }

  /** Ends what was left unfinished. What its own last message tells of its end, then or later, counts more. */
  #stopped(rows: Rows, session: string, at: number, says: string) {
    rows.drop(`state ${session}`);
    if (!this.#fold.isOpen(session)) return;
    const out = rows.of(`state ${session}`, { at, speaker: key.session(session), keys: [] });
    out.add({ type: "lifecycle", of: key.session(session), state: "shutdown", source: "child_rollout", says, result: null, yields: true });
  }

  #asks(rows: Rows, session: string, request: Request, at: number) {
    const since = this.#waiting.get(request.id)?.since ?? at;
    this.#waiting.set(request.id, { session, since, request });
    const agent = key.session(session);
    const call = request.call == null ? {} : { call: key.call(session, request.call) };
    rows.of(request.id, { at: since, speaker: agent, keys: [] }).add({ type: "waits", agent, for: request.for, says: request.says, ...call });
  }

  #answered(rows: Rows, request: string) {
    this.#waiting.delete(request);
    rows.drop(request);
  }

  /** All that the server waits for: what is not among it was answered while nobody listened. */
  #asking(rows: Rows, { session, requests, what, asked }: Extract<Said, { is: "asking" }>, at: number) {
    const open = new Set(requests.map(({ id }) => id));
    for (const [id, { session: of, request, since }] of this.#waiting)
      if (of === session && request.for === what && since < asked && !open.has(id)) this.#answered(rows, id);
    if ((this.#heard.get(session) ?? 0) >= asked) return;
    for (const request of requests) this.#asks(rows, session, request, at);
  }

  /** Nobody is asked any more. */
  #settle(rows: Rows, session: string) {
    for (const [id, waiting] of this.#waiting) if (waiting.session === session) this.#answered(rows, id);
  }
}

/** Findings of one line under the names of what they are about. */
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
    return new FindingsOf({ path: this.#path, line: this.line, row, ...context }, this);
  }

  drop(row: string): void {
    this.#names.add(row);
  }
}

const isDelta = (record: Uint8Array) => decodeText(record.subarray(0, HEAD)).text.includes(DELTA);

/** In a recording the same error is told by many lines. */
const named = (message: Message, drafts: readonly EventDraft[]) =>
  drafts.map((draft) => (draft.name === "error" ? { ...draft, name: `${message.id} error` } : draft));
