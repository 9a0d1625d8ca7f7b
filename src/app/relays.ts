import { existsSync } from "node:fs";
import { Failure } from "./failure.ts";
import type { Env } from "./home.ts";
import { keep, keptPath } from "./kept-file.ts";
import { type RelayView, ServerRelay } from "./relay.ts";
import { relayedProvider, relayId, serverAddress } from "./relayed.ts";

export interface RelayWish {
  readonly provider: string;
  readonly url: string;
  readonly password?: string | undefined;
}

/** The servers that are being followed; which ones is kept, so that it goes on after a restart. Passwords are held in memory and nowhere else. */
export class Relays {
  readonly #env: Env;
  readonly #onChange: (view: RelayView) => void;
  readonly #running = new Map<string, ServerRelay>();

  constructor(env: Env, onChange: (view: RelayView) => void = () => {}) {
    this.#env = env;
    this.#onChange = onChange;
  }

  get list(): readonly RelayView[] {
    return [...this.#running.values()].map(({ view }) => view);
  }

  /** Goes on with those that were followed before. */
  async resume(): Promise<void> {
    if (!existsSync(keptPath(this.#env))) return;
    const kept = await keep(this.#env);
    try {
      for (const { provider, url } of kept.relays()) this.#start({ provider, url });
    } finally {
      kept.close();
    }
  }

  /** One server is followed once; asked for again, it begins anew with the password given now. */
  async add(wish: RelayWish): Promise<RelayView> {
    const { provider, url, id } = parsed(wish);
    const kept = await keep(this.#env);
    try {
      kept.saveRelay({ id, provider: provider.name, url: url.href }, Date.now());
    } finally {
      kept.close();
    }
    await this.#running.get(id)?.stop();
    return this.#start(wish);
  }

  async remove(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) throw new Failure("not_found", `no server ${id} is followed`, ["next: GET /api/relays"]);
    this.#running.delete(id);
    const kept = await keep(this.#env);
    try {
      kept.removeRelay(id);
    } finally {
      kept.close();
    }
    await running.stop();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((relay) => relay.stop()));
  }

  #start(wish: RelayWish): RelayView {
    const { provider, url, credentials, id } = parsed(wish);
    const relay = new ServerRelay({ env: this.#env, provider, url, credentials, onChange: this.#onChange });
    this.#running.set(id, relay);
    return relay.view;
  }
}

function parsed({ provider: name, url: words, password }: RelayWish) {
  const provider = relayedProvider(name);
  const { url, credentials } = serverAddress(words);
  const given = password === undefined || password === "" ? credentials : { user: credentials?.user ?? null, password };
  return { provider, url, credentials: given, id: relayId(provider.name, url) };
}
