import { hash } from "../../core/hash.ts";
import { asList, asNumber, asObject, asText, asWords, type JsonObject, jsonText } from "../../core/json.ts";
import type { Answered, Follower, Step } from "../../core/provider.ts";
import { ANSWERS, type Answer, sessionOfFrame } from "./frame.ts";
import { isSessionId } from "./keys.ts";

/** Where a frame belongs that is about no session. */
const SERVER = "server";
const MANY_DIRECTORIES = 20;
/** At the first look, sessions that were changed this long before the newest one are history: the database has it. */
const RECENT_MS = 24 * 3_600_000;

/** What is not known of a server that lacks a route: older versions and forks do. */
const LIMITS = {
  "/session": "it does not list its sessions (GET /session): what was done before the connection, or while it was cut, is not known",
  "/session/status":
    "it does not say which sessions are at work (GET /session/status): after a cut, whether one still runs is not known until something happens in it",
  "/session/{id}/message":
    "it does not give the messages of a session (GET /session/{id}/message): what was said before the connection, or while it was cut, is not known",
  "/permission": "it does not list permission requests (GET /permission): those made before the connection, or while it was cut, are not shown",
} as const;

type Asking<T> = Generator<Step, T, Answered | null>;

interface Known {
  parent: string | null;
  directory: string | null;
  /** Its own time of the last change, as far as we know; null where only its id is known. */
  updated: number | null;
  /** Something was heard of it since all of it was asked for. */
  stirred: boolean;
  /** All of it was asked for, when it had last changed then. */
  read: number | null;
  gone: boolean;
  /** It has asked for something. */
  asks: boolean;
  /** It was last said to be at work. */
  busy: boolean;
}

interface Stated {
  readonly listed: ReadonlySet<string>;
  /** Those of the directory that the server itself is in. */
  readonly here: ReadonlySet<string>;
  /** Of these it tells more than was heard. */
  readonly missed: ReadonlySet<string>;
}

/** What is known of a server's sessions, so that what was missed while nobody listened can be asked for. */
export class ServerFollower implements Follower {
  readonly #sessions = new Map<string, Known>();
  /** In which something happened while we listened. */
  readonly #directories = new Set<string>();
  /** Of what was kept last, by what it is: the same need not be kept again. */
  readonly #kept = new Map<string, number>();
  /** Those that were first heard of in their middle. */
  readonly #begun = new Set<string>();
  /** Routes that the server does not have. */
  readonly #missing = new Set<keyof typeof LIMITS>();
  /** Whether the server can list the sessions of all directories. */
  #listsAll = true;

  heard(raw: unknown): string | null {
    const json = asObject(raw);
    const frame = asObject(json?.payload) ?? json;
    const type = asText(frame?.type);
    if (type === "server.heartbeat") return null;
    const directory = asWords(json?.directory);
    if (directory !== null && directory !== "global" && this.#directories.size < MANY_DIRECTORIES) this.#directories.add(directory);
    const session = sessionOfFrame(raw);
    if (session === null || !isSessionId(session)) return SERVER;
    const isNew = !this.#sessions.has(session);
    const known = this.#known(session);
    known.stirred = true;
    if (isNew && type !== "session.created") this.#begun.add(session);
    const info = asObject(asObject(frame?.properties)?.info);
    if (type?.startsWith("session.") === true && info !== null) this.#learn(info);
    if (type === "session.deleted") {
      known.gone = true;
      this.#begun.delete(session);
    }
    if (type === "session.status") known.busy = asObject(asObject(frame?.properties)?.status)?.type !== "idle";
    if (type === "permission.asked" || type === "question.asked" || type === "permission.updated") known.asks = true;
    return session;
  }

  get limits(): readonly string[] {
    return [...this.#missing].map((route) => LIMITS[route]);
  }

  get wonders(): boolean {
    return this.#begun.size > 0;
  }

  *catchUp(gap: boolean): Asking<boolean> {
    const stated = yield* this.#list(gap);
    // What it does not have need not be asked for again and again.
    let complete = stated !== null || this.#missing.has("/session");
    const status = yield* this.#everywhere("/session/status");
    const newest = Math.max(0, ...[...this.#sessions.values()].map(({ updated }) => updated ?? 0));
    const due = [...this.#sessions].filter(([id, known]) => this.#isDue(id, known, stated, status?.all ?? {}, gap, newest)).map(([id]) => id);
    const seen = new Set(due);
    // Grows while it is walked: what a session is found to belong to, or to have below it, is looked at as well.
    for (const id of due) {
      // Only a server that lists its sessions can be believed that it has none of this id.
      const isListed = stated === null || stated.listed.has(id);
      for (const other of yield* this.#around(id, isListed)) {
        if (!seen.has(other)) due.push(other);
        seen.add(other);
      }
      complete = (yield* this.#read(id, isListed)) && complete;
      // How a session of a directory stands that was not asked about is not known: to ask would wake the server up there.
      const isAnswered = status !== null && (id in status.all || stated?.here.has(id) === true || this.#directories.has(this.#known(id).directory ?? ""));
      if (isAnswered) yield this.#keep({ answered: ANSWERS.status, asked: status.asked, session: id, body: status.all[id] ?? null });
    }
    if (status !== null) yield* this.#atWork(status.all, status.asked, seen);
    yield* this.#requests("/permission", ANSWERS.permission);
    yield* this.#requests("/question", ANSWERS.question);
    return complete;
  }

  #isDue(id: string, { gone, stirred, read, updated }: Known, stated: Stated | null, status: JsonObject, gap: boolean, newest: number): boolean {
    if (gone) return false;
    if (updated === null || this.#begun.has(id) || stated?.missed.has(id) === true) return true;
    return gap && (stirred || id in status || (read === null ? updated >= newest - RECENT_MS : updated > read));
  }

  /** Every session the server tells of; null where it does not answer. */
  *#list(gap: boolean): Asking<Stated | null> {
    const stated = { listed: new Set<string>(), here: new Set<string>(), missed: new Set<string>() };
    const paths = [
      "/session",
      ...(this.#listsAll ? ["/experimental/session"] : [...this.#directories].map((directory) => withDirectory("/session", directory))),
    ];
    let answered = false;
    for (const path of paths) {
      const answer = yield { ask: path };
      if (path === "/experimental/session" && answer !== null && answer.status !== 200 && answer.status < 500) this.#listsAll = false;
      if (path === "/session") this.#note("/session", answer, Array.isArray(answer?.body));
      if (answer?.status !== 200 || !Array.isArray(answer.body)) continue;
      answered = true;
      for (const item of asList(answer.body)) {
        const info = asObject(item);
        const id = asWords(info?.id);
        if (info === null || id === null || !isSessionId(id)) continue;
        stated.listed.add(id);
        if (path === "/session") stated.here.add(id);
        const known = this.#sessions.get(id);
        // The stream would have told: where it did not, it is not to be trusted.
        if (known === undefined ? !gap : updatedOf(info) > (known.updated ?? 0) && (known.read !== null || known.stirred)) stated.missed.add(id);
        this.#learn(info);
        yield* this.#told(id, info, answer.asked);
      }
    }
    return answered ? stated : null;
  }

  /** Who is at work for long without a word is alive all the same, and who no longer is may have been missed. */
  *#atWork(status: JsonObject, asked: number, told: ReadonlySet<string>): Asking<void> {
    const doubted = [...this.#sessions].filter(([id, { busy }]) => busy && !(id in status)).map(([id]) => id);
    for (const id of [...Object.keys(status).filter(isSessionId), ...doubted]) {
      this.#known(id).busy = id in status;
      if (!told.has(id)) yield this.#keep({ answered: ANSWERS.status, asked, session: id, body: status[id] ?? null });
    }
  }

  /** Answers of every directory as one; null where there is none. */
  *#everywhere(path: string): Asking<{ readonly all: JsonObject; readonly asked: number } | null> {
    let all: JsonObject = {};
    let asked: number | null = null;
    for (const one of [path, ...[...this.#directories].map((directory) => withDirectory(path, directory))]) {
      const answer = yield { ask: one };
      const body = answer?.status === 200 ? asObject(answer.body) : null;
      if (one === "/session/status") this.#note(one, answer, body !== null);
      if (body === null || answer === null) continue;
      all = { ...all, ...body };
      asked = Math.min(asked ?? answer.asked, answer.asked);
    }
    return asked === null ? null : { all, asked };
  }

  /** Whose it is, up to the top, and who is below it. Gives those of them that are new. */
  *#around(id: string, isListed: boolean): Asking<readonly string[]> {
    const found: string[] = [];
    for (let at: string | null = id, steps = 0; at !== null && steps < 100; steps += 1) {
      const known = this.#known(at);
      if (known.updated === null) {
        const answer: Answered | null = yield { ask: `/session/${at}` };
        const info = answer?.status === 200 ? asObject(answer.body) : null;
        if (info !== null) this.#learn(info);
        if (info !== null && answer !== null) yield* this.#told(at, info, answer.asked);
        if (answer !== null && isNoSession(answer) && !isListed) yield this.#keep({ answered: ANSWERS.session, asked: answer.asked, session: at, body: null });
        if (info === null) return found;
      }
      if (at !== id && known.read === null && !known.gone) found.push(at);
      at = known.parent;
    }
    const answer = yield { ask: `/session/${id}/children` };
    for (const item of answer?.status === 200 ? asList(answer.body) : []) {
      const info = asObject(item);
      const child = asWords(info?.id);
      if (info === null || child === null || !isSessionId(child)) continue;
      const before = this.#sessions.get(child);
      const isNews = before === undefined || before.stirred || before.read === null || updatedOf(info) > before.read;
      this.#learn(info);
      yield* this.#told(child, info, answer?.asked ?? 0);
      if (isNews) found.push(child);
    }
    return found;
  }

  /** All that was said in it. */
  *#read(id: string, isListed: boolean): Asking<boolean> {
    const known = this.#known(id);
    known.stirred = false;
    this.#begun.delete(id);
    const answer = yield { ask: `/session/${id}/message` };
    const messages = answer?.status === 200 && Array.isArray(answer.body) ? answer.body : null;
    if (!isNoSession(answer)) this.#note("/session/{id}/message", answer, messages !== null);
    if (answer !== null && isNoSession(answer) && !isListed) {
      known.gone = true;
      yield this.#keep({ answered: ANSWERS.session, asked: answer.asked, session: id, body: null });
      return true;
    }
    if (messages === null || answer === null) {
      known.stirred = true;
      // What it does not have is not asked for again and again.
      if (answer !== null && answer.status < 500) return true;
      this.#begun.add(id);
      return false;
    }
    known.read = known.updated;
    for (const item of messages) {
      const message = asWords(asObject(asObject(item)?.info)?.id);
      if (message !== null && this.#isNews(message, item)) yield this.#keep({ answered: ANSWERS.message, asked: answer.asked, session: id, body: item });
    }
    return true;
  }

  /** What people have to decide, by session: who is no longer among them was answered. */
  *#requests(path: string, what: string): Asking<void> {
    const bySession = new Map<string, unknown[]>();
    let since: number | null = null;
    for (const one of [path, ...[...this.#directories].map((directory) => withDirectory(path, directory))]) {
      const answer = yield { ask: one };
      if (one === "/permission") this.#note(one, answer, Array.isArray(answer?.body));
      if (answer?.status !== 200 || !Array.isArray(answer.body)) continue;
      since = Math.min(since ?? answer.asked, answer.asked);
      for (const item of asList(answer.body)) {
        const [session, request] = [asWords(asObject(item)?.sessionID), asWords(asObject(item)?.id)];
        if (session === null || !isSessionId(session)) continue;
        const list = bySession.get(session) ?? [];
        bySession.set(session, list);
        if (!list.some((known) => asObject(known)?.id === request)) list.push(item);
      }
    }
    if (since === null) return;
    for (const session of bySession.keys()) this.#known(session).asks = true;
    for (const [session, { asks }] of this.#sessions) if (asks) yield this.#keep({ answered: what, asked: since, session, body: bySession.get(session) ?? [] });
  }

  /** Remembers whether the server has a route. Where it fails or does not answer at all, nothing is learned. */
  #note(route: keyof typeof LIMITS, answer: Answered | null, isUsable: boolean) {
    if (answer?.status === 200 && isUsable) this.#missing.delete(route);
    else if (answer !== null && answer.status !== 401 && answer.status !== 403 && answer.status < 500) this.#missing.add(route);
  }

  *#told(session: string, info: JsonObject, asked: number): Asking<void> {
    if (this.#isNews(session, info)) yield this.#keep({ answered: ANSWERS.session, asked, session, body: info });
  }

  #keep(answer: Answer): Step {
    return { keep: { ...answer }, in: answer.session };
  }

  #isNews(what: string, body: unknown): boolean {
    const now = hash(jsonText(body) ?? "");
    const isNews = this.#kept.get(what) !== now;
    this.#kept.set(what, now);
    return isNews;
  }

  #learn(info: JsonObject) {
    const id = asWords(info.id);
    if (id === null || !isSessionId(id)) return;
    const known = this.#known(id);
    const parent = asWords(info.parentID);
    // It becomes a part of a path that is asked for.
    if (parent !== null && isSessionId(parent)) known.parent = parent;
    known.directory = asWords(info.directory) ?? known.directory;
    known.updated = Math.max(updatedOf(info), known.updated ?? 0);
  }

  #known(id: string): Known {
    const known = this.#sessions.get(id) ?? { parent: null, directory: null, updated: null, stirred: false, read: null, gone: false, asks: false, busy: false };
    this.#sessions.set(id, known);
    return known;
  }
}

/** The server has the route, and no session of this id: a route that it lacks is answered with a page or with plain text. */
const isNoSession = (answer: Answered | null) => answer?.status === 404 && asObject(answer.body) !== null;
const updatedOf = (info: JsonObject) => asNumber(asObject(info.time)?.updated) ?? 0;
const withDirectory = (path: string, directory: string) => `${path}?directory=${encodeURIComponent(directory.toWellFormed())}`;
