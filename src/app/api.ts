/**
 * The public library: `import { open, run } from "retinue"`. The same records and events as the command line, typed.
 */

import { agentOf, subtreeOf } from "../core/link/link.ts";
import type { AgentRecord, AgentTree } from "../core/views/agent.ts";
import type { AgentEvent } from "../core/views/event.ts";
import { treeOf } from "../core/views/record.ts";
import { closeHome, type Env } from "./home.ts";
import type { Library, ThreadFilter } from "./ingest/library.ts";
import { live } from "./live/live.ts";
import { openLibrary } from "./open.ts";
import { readEvents } from "./query/events.ts";
import { resolve } from "./query/resolve.ts";
import { loadSettings } from "./settings/settings.ts";

export type { Tokens, Usage } from "../core/facts/usage.ts";
export type { Status, StatusSource } from "../core/link/status.ts";
export type { AgentRecord, AgentTree, LinkRecord } from "../core/views/agent.ts";
export type { AgentEvent, EventKind, EventSpawn, EventTool } from "../core/views/event.ts";
export { Failure } from "./failure.ts";
export type { ThreadFilter } from "./ingest/library.ts";
export { type AgentRun, NotSupported, type RunOptions, run } from "./runs/agent-run.ts";

export interface OpenOptions {
  /** The home folder to read; default: the user's. */
  readonly home?: string;
  /** Replaces the environment of this process: `CLAUDE_CONFIG_DIR`, `RETINUE_HOME` and others. */
  readonly env?: Env;
  /** Receives messages about the state of the index. */
  readonly talk?: (text: string) => void;
}

/** The agents of a machine. */
export interface Retinue {
  /** Top-level threads, newest activity first. */
  threads(filter?: ThreadFilter): Promise<readonly AgentRecord[]>;
  /** A thread or an agent with its subtree. Accepts the same URIs as the command line. */
  tree(uri: string): Promise<AgentTree>;
  /** Events, oldest first; with `subtree`, also those of the agents below. */
  events(uri: string, options?: { readonly subtree?: boolean }): Promise<readonly AgentEvent[]>;
  /** The tree of each thread that changes, until the signal is aborted. */
  live(options?: { readonly signal?: AbortSignal }): AsyncIterable<AgentTree>;
  close(): void;
}

/** Syncs once. Later calls return the state of that sync; `live` keeps it current. */
export async function open({ home, env, talk = () => {} }: OpenOptions = {}): Promise<Retinue> {
  const own: Env =
    env ?? (home === undefined ? process.env : { PATH: process.env.PATH, RETINUE_HOME: process.env.RETINUE_HOME });
  const whole = home === undefined ? own : { ...own, HOME: home };
  closeHome(whole);
  const library = await openLibrary({ env: whole, settings: await loadSettings(whole), talk });
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
        const trees = await this.#library.ask(() => {
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
