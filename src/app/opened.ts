import { agentOf, subtreeOf } from "../core/link/forest.ts";
import type { AgentRecord, AgentTree } from "../core/views/agent.ts";
import type { AgentEvent } from "../core/views/event.ts";
import { treeOf } from "../core/views/record.ts";
import type { OpenOptions, Retinue } from "./api.ts";
import { closeHome, type Env } from "./home.ts";
import type { Library, ThreadFilter } from "./ingest/library.ts";
import { live } from "./live/live.ts";
import { openLibrary } from "./open.ts";
import { readEvents } from "./query/events.ts";
import { resolve } from "./query/resolve.ts";
import { loadSettings } from "./settings/settings.ts";

/** `open` of the public library. */
export async function open({ home, env, notify = () => {} }: OpenOptions = {}): Promise<Retinue> {
  const own: Env =
    env ?? (home === undefined ? process.env : { PATH: process.env.PATH, RETINUE_HOME: process.env.RETINUE_HOME });
  const whole = home === undefined ? own : { ...own, HOME: home };
  closeHome(whole);
  const library = await openLibrary({ env: whole, settings: await loadSettings(whole), notify });
  return new Opened(library);
}

class Opened implements Retinue {
  readonly #library: Library;
  /** Serialises syncs. While `live` is running, the data is already current. */
  #syncing: Promise<unknown> = Promise.resolve();
  #followers = 0;

  constructor(library: Library) {
    this.#library = library;
  }

  async threads(filter: ThreadFilter = {}): Promise<readonly AgentRecord[]> {
    await this.#sync();
    return [...this.#library.threads(filter)];
  }

  async tree(uri: string): Promise<AgentTree> {
    await this.#sync();
    const { key } = resolve(this.#library, uri);
    return treeOf(this.#library.forestOf([key]), key, this.#library.price);
  }

  async events(uri: string, { subtree = false }: { readonly subtree?: boolean } = {}): Promise<readonly AgentEvent[]> {
    await this.#sync();
    const { key } = resolve(this.#library, uri);
    const forest = this.#library.forestOf([key]);
    return readEvents(this.#library, forest, subtree ? subtreeOf(forest, key) : [agentOf(forest, key).key]);
  }

  async *live({
    signal = new AbortController().signal,
  }: {
    readonly signal?: AbortSignal;
  } = {}): AsyncGenerator<AgentTree> {
    await this.#syncing;
    this.#followers += 1;
    try {
      for await (const { threads } of live(this.#library, { signal })) {
        const trees = await this.#library.query(() => {
          const roots = new Set([...threads].flatMap((thread) => this.#library.forestOf([thread]).roots));
          return [...roots].map((root) => treeOf(this.#library.forestOf([root]), root, this.#library.price));
        });
        yield* trees;
      }
    } finally {
      this.#followers -= 1;
    }
  }

  close(): void {
    this.#library.close();
  }

  async #sync(): Promise<void> {
    if (this.#followers > 0) return;
    this.#syncing = this.#syncing.then(() => this.#library.refresh());
    await this.#syncing;
  }
}
