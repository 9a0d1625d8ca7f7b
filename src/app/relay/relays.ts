import { existsSync } from "node:fs";
import { exact } from "../../core/tools/format.ts";
import { MAX_FOLLOWED_SESSIONS } from "../../core/tools/limits.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import { keptPath, openKept } from "../kept/kept-file.ts";
import { isLoopback } from "../own-names.ts";
import { type RelayView, ServerRelay } from "./relay.ts";
import type { RelayPermissions } from "./relay-permissions.ts";
import { relayedProvider, relayId, serverAddress } from "./relayed.ts";

export interface RelayRequest {
  readonly provider: string;
  readonly url: string;
  readonly password?: string | undefined;
}

/**
 * The followed servers. The list is stored and resumed after a restart; passwords are kept in memory only. Servers on
 * other machines must be listed in the settings, and only those get the password of the environment, because API
 * clients must not learn it.
 */
export class Relays {
  readonly #env: Env;
  readonly #named: ReadonlySet<string>;
  readonly #running = new Map<string, ServerRelay>();
  readonly #onFull: (message: string | null) => void;

  /** `named`: URLs in the settings. `onFull`: which servers have too many sessions; null if none has. */
  constructor(env: Env, named: readonly string[], onFull: (message: string | null) => void = () => {}) {
    this.#env = env;
    this.#onFull = onFull;
    this.#named = new Set(named.map((address) => serverAddress(address).url.href));
  }

  get list(): readonly RelayView[] {
    return [...this.#running.values()].map(({ view }) => view);
  }

  /** Lets other processes answer the permission requests of the followed servers. */
  get permissions(): readonly RelayPermissions[] {
    return [...this.#running.values()].map(({ permissions }) => permissions);
  }

  /** Resumes the stored relays. */
  async resume(): Promise<void> {
    if (!existsSync(keptPath(this.#env))) return;
    const kept = await openKept(this.#env);
    const failures: unknown[] = [];
    try {
      for (const { provider, url } of kept.relays()) {
        try {
          this.#start({ provider, url });
        } catch (error) {
          failures.push(error);
        }
      }
    } finally {
      kept.close();
    }
    if (failures.length > 0) throw failures[0];
  }

  /** A server is followed once; adding it again restarts it with the new password. */
  async add(request: RelayRequest): Promise<RelayView> {
    const { provider, url, id } = this.#checked(request);
    const kept = await openKept(this.#env);
    try {
      kept.saveRelay({ id, provider: provider.name, url: url.href }, Date.now());
    } finally {
      kept.close();
    }
    await this.#running.get(id)?.stop();
    return this.#start(request);
  }

  async remove(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) throw new Failure("not_found", `no relay ${id}`, ["GET /api/relays lists them"]);
    this.#running.delete(id);
    const kept = await openKept(this.#env);
    try {
      kept.removeRelay(id);
    } finally {
      kept.close();
    }
    await running.stop();
    this.#reportFull();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((relay) => relay.stop()));
  }

  #start(request: RelayRequest): RelayView {
    const { provider, url, credentials, id } = this.#checked(request);
    const env = this.#named.has(url.href) ? this.#env : { ...this.#env, [provider.relay?.secret ?? ""]: undefined };
    const relay = new ServerRelay({ env, provider, url, credentials, onChange: () => this.#reportFull() });
    this.#running.set(id, relay);
    return relay.view;
  }

  #reportFull() {
    const full = [...this.#running.values()].filter(({ isFull }) => isFull).map(({ view }) => view.url);
    this.#onFull(
      full.length === 0
        ? null
        : `${full.join(", ")}: more than ${exact(MAX_FOLLOWED_SESSIONS)} sessions; further ones are not recorded until the server is followed anew`,
    );
  }

  #checked(request: RelayRequest) {
    const server = parsed(request);
    const { href, hostname } = server.url;
    if (!isLoopback(hostname) && !this.#named.has(href))
      throw new Failure("usage", `${href} is not on this machine and not listed in the settings`, [
        `add it to relay.servers in the settings file and restart retinue, or run: retinue relay ${server.provider.name} --url ${href}`,
      ]);
    return server;
  }
}

function parsed({ provider: name, url: href, password }: RelayRequest) {
  const provider = relayedProvider(name);
  const { url, credentials } = serverAddress(href);
  const given = password === undefined || password === "" ? credentials : { user: credentials?.user ?? null, password };
  return { provider, url, credentials: given, id: relayId(provider.name, url) };
}
