import { createEffect, createSignal, onCleanup } from "solid-js";
import { Api } from "../data/api.ts";
import type { Card } from "../data/board.ts";
import { type Connection, earliest, type LiveHandlers, LiveStream } from "../data/live.ts";
import type { AgentEvent, AgentRecord, Doctor, Health, Trouble } from "../data/types.ts";

export const api = new Api((url, init) => fetch(url, init));

export interface LiveNews {
  /** The newest record of each agent that changed. */
  readonly agents: readonly AgentRecord[];
  readonly events: readonly AgentEvent[];
  readonly removed: readonly string[];
  /** By id; null for one that was removed. */
  readonly cards: ReadonlyMap<string, Card | null>;
}

/** What of the stream is of interest; what is null is not. */
export type Interest = Readonly<Record<string, string | null>>;

export interface LiveListener {
  news(news: LiveNews): void;
  /** Everything has to be asked for again. */
  reset(): void;
}

/** News are handed on together, so that a page does its work at most this often however much happens. */
const FLUSH_MS = 60;
/** A hidden page gives its connection back: browsers have few for one server. */
const HIDDEN_MS = 30_000;

/** Who listens to what, and from where on; undefined until it has got something to go on from. */
const listeners = new Map<LiveListener, { readonly interest: Interest; since: string | null | undefined }>();
const [connection, setConnection] = createSignal<Connection>("connecting");

/** What the server cannot do at the moment. */
const [troubles, setTroubles] = createSignal<readonly Trouble[]>([]);

export { connection, troubles };

let agents = new Map<string, AgentRecord>();
let events: AgentEvent[] = [];
let removed = new Set<string>();
let cards = new Map<string, Card | null>();
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
    const news: LiveNews = { agents: [...agents.values()], events, removed: [...removed], cards };
    agents = new Map();
    events = [];
    removed = new Set();
    cards = new Map();
    for (const listener of listeners.keys()) listener.news(news);
  }, FLUSH_MS);
}

const stream = new LiveStream({
  handlers,
  fetch: (url, init) => fetch(url, init),
  wait: (ms, signal) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
      signal.addEventListener("abort", () => resolve(), { once: true });
    }),
});

/**
 * Listens as long as the component lives; what is of interest may change meanwhile.
 * The stream begins once everybody has said, by calling what is returned, where the answer stands that it goes on from.
 */
export function listen(interest: () => Interest, listener: LiveListener): (since: string | null) => void {
  createEffect(() => listeners.set(listener, { interest: interest(), since: undefined }));
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
    for (const [name, value] of Object.entries(interest)) if (value !== null && !query.getAll(name).includes(value)) query.append(name, value);
  stream.follow(query.size === 0 ? null : `api/live?${query}`, earliest(entries.map(({ since }) => since ?? null)));
}

const [reading, setReading] = createSignal<Health["reading"]>(null);

/** How far the server's first look is; null once it has read everything. */
export { reading };

const READING_MS = 500;

async function watchReading(): Promise<void> {
  const before = reading();
  const health = await api.health().catch(() => null);
  setReading(health?.reading ?? null);
  setTroubles(health?.troubles ?? []);
  if (reading() !== null) setTimeout(() => void watchReading(), READING_MS);
  else if (before !== null) handlers.reset();
}

/** Somebody wants to hear of news even while the page is hidden. */
let listensHidden = false;

export function listenWhileHidden(wanted: boolean): void {
  listensHidden = wanted;
}

export function goLive(): void {
  void watchReading();
  let hiding: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.visibilityState === "visible") stream.start();
    else if (!listensHidden) hiding = setTimeout(() => stream.stop(), HIDDEN_MS);
  });
}

const [doctor, setDoctor] = createSignal<Doctor | null>(null);

export { doctor };

/** What was found where. Asked for once at the beginning, for the names of the products. */
export async function askDoctor(): Promise<void> {
  setDoctor(await api.doctor());
}

/** The product's own name, where it is known. */
export const productOf = (provider: string) => doctor()?.roots.find((root) => root.provider === provider)?.product ?? provider;
