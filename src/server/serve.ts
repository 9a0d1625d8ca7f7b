import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Access, type Clients, loadToken, newToken, OneTimeCodes } from "../app/access.ts";
import { Cards } from "../app/cards/cards.ts";
import { shareRelays } from "../app/control/relay-owner.ts";
import { openDemo } from "../app/demo/demo.ts";
import { openTracer, type Tracer } from "../app/export/tracing.ts";
import { asFailure, Failure } from "../app/failure.ts";
import { Sentinel } from "../app/guard/sentinel.ts";
import type { Env } from "../app/home.ts";
import type { Changes } from "../app/ingest/changes.ts";
import type { Library } from "../app/ingest/library.ts";
import { live } from "../app/live/live.ts";
import { persistently } from "../app/live/retry.ts";
import { StarterWatch } from "../app/live/starters.ts";
import { Troubles } from "../app/live/troubles.ts";
import { openLibrary } from "../app/open.ts";
import { isLoopback } from "../app/own-names.ts";
import { Relays } from "../app/relay/relays.ts";
import type { SettingsFile } from "../app/settings/settings.ts";
import { type LiveShipping, openShipping } from "../app/ship/ship-live.ts";
import { productVersion } from "../app/version.ts";
import { serverApp } from "./app.ts";
import { Board } from "./board.ts";
import { reportedTroubles, type ServerState } from "./context.ts";
import { Hub } from "./hub.ts";
import { addressFrom, claim, type Instance, release, runningInstance } from "./instance.ts";
import { Journal } from "./journal.ts";
import { listen, named } from "./listen.ts";

export interface ServeOptions {
  readonly env: Env;
  readonly settings: SettingsFile;
  readonly notify: (text: string) => void;
  /** Null: the default port, or another free one. */
  readonly port: number | null;
  readonly host: string | null;
  /** Replayed agents have no processes; they count as alive until they end. */
  readonly isDemo?: boolean;
  /** Replaces the lookup of a connection's owner in tests. */
  readonly clients?: Clients;
}

export interface Served extends Instance {
  /** False if the server was already running. */
  readonly isOwn: boolean;
  /** The URL for a browser; gives it access. */
  readonly address: string;
  readonly stop: () => Promise<void>;
  /** Resolves when the server has stopped. */
  readonly stopped: Promise<void>;
}

const LOCAL = "127.0.0.1";

/** Returns the running server of this machine, or starts one. */
export async function serve(options: ServeOptions): Promise<Served> {
  const { env } = options;
  for (;;) {
    const running = await runningInstance(env);
    if (running !== null) return joined(running, options);
    const { served, state } = await start(options);
    if (isClaimed(env, served, state, options.notify)) return served;
    await served.stop();
  }
}

/** Returns false if another server was faster. If the note cannot be written, the server runs and retries the write. */
function isClaimed(env: Env, served: Served, { stop, troubles }: ServerState, notify: (text: string) => void): boolean {
  try {
    return claim(env, served);
  } catch (error) {
    if (asFailure(error) === null) throw error;
    const doing = "write server.json, by which other commands find this server";
    void persistently(() => claim(env, served), {
      signal: stop.signal,
      troubles,
      notify,
      code: "not-announced",
      doing,
    });
    return true;
  }
}

/** Serves replayed recordings in a temporary home that is deleted afterwards. */
export async function serveDemo({ env, ...options }: Omit<ServeOptions, "settings" | "isDemo">): Promise<Served> {
  const { env: stage, settings, close } = openDemo(env);
  try {
    const served = await serve({ ...options, env: stage, settings, isDemo: true });
    const stopped = served.stopped.then(close);
    return { ...served, stopped, stop: () => served.stop().then(() => stopped) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The server that is already running. Throws if another address was requested. */
async function joined(running: Instance, { port, host }: ServeOptions): Promise<Served> {
  const differs =
    (port !== null && port !== 0 && port !== running.port) ||
    (host !== null && host !== running.host && !(isLoopback(host) && isLoopback(running.host)));
  if (differs)
    throw new Failure("failed", `a server is already running at ${running.url}`, [
      `use it, or stop it first: it is process ${running.pid}`,
    ]);
  return {
    ...running,
    isOwn: false,
    address: await addressFrom(running),
    stop: async () => {},
    stopped: Promise.resolve(),
  };
}

async function start(options: ServeOptions): Promise<{ readonly served: Served; readonly state: ServerState }> {
  const { env, settings, notify, isDemo = false } = options;
  const host = options.host ?? LOCAL;
  const isLocal = isLoopback(host);
  const access = new Access(isLocal ? loadToken(env, "token") : newToken(), options.clients);
  const codes = new OneTimeCodes();
  const { state, journal } = initialState();
  const liveness = isDemo ? { liveness: () => "alive" as const } : {};
  const library = await openLibrary({ env, settings, notify, retries: true, ...liveness });
  const cards = new Cards({ library, env, guess: settings.values["relay.single_card_guess"] });
  const hub = new Hub(library, journal, new Board(cards));
  const relays = new Relays(env, settings.values["relay.servers"], (message) =>
    state.troubles.set("sessions-not-recorded", message),
  );
  const demo = new DemoServer(options, host);
  let port = 0;
  const url = () => `http://${named(host)}:${port}/`;
  /** True if this user's browser needs no token. In WSL it does: the browser runs outside of the virtual machine. */
  let needsNoToken = false;
  const address = () => (needsNoToken ? url() : `${url()}?token=${isLocal ? codes.issue() : access.token}`);
  const [instance, startedAt] = [randomBytes(8).toString("hex"), new Date().toISOString()];
  const about = { env, settings, version: productVersion(), instance, startedAt, isDemo };
  const context = { library, hub, cards, relays, ...about, state, notify, demo: () => demo.open(), address };
  const app = serverApp(context, { host, port: () => port, access, codes });
  const server = createServer(getRequestListener(app.fetch));
  try {
    port = await listen(server, host, options.port);
  } catch (error) {
    library.close();
    throw error;
  }
  const listeners = await openListeners(options, library, cards);
  const watched = watch(library, hub, listeners, state, notify);
  const endpoint = await resumeRelays(relays, env, notify);
  needsNoToken = isLocal && env.WSL_DISTRO_NAME === undefined && (await access.identifies(host, port));
  const traces = listeners.tracer?.formats ?? [];
  const own: Instance = { instance, pid: process.pid, host, port, url: url(), token: access.token, traces };
  const stopping = once(async () => {
    release(env, own);
    state.stop.abort();
    hub.journal.wake();
    server.close();
    endpoint?.close();
    await relays.stop();
    await demo.stop();
    await watched;
    for (const listener of [listeners.tracer, listeners.sentinel, listeners.shipping]) await listener?.stop();
    server.closeAllConnections();
    library.close();
  });
  return { served: { ...own, isOwn: true, address: address(), ...stopping }, state };
}

function initialState(): { readonly state: ServerState; readonly journal: Journal } {
  const journal = new Journal();
  const change = { type: "troubles", subject: "troubles", isThread: false, chain: [] } as const;
  const troubles = new Troubles((all) =>
    journal.append([{ ...change, data: JSON.stringify({ troubles: reportedTroubles(all) }) }]),
  );
  const state = { watching: false, clients: 0, troubles, reportChanged: () => {}, stop: new AbortController() };
  return { state, journal };
}

/** `stop` runs the work at its first call; every call waits for its end. */
function once(work: () => Promise<void>): Pick<Served, "stop" | "stopped"> {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= work().then(resolve);
    return stopping;
  };
  return { stop, stopped };
}

/** The server of the demo, started when the dashboard asks for it. */
class DemoServer {
  readonly #options: ServeOptions;
  readonly #host: string;
  #served: Promise<Served> | undefined;

  constructor(options: ServeOptions, host: string) {
    this.#options = options;
    this.#host = host;
  }

  open(): Promise<Served> {
    const { env, notify, clients } = this.#options;
    this.#served ??= serveDemo({
      env,
      notify,
      host: this.#host,
      port: 0,
      ...(clients === undefined ? {} : { clients }),
    });
    // A failed start may be tried again.
    this.#served.catch(() => {
      this.#served = undefined;
    });
    return this.#served;
  }

  async stop(): Promise<void> {
    await (await this.#served?.catch(() => undefined))?.stop();
  }
}

/** The recipients of changes besides the hub. */
interface Listeners {
  readonly autoCards: Cards | null;
  readonly tracer: Tracer | null;
  readonly sentinel: Sentinel | null;
  readonly shipping: LiveShipping | null;
}

async function openListeners(
  { env, settings, notify, isDemo = false }: ServeOptions,
  library: Library,
  cards: Cards,
): Promise<Listeners> {
  return {
    autoCards: settings.values["cards.from_threads"] ? cards : null,
    tracer: isDemo ? null : await openTracer(env, settings, library, notify),
    sentinel: isDemo ? null : new Sentinel({ env, settings, library, notify }),
    shipping: isDemo ? null : await openShipping({ env, settings, library, notify }),
  };
}

/** Returns the endpoint at which other processes answer permission requests; null if it cannot be opened. */
async function resumeRelays(relays: Relays, env: Env, notify: ServeOptions["notify"]) {
  await relays.resume().catch((error: Error) => notify(`could not resume relays: ${error.message}`));
  return shareRelays(env, () => relays.permissions).catch((error: Error) => {
    notify(`permission requests of followed servers cannot be answered: ${error.message}`);
    return null;
  });
}

/** Publishes changes of the library until the server stops. */
async function watch(
  library: Library,
  hub: Hub,
  { autoCards, tracer, sentinel, shipping }: Listeners,
  state: ServerState,
  notify: (text: string) => void,
): Promise<void> {
  const { signal } = state.stop;
  const { troubles } = state;
  const onWatching = (reportChanged: ServerState["reportChanged"]) => {
    state.reportChanged = reportChanged;
  };
  const since = library.now();
  let { replaced } = library.index;
  // Clients reload everything after an attempt that failed halfway, and when the initial reading is complete. So do
  // those that came before anything was read: a browser that was opened at once would show an empty list for good.
  let [isPartial, wasReading] = [true, false];
  const starters = new StarterWatch(library);
  const publish = async (changes: Changes) => {
    if (isPartial || library.index.replaced !== replaced || (wasReading && library.reading === null))
      await hub.startOver();
    wasReading = library.reading !== null;
    isPartial = true;
    ({ replaced } = library.index);
    if (autoCards !== null && (await autoCards.createFor(changes.threads, since))) await hub.cardsChanged();
    await hub.changed(changes);
    isPartial = false;
    starters.check(changes.threads);
  };
  for await (const changes of live(library, { signal, notify, troubles, onWatching, onRelease: () => hub.release() })) {
    await persistently(() => library.query(() => publish(changes)), { signal, notify, troubles });
    state.watching = true;
    tracer?.changed(changes.threads);
    sentinel?.changed(changes.threads);
    shipping?.changed(changes.threads);
  }
  state.watching = false;
}
