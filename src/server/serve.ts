import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Access, type Clients, keptToken, newToken, OneTimeCodes } from "../app/access.ts";
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

/** Returns false if another server was faster. If the note cannot be written, the server keeps running and retrying. */
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
  const access = new Access(isLocal ? keptToken(env, "token") : newToken(), options.clients);
  const codes = new OneTimeCodes();
  const instance = randomBytes(8).toString("hex");
  const journal = new Journal();
  const troubles = new Troubles((all) =>
    journal.append([
      {
        type: "troubles",
        subject: "troubles",
        isThread: false,
        chain: [],
        data: JSON.stringify({ troubles: reportedTroubles(all) }),
      },
    ]),
  );
  const state: ServerState = {
    watching: false,
    clients: 0,
    troubles,
    reportChanged: () => {},
    stop: new AbortController(),
  };
  const library = await openLibrary({
    env,
    settings,
    notify,
    retries: true,
    ...(isDemo ? { liveness: () => "alive" as const } : {}),
  });
  const cards = new Cards({ library, env, guess: settings.values["relay.single_card_guess"] });
  const hub = new Hub(library, journal, new Board(cards));
  const relays = new Relays(env, settings.values["relay.servers"]);
  let port = 0;
  const url = () => `http://${named(host)}:${port}/`;
  /**
   * True if this user's browser needs no token. A browser outside of a virtual machine is not recognised as this
   * user's.
   */
  let needsNoToken = false;
  let stage: Promise<Served> | undefined;
  const demo = () => {
    stage ??= serveDemo({
      env,
      notify,
      host,
      port: 0,
      ...(options.clients === undefined ? {} : { clients: options.clients }),
    });
    // A failed start may be tried again.
    stage.catch(() => {
      stage = undefined;
    });
    return stage;
  };
  const context = {
    library,
    hub,
    cards,
    relays,
    env,
    settings,
    version: productVersion(),
    instance,
    startedAt: new Date().toISOString(),
    isDemo,
    state,
    notify,
    demo,
    address: () => (needsNoToken ? url() : `${url()}?token=${isLocal ? codes.issue() : access.token}`),
  };
  const app = serverApp(context, { host, port: () => port, access, codes });
  const server = createServer(getRequestListener(app.fetch));
  try {
    port = await listen(server, host, options.port);
  } catch (error) {
    library.close();
    throw error;
  }
  const tracer = isDemo ? null : await openTracer(env, settings, library, notify);
  const autoCards = settings.values["cards.from_threads"] ? cards : null;
  const sentinel = isDemo ? null : new Sentinel({ env, settings, library, notify });
  const shipping = isDemo ? null : await openShipping({ env, settings, library, notify });
  const watched = watch(library, hub, { autoCards, tracer, sentinel, shipping }, state, notify);
  await relays.resume().catch((error: Error) => notify(`could not resume relays: ${error.message}`));
  const endpoint = await shareRelays(env, () => relays.permissions).catch((error: Error) => {
    notify(`permission requests of followed servers cannot be answered: ${error.message}`);
    return null;
  });
  needsNoToken = isLocal && env.WSL_DISTRO_NAME === undefined && (await access.identifies(host, port));
  const own: Instance = {
    instance,
    pid: process.pid,
    host,
    port,
    url: url(),
    token: access.token,
    traces: tracer?.formats ?? [],
  };
  let stopping: Promise<void> | undefined;
  const { promise: stopped, resolve: hasStopped } = Promise.withResolvers<void>();
  const stop = () => {
    stopping ??= (async () => {
      release(env, own);
      state.stop.abort();
      hub.journal.wake();
      server.close();
      endpoint?.close();
      await relays.stop();
      await (await stage?.catch(() => undefined))?.stop();
      await watched;
      await tracer?.stop();
      await sentinel?.stop();
      await shipping?.stop();
      server.closeAllConnections();
      library.close();
      hasStopped();
    })();
    return stopping;
  };
  return { served: { ...own, isOwn: true, address: context.address(), stop, stopped }, state };
}

/** Other recipients of changes. */
interface Listeners {
  readonly autoCards: Cards | null;
  readonly tracer: Tracer | null;
  readonly sentinel: Sentinel | null;
  readonly shipping: LiveShipping | null;
}

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
  // After a failed attempt clients may have received only part of it; during the initial reading they receive little.
  let [isTorn, wasReading] = [false, false];
  const starters = new StarterWatch(library);
  const publish = async (changes: Changes) => {
    if (isTorn || library.index.replaced !== replaced || (wasReading && library.reading === null))
      await hub.startOver();
    wasReading = library.reading !== null;
    isTorn = true;
    ({ replaced } = library.index);
    if (autoCards !== null && (await autoCards.createFor(changes.threads, since))) await hub.cardsChanged();
    await hub.changed(changes);
    isTorn = false;
    starters.look(changes.threads);
  };
  for await (const changes of live(library, { signal, notify, troubles, onWatching, onRelease: () => hub.release() })) {
    state.watching = true;
    await persistently(() => library.ask(() => publish(changes)), { signal, notify, troubles });
    tracer?.changed(changes.threads);
    sentinel?.changed(changes.threads);
    shipping?.changed(changes.threads);
  }
  state.watching = false;
}
