import type { Follower, RelayResponse, Step } from "../../../core/ports/provider.ts";
import { exact } from "../../../core/tools/format.ts";
import { hash } from "../../../core/tools/hash.ts";
import { asList, asNonBlank, asNumber, asObject, asText, type JsonObject, jsonText } from "../../../core/tools/json.ts";
import { MAX_FOLLOWED_SESSIONS } from "../../../core/tools/limits.ts";
import { RESPONSES, type RecordedResponse, sessionOfFrame } from "./frame.ts";
import { isSessionId } from "./keys.ts";

/** The recording of frames that concern no session. */
const SERVER = "server";
const MAX_DIRECTORIES = 20;
/** Of the sessions that the server lists, the newest are followed; some room is left for those that it starts. */
const MAX_LISTED = MAX_FOLLOWED_SESSIONS * 0.9;
const TOO_MANY = `it has more sessions than are recorded of one server (${exact(MAX_FOLLOWED_SESSIONS)}): further ones are not recorded until it is followed anew`;
/** On the first catch-up, sessions older than the newest by this much are skipped: the database contains them. */
const RECENT_MS = 24 * 3_600_000;

/** The consequences of a missing route, for users. Servers of older versions and of forks lack some. */
const LIMITS = {
  "/session":
    "it does not list its sessions (GET /session): activity before the connection or during an interruption is unknown",
  "/session/status":
    "it does not list running sessions (GET /session/status): after an interruption, a session's state is unknown until its next event",
  "/session/{id}/message":
    "it does not return the messages of a session (GET /session/{id}/message): messages before the connection or during an interruption are unknown",
  "/permission":
    "it does not list permission requests (GET /permission): those made before the connection or during an interruption are not shown",
} as const;

type Requesting<T> = Generator<Step, T, RelayResponse | null>;

interface KnownSession {
  parent: string | null;
  directory: string | null;
  /** The time of its last change according to the server; null if only its id is known. */
  updated: number | null;
  /** The stream reported a change since its messages were fetched. */
  hasChanged: boolean;
  /** The value of `updated` when its messages were fetched; null if they never were. */
  fetched: number | null;
  isDeleted: boolean;
  /** The session waits for a permission or an answer. */
  isWaiting: boolean;
  /** The session was last reported as running. */
  isBusy: boolean;
}

/** The sessions that the server lists. */
interface SessionList {
  readonly all: ReadonlySet<string>;
  /** The sessions in the server's own directory. */
  readonly ownDirectory: ReadonlySet<string>;
  /** The sessions that changed without an event. */
  readonly missed: ReadonlySet<string>;
}

/** Tracks a server's sessions, to request what was missed while disconnected. */
export class ServerFollower implements Follower {
  readonly #sessions = new Map<string, KnownSession>();
  /** Directories with activity since the connection. */
  readonly #directories = new Set<string>();
  /** Hash of the last recorded response per object, to avoid recording it again. */
  readonly #recorded = new Map<string, number>();
  /** Sessions of which earlier events are missing: the first frame received was not their creation. */
  readonly #partlySeen = new Set<string>();
  /** Routes that the server lacks. */
  readonly #missing = new Set<keyof typeof LIMITS>();
  /** There were sessions beyond the limit. */
  isFull = false;
  /** Whether the server lists the sessions of all directories. */
  #listsAll = true;

  received(raw: unknown): string | null {
    const json = asObject(raw);
    const frame = asObject(json?.payload) ?? json;
    const type = asText(frame?.type);
    if (type === "server.heartbeat") return null;
    const directory = asNonBlank(json?.directory);
    if (directory !== null && directory !== "global" && this.#directories.size < MAX_DIRECTORIES)
      this.#directories.add(directory);
    const session = sessionOfFrame(raw);
    if (session === null || !isSessionId(session)) return SERVER;
    const isNew = !this.#sessions.has(session);
    if (!this.#isFollowed(session, MAX_FOLLOWED_SESSIONS)) return null;
    const known = this.#known(session);
    known.hasChanged = true;
    if (isNew && type !== "session.created") this.#partlySeen.add(session);
    const info = asObject(asObject(frame?.properties)?.info);
    if (type?.startsWith("session.") === true && info !== null) this.#update(info);
    if (type === "session.deleted") {
      known.isDeleted = true;
      this.#partlySeen.delete(session);
    }
    if (type === "session.status") known.isBusy = asObject(asObject(frame?.properties)?.status)?.type !== "idle";
    if (type === "permission.asked" || type === "question.asked" || type === "permission.updated")
      known.isWaiting = true;
    return session;
  }

  get limits(): readonly string[] {
    return [...(this.isFull ? [TOO_MANY] : []), ...[...this.#missing].map((route) => LIMITS[route])];
  }

  get needsCatchUp(): boolean {
    return this.#partlySeen.size > 0;
  }

  *catchUp(gap: boolean): Requesting<boolean> {
    const list = yield* this.#list(gap);
    // Missing routes are not requested again.
    let complete = list !== null || this.#missing.has("/session");
    const status = yield* this.#fetchEverywhere("/session/status");
    const newest = [...this.#sessions.values()].reduce((latest, { updated }) => Math.max(latest, updated ?? 0), 0);
    const due = [...this.#sessions]
      .filter(([id, known]) => this.#isDue(id, known, list, status?.all ?? {}, gap, newest))
      .map(([id]) => id);
    const seen = new Set(due);
    // Grows during the loop: parents and children of a session are added.
    for (const id of due) {
      // Only a server that lists its sessions is trusted if it reports one as missing.
      const isListed = list === null || list.all.has(id);
      for (const other of yield* this.#fetchRelatives(id, isListed)) {
        if (!seen.has(other)) due.push(other);
        seen.add(other);
      }
      complete = (yield* this.#fetchMessages(id, isListed)) && complete;
      // The state of sessions in directories that were not queried is unknown; a query would start the server there.
      const isAnswered =
        status !== null &&
        (id in status.all ||
          list?.ownDirectory.has(id) === true ||
          this.#directories.has(this.#known(id).directory ?? ""));
      if (isAnswered)
        yield this.#record({
          answered: RESPONSES.status,
          asked: status.asked,
          session: id,
          body: status.all[id] ?? null,
        });
    }
    if (status !== null) yield* this.#recordStatus(status.all, status.asked, seen);
    yield* this.#fetchRequests("/permission", RESPONSES.permission);
    yield* this.#fetchRequests("/question", RESPONSES.question);
    return complete;
  }

  #isDue(
    id: string,
    { isDeleted, hasChanged, fetched, updated }: KnownSession,
    list: SessionList | null,
    status: JsonObject,
    gap: boolean,
    newest: number,
  ): boolean {
    if (isDeleted) return false;
    if (updated === null || this.#partlySeen.has(id) || list?.missed.has(id) === true) return true;
    return (
      gap && (hasChanged || id in status || (fetched === null ? updated >= newest - RECENT_MS : updated > fetched))
    );
  }

  /** All sessions of the server; null if it does not respond. */
  *#list(gap: boolean): Requesting<SessionList | null> {
    const list = { all: new Set<string>(), ownDirectory: new Set<string>(), missed: new Set<string>() };
    const paths = [
      "/session",
      ...(this.#listsAll
        ? ["/experimental/session"]
        : [...this.#directories].map((directory) => withDirectory("/session", directory))),
    ];
    let isAnswered = false;
    for (const path of paths) {
      const response = yield { ask: path };
      if (path === "/experimental/session" && response !== null && response.status !== 200 && response.status < 500)
        this.#listsAll = false;
      if (path === "/session") this.#noteRoute("/session", response, Array.isArray(response?.body));
      if (response?.status !== 200 || !Array.isArray(response.body)) continue;
      isAnswered = true;
      const newestFirst = asList(response.body)
        .map(asObject)
        .filter((info) => info !== null)
        .toSorted((a, b) => updatedOf(b) - updatedOf(a));
      for (const info of newestFirst) {
        const id = asNonBlank(info.id);
        if (id === null || !isSessionId(id) || !this.#isFollowed(id, MAX_LISTED)) continue;
        list.all.add(id);
        if (path === "/session") list.ownDirectory.add(id);
        const known = this.#sessions.get(id);
        // The stream should have reported it, so the stream is incomplete.
        if (
          known === undefined
            ? !gap
            : updatedOf(info) > (known.updated ?? 0) && (known.fetched !== null || known.hasChanged)
        )
          list.missed.add(id);
        this.#update(info);
        yield* this.#recordSession(id, info, response.asked);
      }
    }
    return isAnswered ? list : null;
  }

  /** Records the state of running sessions without new messages, and of those that ended without an event. */
  *#recordStatus(status: JsonObject, asked: number, reported: ReadonlySet<string>): Requesting<void> {
    const unlisted = [...this.#sessions].filter(([id, { isBusy }]) => isBusy && !(id in status)).map(([id]) => id);
    for (const id of [...Object.keys(status).filter(isSessionId), ...unlisted]) {
      if (!this.#isFollowed(id, MAX_FOLLOWED_SESSIONS)) continue;
      this.#known(id).isBusy = id in status;
      if (!reported.has(id))
        yield this.#record({ answered: RESPONSES.status, asked, session: id, body: status[id] ?? null });
    }
  }

  /** Requests a path for all directories and merges the responses; null if there are none. */
  *#fetchEverywhere(path: string): Requesting<{ readonly all: JsonObject; readonly asked: number } | null> {
    let all: JsonObject = {};
    let asked: number | null = null;
    for (const one of [path, ...[...this.#directories].map((directory) => withDirectory(path, directory))]) {
      const response = yield { ask: one };
      const body = response?.status === 200 ? asObject(response.body) : null;
      if (one === "/session/status") this.#noteRoute(one, response, body !== null);
      if (body === null || response === null) continue;
      all = { ...all, ...body };
      asked = Math.min(asked ?? response.asked, response.asked);
    }
    return asked === null ? null : { all, asked };
  }

  /** Fetches the ancestors and children of a session. Returns those whose messages must be fetched. */
  *#fetchRelatives(id: string, isListed: boolean): Requesting<readonly string[]> {
    const found: string[] = [];
    for (let at: string | null = id, steps = 0; at !== null && steps < 100; steps += 1) {
      const known = this.#known(at);
      if (known.updated === null) {
        const response: RelayResponse | null = yield { ask: `/session/${at}` };
        const info = response?.status === 200 ? asObject(response.body) : null;
        if (info !== null) this.#update(info);
        if (info !== null && response !== null) yield* this.#recordSession(at, info, response.asked);
        if (response !== null && isNoSession(response) && !isListed)
          yield this.#record({ answered: RESPONSES.session, asked: response.asked, session: at, body: null });
        if (info === null) return found;
      }
      if (at !== id && known.fetched === null && !known.isDeleted) found.push(at);
      at = known.parent;
    }
    const response = yield { ask: `/session/${id}/children` };
    for (const item of response?.status === 200 ? asList(response.body) : []) {
      const info = asObject(item);
      const child = asNonBlank(info?.id);
      if (info === null || child === null || !isSessionId(child)) continue;
      if (!this.#isFollowed(child, MAX_FOLLOWED_SESSIONS)) continue;
      const before = this.#sessions.get(child);
      const isNew =
        before === undefined || before.hasChanged || before.fetched === null || updatedOf(info) > before.fetched;
      this.#update(info);
      yield* this.#recordSession(child, info, response?.asked ?? 0);
      if (isNew) found.push(child);
    }
    return found;
  }

  /** Fetches all messages of a session. False if the request must be repeated. */
  *#fetchMessages(id: string, isListed: boolean): Requesting<boolean> {
    const known = this.#known(id);
    known.hasChanged = false;
    this.#partlySeen.delete(id);
    const response = yield { ask: `/session/${id}/message` };
    const messages = response?.status === 200 && Array.isArray(response.body) ? response.body : null;
    if (!isNoSession(response)) this.#noteRoute("/session/{id}/message", response, messages !== null);
    if (response !== null && isNoSession(response) && !isListed) {
      known.isDeleted = true;
      yield this.#record({ answered: RESPONSES.session, asked: response.asked, session: id, body: null });
      return true;
    }
    if (messages === null || response === null) {
      known.hasChanged = true;
      // Missing routes are not requested again.
      if (response !== null && response.status < 500) return true;
      this.#partlySeen.add(id);
      return false;
    }
    known.fetched = known.updated;
    for (const item of messages) {
      const message = asNonBlank(asObject(asObject(item)?.info)?.id);
      if (message !== null && this.#isNew(message, item))
        yield this.#record({ answered: RESPONSES.message, asked: response.asked, session: id, body: item });
    }
    return true;
  }

  /** Records the pending requests to the user, by session; requests that are no longer listed were answered. */
  *#fetchRequests(path: string, what: string): Requesting<void> {
    const bySession = new Map<string, unknown[]>();
    let since: number | null = null;
    for (const one of [path, ...[...this.#directories].map((directory) => withDirectory(path, directory))]) {
      const response = yield { ask: one };
      if (one === "/permission") this.#noteRoute(one, response, Array.isArray(response?.body));
      if (response?.status !== 200 || !Array.isArray(response.body)) continue;
      since = Math.min(since ?? response.asked, response.asked);
      for (const item of asList(response.body)) {
        const [session, request] = [asNonBlank(asObject(item)?.sessionID), asNonBlank(asObject(item)?.id)];
        if (session === null || !isSessionId(session) || !this.#isFollowed(session, MAX_FOLLOWED_SESSIONS)) continue;
        const pending = bySession.get(session) ?? [];
        bySession.set(session, pending);
        if (!pending.some((known) => asObject(known)?.id === request)) pending.push(item);
      }
    }
    if (since === null) return;
    for (const session of bySession.keys()) this.#known(session).isWaiting = true;
    for (const [session, { isWaiting }] of this.#sessions)
      if (isWaiting) yield this.#record({ answered: what, asked: since, session, body: bySession.get(session) ?? [] });
  }

  /** Remembers whether the server has a route. A failure or timeout is no evidence. */
  #noteRoute(route: keyof typeof LIMITS, response: RelayResponse | null, isUsable: boolean) {
    if (response?.status === 200 && isUsable) this.#missing.delete(route);
    else if (response !== null && response.status !== 401 && response.status !== 403 && response.status < 500)
      this.#missing.add(route);
  }

  *#recordSession(session: string, info: JsonObject, asked: number): Requesting<void> {
    if (this.#isNew(session, info)) yield this.#record({ answered: RESPONSES.session, asked, session, body: info });
  }

  #record(response: RecordedResponse): Step {
    return { keep: { ...response }, in: response.session };
  }

  /** Whether this body differs from the last one that was recorded for the same object. */
  #isNew(what: string, body: unknown): boolean {
    const digest = hash(jsonText(body) ?? "");
    const isNew = this.#recorded.get(what) !== digest;
    this.#recorded.set(what, digest);
    return isNew;
  }

  #update(info: JsonObject) {
    const id = asNonBlank(info.id);
    if (id === null || !isSessionId(id)) return;
    const known = this.#known(id);
    const parent = asNonBlank(info.parentID);
    // Checked, because it becomes part of a path.
    if (parent !== null && isSessionId(parent) && this.#isFollowed(parent, MAX_FOLLOWED_SESSIONS))
      known.parent = parent;
    known.directory = asNonBlank(info.directory) ?? known.directory;
    known.updated = Math.max(updatedOf(info), known.updated ?? 0);
  }

  /** Whether a session is known, or can be added within this limit. */
  #isFollowed(id: string, limit: number): boolean {
    if (this.#sessions.has(id) || this.#sessions.size < limit) return true;
    this.isFull = true;
    return false;
  }

  #known(id: string): KnownSession {
    const known = this.#sessions.get(id) ?? {
      parent: null,
      directory: null,
      updated: null,
      hasChanged: false,
      fetched: null,
      isDeleted: false,
      isWaiting: false,
      isBusy: false,
    };
    this.#sessions.set(id, known);
    return known;
  }
}

/** The server has the route, but no session with this id. A missing route returns HTML or plain text. */
const isNoSession = (response: RelayResponse | null) => response?.status === 404 && asObject(response.body) !== null;
const updatedOf = (info: JsonObject) => asNumber(asObject(info.time)?.updated) ?? 0;
export const withDirectory = (path: string, directory: string) =>
  `${path}?directory=${encodeURIComponent(directory.toWellFormed())}`;
