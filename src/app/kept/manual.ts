import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import type { ManualLink } from "../../core/link/parents.ts";
import type { Store } from "../../core/ports/store.ts";
import type { Env } from "../home.ts";
import { keptStamp, linksChanged, manualLinks } from "./kept-file.ts";

/** The manual links as last read. They are in another database that other processes may change. */
export class Manual {
  links: readonly ManualLink[] = [];
  /** Manual links cannot be read at the moment. */
  isUndecided = false;
  /** How often the file was opened, for tests. */
  reads = 0;
  /** The file as last read; null if it must be read again. */
  #stamp: string | null = null;

  /** Reads them if the file has changed, and returns the threads that changed. */
  async read(env: Env, store: Store): Promise<readonly AgentKey[]> {
    const stamp = keptStamp(env);
    if (stamp !== null && stamp === this.#stamp) return [];
    const before = this.links;
    this.reads += 1;
    const now = await manualLinks(env);
    this.#stamp = now === null ? null : stamp;
    this.isUndecided = now === null;
    // Keep the last known links until they can be read again.
    this.links = now ?? noted(store);
    return moved(before, this.links);
  }

  /** Links the threads again that changed since the store was updated. */
  follow(store: Store, project: (thread: AgentKey) => void): void {
    const threads = moved(noted(store), this.links);
    if (threads.length === 0) return;
    for (const thread of threads) project(thread);
    store.setNote("manual", JSON.stringify(this.links));
  }
}

const noted = (store: Store) => JSON.parse(store.note("manual") ?? "[]") as ManualLink[];

const moved = (before: readonly ManualLink[], after: readonly ManualLink[]) =>
  linksChanged(before, after).flatMap(({ child, parent }) => [threadOf(child), threadOf(parent)]);
