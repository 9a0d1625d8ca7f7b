/** The library: `import { open, run } from "retinue"`. The same records and events as on the command line, typed. */
import type { AgentRecord, AgentTree } from "../core/agent.ts";
import type { AgentEvent } from "../core/event.ts";
import { agentOf, subtreeOf } from "../core/link.ts";
import { treeOf } from "../core/record.ts";
import { readEvents } from "./events.ts";
import { closeHome, type Env } from "./home.ts";
import type { Library, ThreadFilter } from "./library.ts";
import { live } from "./live.ts";
import { openLibrary } from "./open.ts";
import { resolve } from "./resolve.ts";
import { loadSettings } from "./settings.ts";

export type { AgentRecord, AgentTree, LinkRecord, Status, StatusSource } from "../core/agent.ts";
export type { AgentEvent, EventKind, EventSpawn, EventTool } from "../core/event.ts";
export type { Tokens, Usage } from "../core/usage.ts";
export { type AgentRun, NotSupported, type RunOptions, run } from "./agent-run.ts";
export { Failure } from "./failure.ts";
export type { ThreadFilter } from "./library.ts";

export interface OpenOptions {
  /** The home folder whose agents are looked at; the user's own where it is left out. */
  readonly home?: string;
  /** Instead of the environment of this process: `CLAUDE_CONFIG_DIR`, `RETINUE_HOME` and the like. */
  readonly env?: Env;
  /** Hears what there is to say about the state of the index. */
  readonly talk?: (words: string) => void;
}

/** What the agents on a machine did and do. */
export interface Retinue {
  /** Top-level threads, newest activity first. */
  threads(filter?: ThreadFilter): Promise<readonly AgentRecord[]>;
  /** A thread or an agent with everybody below it. `uri` is whatever the command line takes. */
  tree(uri: string): Promise<AgentTree>;
  /** What happened, oldest first; with `subtree` to everybody below as well. */
  events(uri: string, options?: { readonly subtree?: boolean }): Promise<readonly AgentEvent[]>;
  /** The tree of every thread that changes, whenever it does, until the signal says so. */
  live(options?: { readonly signal?: AbortSignal }): AsyncIterable<AgentTree>;
  close(): void;
}

/** Reads what is there. Everything that is asked later is as of then; `live` keeps up. */
export async function open({ home, env, talk = () => {} }: OpenOptions = {}): Promise<Retinue> {
  const own: Env = env ?? (home === undefined ? process.env : { PATH: process.env.PATH, RETINUE_HOME: process.env.RETINUE_HOME });
  const whole = home === undefined ? own : { ...own, HOME: home };
  closeHome(whole);
  const library = await openLibrary({ env: whole, settings: await loadSettings(whole), talk });
  return new Opened(library);
}

class Opened implements Retinue {
  readonly #library: Library;
  /** One look at a time; while somebody follows along, what is known is up to date already. */
  #looking: Promise<unknown> = Promise.resolve();
  #followers = 0;

  constructor(library: Library) {
    this.#library = library;
  }

  async threads(filter: ThreadFilter = {}): Promise<readonly AgentRecord[]> {
    await this.#look();
    return [...this.#library.threads(filter)];
  }

  async tree(uri: string): Promise<AgentTree> {
    await this.#look();
    const { key } = resolve(this.#library, uri);
    return treeOf(this.#library.forestOf([key]), key, this.#library.price);
  }

  async events(uri: string, { subtree = false }: { readonly subtree?: boolean } = {}): Promise<readonly AgentEvent[]> {
    await this.#look();
    const { key } = resolve(this.#library, uri);
    const forest = this.#library.forestOf([key]);
    return readEvents(this.#library, forest, subtree ? subtreeOf(forest, key) : [agentOf(forest, key).key]);
  }

  async *live({ signal = new AbortController().signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<AgentTree> {
    await this.#looking;
    this.#followers += 1;
    try {
      for await (const threads of live(this.#library, { signal })) {
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

  async #look(): Promise<void> {
    if (this.#followers > 0) return;
    this.#looking = this.#looking.then(() => this.#library.refresh());
    await this.#looking;
  }
}
