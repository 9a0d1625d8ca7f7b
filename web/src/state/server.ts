import { createEffect, createSignal, onCleanup } from "solid-js";
import { Api } from "../data/api.ts";
import type { Card } from "../data/board.ts";
import { type Connection, earliest, type LiveHandlers, LiveStream } from "../data/live.ts";
import type { SpansChange } from "../data/span-set.ts";
import type { AgentEvent, AgentRecord, Doctor, Health, Session, Sharing, Trouble } from "../data/types.ts";
import { owner } from "./navigation.ts";

/** The page comes from a team server. */
export const isTeam = document.documentElement.dataset.server === "team";
/** Whether the team server rejected a request for lack of a valid session. */
const [needsToken, setNeedsToken] = createSignal(false);

export { needsToken };

async function request(url: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.status === 401) setNeedsToken(true);
  return response;
}

export const api = new Api(request, owner);

export interface LiveChanges {
  /** The newest record of each changed agent. */
  readonly agents: readonly AgentRecord[];
  readonly events: readonly AgentEvent[];
  readonly removed: readonly string[];
  /** By id; null for a deleted card. */
  readonly cards: ReadonlyMap<string, Card | null>;
  /** Must be applied in this order. */
  readonly spans: readonly SpansChange[];
}

/** Query parameters of the live stream; null ones are omitted. */
export type Interest = Readonly<Record<string, string | null>>;

export interface LiveListener {
  changes(changes: LiveChanges): void;
  /** The listener has to fetch its data again. */
  reset(): void;
}

/** Changes are delivered in batches at this interval. */
const FLUSH_MS = 60;
/** A page hidden for this long closes its connection, because browsers limit connections per server. */
const HIDDEN_MS = 30_000;

/** Listeners with their interests and start positions. `since` is undefined until the listener has loaded its data. */
const listeners = new Map<LiveListener, { readonly interest: Interest; since: string | null | undefined }>();
const [connection, setConnection] = createSignal<Connection>("idle");

/** Current troubles of the server. */
const [troubles, setTroubles] = createSignal<readonly Trouble[]>([]);

export { connection, troubles };

// Changes since the last flush.
let agents = new Map<string, AgentRecord>();
let events: AgentEvent[] = [];
let removed = new Set<string>();
let cards = new Map<string, Card | null>();
let spans: SpansChange[] = [];
let isFlushing = false;

const handlers: LiveHandlers = {
  agent(record) {
    removed.delete(record.uri);
    agents.set(record.uri, record);
    flushSoon();
  },
  event(event) {
    events.push(event);
    flushSoon();
  },
  removed(uri) {
    agents.delete(uri);
    removed.add(uri);
    flushSoon();
  },
  spans(change) {
    spans.push(change);
    flushSoon();
  },
  card(card) {
    cards.set(card.id, card);
    flushSoon();
  },
  cardRemoved(id) {
    cards.set(id, null);
    flushSoon();
  },
  troubles: setTroubles,
  reset() {
    for (const listener of listeners.keys()) listener.reset();
  },
  connection: setConnection,
};

function flushSoon(): void {
  if (isFlushing) return;
  isFlushing = true;
  setTimeout(() => {
    isFlushing = false;
    const changes: LiveChanges = { agents: [...agents.values()], events, removed: [...removed], cards, spans };
    agents = new Map();
    events = [];
    removed = new Set();
    cards = new Map();
    spans = [];
    for (const listener of listeners.keys()) listener.changes(changes);
  }, FLUSH_MS);
}

const stream = new LiveStream({
  handlers,
  fetch: request,
  wait: (ms, signal) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
      signal.addEventListener("abort", () => resolve(), { once: true });
    }),
});

/**
 * Subscribes to live changes while the component is mounted; the interest may change. The stream starts once every
 * listener has called the returned function with the position of its data, null for the current position.
 */
export function listen(interest: () => Interest, listener: LiveListener): (since: string | null) => void {
  createEffect(() => listeners.set(listener, { interest: { ...interest(), owner: owner() }, since: undefined }));
  onCleanup(() => listeners.delete(listener));
  return (since) => {
    const entry = listeners.get(listener);
    if (entry === undefined) return;
    entry.since ??= since;
    follow();
  };
}

function follow(): void {
  const entries = [...listeners.values()];
  if (entries.some(({ since }) => since === undefined)) return;
  const query = new URLSearchParams();
  for (const { interest } of entries)
    for (const [name, value] of Object.entries(interest))
      if (value !== null && !query.getAll(name).includes(value)) query.append(name, value);
  stream.follow(query.size === 0 ? null : `api/live?${query}`, earliest(entries.map(({ since }) => since ?? null)));
}

const [reading, setReading] = createSignal<Health["reading"]>(null);

/** Progress of the server's initial reading; null when complete. */
export { reading };

const READING_POLL_MS = 500;

/** Polls the progress of the initial reading, and resets all listeners when it is complete. */
async function watchReading(): Promise<void> {
  const before = reading();
  const health = await api.health().catch(() => null);
  if (health !== null) setProducts(health.products);
  setReading(health?.reading ?? null);
  setTroubles(health?.troubles ?? []);
  if (reading() !== null) setTimeout(() => void watchReading(), READING_POLL_MS);
  else if (before !== null) handlers.reset();
}

let listensHidden = false;

/** Keeps the connection while the page is hidden, for notifications. */
export function listenWhileHidden(wanted: boolean): void {
  listensHidden = wanted;
}

/** Loads what all pages need, and pauses the live stream while the page is hidden. */
export function connect(): void {
  void watchReading();
  (isTeam ? loadSession() : loadLocal()).catch(() => {
    // The page itself reports an unreachable server.
  });
  let hiding: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.visibilityState === "visible") stream.start();
    else if (!listensHidden) hiding = setTimeout(() => stream.stop(), HIDDEN_MS);
  });
}

const [doctor, setDoctor] = createSignal<Doctor | null>(null);

export { doctor };

const [session, setSession] = createSignal<Session | null>(null);

/** The signed-in person on a team server; null until loaded. */
export { session };

async function loadSession(): Promise<void> {
  setSession(await api.session());
}

/**
 * Ends the session of this browser and asks for a token. Returns false if a reverse proxy signs the person in, because
 * only the proxy can end that.
 */
export async function signOut(): Promise<boolean> {
  await api.closeSession();
  if ((await api.session().catch(() => null)) !== null) return false;
  stream.stop();
  setSession(null);
  setNeedsToken(true);
  return true;
}

/** Loads the report of `retinue doctor`. */
export async function loadDoctor(): Promise<void> {
  setDoctor(await api.doctor());
}

const [sharing, setSharing] = createSignal<Sharing | null>(null);

/** What this machine shares with its team; null if no team server is set. */
export { sharing };

async function loadLocal(): Promise<void> {
  await Promise.all([loadDoctor(), api.sharing(false).then(setSharing)]);
}

const [products, setProducts] = createSignal<Health["products"]>({});

/** The name of a provider's product, or the provider's own name until the products are loaded. */
export const productOf = (provider: string) => products()[provider] ?? provider;
