import type { Card, Relay, RelayList, Stage } from "./board.ts";
import type { ComparedThreads } from "./compare.ts";
import type { Action, Permission, Reply, SteerableThread } from "./control.ts";
import type { RequestDetail, RequestRecord, Subtask } from "./requests.ts";
import type { SpansResponse } from "./span-set.ts";
import type { Group, StatsResponse, StatsThread } from "./stats.ts";
import type { Costs, FailedThread, People, RunningThread } from "./team.ts";
import type {
  AgentRecord,
  AgentTree,
  Attach,
  AuditEntry,
  Doctor,
  EventPage,
  Explanation,
  Guard,
  Health,
  Message,
  Paged,
  SearchPage,
  SentEvent,
  Session,
  Sharing,
  UsedFile,
  Why,
} from "./types.ts";

/** An error response of the server. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly next: string | null;

  constructor(status: number, code: string, message: string, next: string | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.next = next;
  }
}

export interface ThreadQuery {
  readonly provider?: string | undefined;
  readonly cwd?: string | undefined;
  /** `2h`, `3d`, `1w`, or a date. */
  readonly since?: string | undefined;
  readonly running?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A response that the live stream can continue. */
export interface Snapshot<T> {
  readonly body: T;
  /** Position of the live stream; later changes are not in the response. */
  readonly live: string | null;
}

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** Client of the HTTP API. URLs are relative, so that the dashboard works below any path. */
export class Api {
  readonly #fetch: Fetch;
  readonly #owner: () => string | null;

  /** On a team server, `owner` limits all responses to the threads of one owner. */
  constructor(fetch: Fetch, owner: () => string | null = () => null) {
    this.#fetch = fetch;
    this.#owner = owner;
  }

  threads(query: ThreadQuery, signal?: AbortSignal): Promise<Snapshot<Paged<AgentRecord>>> {
    return this.#snapshot("api/threads", { ...query }, signal);
  }

  agent(uri: string, signal?: AbortSignal): Promise<Snapshot<AgentTree>> {
    return this.#snapshot(agentPath(uri), {}, signal);
  }

  events(
    uri: string,
    query: { after?: string | undefined; limit: number; subtree?: boolean },
    signal?: AbortSignal,
  ): Promise<Snapshot<EventPage>> {
    return this.#snapshot(`${agentPath(uri)}/events`, query, signal);
  }

  /** One event with its full text. */
  event(uri: string, id: string): Promise<SentEvent> {
    return this.#get(eventPath(uri, id), {}, undefined);
  }

  /** The spans of a subtree; with `after`, only changes since that response. */
  spans(uri: string, after: string | undefined, signal?: AbortSignal): Promise<Snapshot<SpansResponse>> {
    return this.#snapshot(`${agentPath(uri)}/spans`, { after }, signal);
  }

  messages(uri: string, signal?: AbortSignal): Promise<Paged<Message>> {
    return this.#get(`${agentPath(uri)}/messages`, {}, signal);
  }

  why(uri: string, signal?: AbortSignal): Promise<Why> {
    return this.#get(`${agentPath(uri)}/why`, {}, signal);
  }

  explain(uri: string, signal?: AbortSignal): Promise<Explanation> {
    return this.#get(`${agentPath(uri)}/explain`, {}, signal);
  }

  files(uri: string, signal?: AbortSignal): Promise<Paged<UsedFile>> {
    return this.#get(`${agentPath(uri)}/files`, {}, signal);
  }

  attach(uri: string, signal?: AbortSignal): Promise<Attach> {
    return this.#get(`${agentPath(uri)}/attach`, {}, signal);
  }

  /** Permissions that agents wait for. */
  async permissions(): Promise<readonly Permission[]> {
    return (await this.#get<Paged<Permission>>("api/permissions", {}, undefined)).items;
  }

  async answer(id: string, reply: Reply, text: string | undefined): Promise<void> {
    await this.#sendJson(`api/permissions/${encodeURIComponent(id)}`, "POST", { reply, ...textOf(text) });
  }

  /** Running threads whose agents can be steered. */
  async steering(): Promise<readonly SteerableThread[]> {
    return (await this.#get<Paged<SteerableThread>>("api/steering", {}, undefined)).items;
  }

  async steer(uri: string, action: Action, text: string | undefined): Promise<void> {
    await this.#sendJson(`${agentPath(uri)}/steer`, "POST", { action, ...textOf(text) });
  }

  /** Newest first. */
  requests(
    query: { agent: string; work?: boolean; limit: number; cursor?: string | undefined },
    signal?: AbortSignal,
  ): Promise<Paged<RequestRecord>> {
    return this.#get("api/requests", query, signal);
  }

  request(id: string): Promise<RequestDetail> {
    return this.#get(`api/requests/${encodeURIComponent(id)}`, {}, undefined);
  }

  async subtasks(id: string): Promise<readonly Subtask[]> {
    return (await this.#get<Paged<Subtask>>(`api/requests/${encodeURIComponent(id)}/subtasks`, {}, undefined)).items;
  }

  /** One text of a request, in full. */
  async piece(request: string, piece: string): Promise<unknown> {
    return (
      await this.#get<{ json: unknown }>(
        `api/requests/${encodeURIComponent(request)}/pieces/${encodeURIComponent(piece)}`,
        {},
        undefined,
      )
    ).json;
  }

  search(q: string, limit: number, signal?: AbortSignal): Promise<SearchPage> {
    return this.#get("api/search", { q, limit }, signal);
  }

  stats(since: string | undefined, signal?: AbortSignal): Promise<Snapshot<StatsResponse>> {
    return this.#snapshot("api/stats", { since }, signal);
  }

  /** The threads of one line of the statistics. A null key is the line of unknown values. */
  statsThreads(
    by: Group,
    key: string | null,
    since: string | undefined,
    signal?: AbortSignal,
  ): Promise<Paged<StatsThread>> {
    return this.#get("api/stats/threads", { by, key: key ?? undefined, since }, signal);
  }

  compare(left: string, right: string, signal?: AbortSignal): Promise<ComparedThreads> {
    return this.#get("api/compare", { left, right }, signal);
  }

  health(signal?: AbortSignal): Promise<Health> {
    return this.#get("api/health", {}, signal);
  }

  guard(signal?: AbortSignal): Promise<Guard> {
    return this.#get("api/guard", {}, signal);
  }

  /** What this machine shares; null without a team server. `waiting` adds what is not shipped yet, which is slower. */
  async sharing(waiting: boolean): Promise<Sharing | null> {
    return (await this.#get<{ team: Sharing | null }>("api/ship", { waiting }, undefined)).team;
  }

  doctor(signal?: AbortSignal): Promise<Doctor> {
    return this.#get("api/doctor", {}, signal);
  }

  cards(signal?: AbortSignal): Promise<Snapshot<Paged<Card>>> {
    return this.#snapshot("api/cards", {}, signal);
  }

  card(id: string, signal?: AbortSignal): Promise<Card> {
    return this.#get(cardPath(id), {}, signal);
  }

  /** Creates a card if the id is null. */
  saveCard(id: string | null, card: { title?: string; threads?: readonly string[]; stage?: Stage }): Promise<Card> {
    return this.#sendJson(id === null ? "api/cards" : cardPath(id), id === null ? "POST" : "PATCH", card);
  }

  async removeCard(id: string): Promise<void> {
    await this.#send(cardPath(id), { method: "DELETE" });
  }

  relays(signal?: AbortSignal): Promise<RelayList> {
    return this.#get("api/relays", {}, signal);
  }

  follow(relay: { provider: string; url: string; password?: string }): Promise<Relay> {
    return this.#sendJson("api/relays", "POST", relay);
  }

  async unfollow(id: string): Promise<void> {
    await this.#send(`api/relays/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  /** Returns the agent's new URI. */
  async link(child: string, parent: string): Promise<string> {
    return (await this.#sendJson<{ uri: string }>("api/links", "POST", { child, parent })).uri;
  }

  /** Starts the demo server and returns its address. */
  async demo(): Promise<string> {
    const response = await this.#send("api/demo", { method: "POST" });
    return ((await response.json()) as { address: string }).address;
  }

  /** Exchanges a token for a session cookie. */
  async openSession(token: string): Promise<void> {
    await this.#sendJson("api/session", "POST", { token });
  }

  /** Not limited to the selected owner: the session lists all owners that may be read. */
  session(): Promise<Session> {
    return this.#get("api/session", { owner: "" }, undefined);
  }

  async closeSession(): Promise<void> {
    await this.#send("api/session", { method: "DELETE" });
  }

  /** Threads of a team server with running agents. */
  running(limit: number, signal?: AbortSignal): Promise<Snapshot<Paged<RunningThread>>> {
    return this.#snapshot("api/team/now", { limit }, signal);
  }

  costs(since: string | undefined, signal?: AbortSignal): Promise<Snapshot<Costs>> {
    return this.#snapshot("api/team/costs", { since }, signal);
  }

  failures(since: string | undefined, limit: number, signal?: AbortSignal): Promise<Snapshot<Paged<FailedThread>>> {
    return this.#snapshot("api/team/failures", { since, limit }, signal);
  }

  people(signal?: AbortSignal): Promise<Snapshot<People>> {
    return this.#snapshot("api/team/people", {}, signal);
  }

  /** Newest first. */
  audit(limit: number): Promise<Paged<AuditEntry>> {
    return this.#get("api/team/audit", { limit }, undefined);
  }

  async unlink(child: string): Promise<void> {
    await this.#send(`api/links/${encodeURIComponent(child)}`, { method: "DELETE" });
  }

  async #sendJson<T>(path: string, method: string, body: unknown): Promise<T> {
    const response = await this.#send(path, {
      method,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as T;
  }

  async #get<T>(path: string, query: Query, signal: AbortSignal | undefined): Promise<T> {
    return (await this.#snapshot<T>(path, query, signal)).body;
  }

  async #snapshot<T>(path: string, query: Query, signal: AbortSignal | undefined): Promise<Snapshot<T>> {
    const params = new URLSearchParams();
    const all: Query = { owner: this.#owner() ?? undefined, ...query };
    for (const [name, value] of Object.entries(all))
      if (value !== undefined && value !== "" && value !== false) params.set(name, String(value));
    const response = await this.#send(
      params.size === 0 ? path : `${path}?${params}`,
      signal === undefined ? {} : { signal },
    );
    return { body: (await response.json()) as T, live: response.headers.get("retinue-live") };
  }

  async #send(url: string, init: RequestInit): Promise<Response> {
    const response = await this.#fetch(url, init).catch((error: Error) => {
      if (error.name === "AbortError") throw error;
      throw new ApiError(0, "unreachable", "The server does not respond.", "Is retinue still running in its terminal?");
    });
    if (response.ok) return response;
    const body = (await response.json().catch(() => null)) as {
      error?: { code?: string; message?: string; next?: string | null };
    } | null;
    throw new ApiError(
      response.status,
      body?.error?.code ?? "failed",
      body?.error?.message ?? `The server returned ${response.status}.`,
      body?.error?.next ?? null,
    );
  }
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

const textOf = (text: string | undefined) => (text === undefined ? {} : { text });
const cardPath = (id: string) => `api/cards/${encodeURIComponent(id)}`;
const agentPath = (uri: string) => `api/agents/${encodeURIComponent(uri)}`;
const eventPath = (uri: string, id: string) => `${agentPath(uri)}/events/${encodeURIComponent(id)}`;
/** The address of an event's JSON. */
export const eventAddress = (uri: string, id: string, owner: string | null) =>
  owner === null ? eventPath(uri, id) : `${eventPath(uri, id)}?owner=${encodeURIComponent(owner)}`;
