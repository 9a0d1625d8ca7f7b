import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import type { Store } from "../../core/ports/store.ts";
import { faultKind, StoreFault } from "../../stores/fault.ts";
import { MemoryStore } from "../../stores/memory.ts";
import { privateDatabase } from "../../transports/private.ts";
import { basename, dirname, join } from "../../transports/system/paths.ts";
import { openIndex } from "../databases.ts";
import { type Env, madeHome, retinueHome } from "../home.ts";
import { productVersion } from "../version.ts";

export const indexPath = (env: Env) => join(retinueHome(env), "index.sqlite");

/** Increase it if parsers or facts change: an index of another version is rebuilt. */
const READER = 29;

/** The content of the index depends on the parsers and the price list, so also on the version of the package. */
function reader(): string {
  return `${productVersion()}/${READER}`;
}

interface IndexOptions {
  readonly env: Env;
  readonly notify: (text: string) => void;
  /** The caller retries, as a server does: then waiting for a lock must not block its thread. */
  readonly retries: boolean;
}

/** Attempts: the file, a new file, memory. */
const MAX_STORES = 3;
/** How long a retried write waits for the lock. */
const SHORT_WAIT_MS = 250;

/**
 * The index, whatever the state of its file. A damaged file is moved aside and rebuilt; one of another version is
 * rebuilt. If the file cannot be written, or was written by a newer retinue, everything is read into memory instead.
 * `notify` receives a message about it.
 */
export class Index {
  readonly #options: IndexOptions;
  readonly #path: string;
  #store: Store = new MemoryStore();
  /** Of the file that is open; null while in memory. */
  #identity: string | null = null;
  /** Why everything is in memory. */
  #reason: { readonly message: string; readonly isForGood: boolean } | null = null;

  #replaced = 0;
  #reportedFault: StoreFault | null = null;

  private constructor(options: IndexOptions) {
    this.#options = options;
    this.#path = indexPath(options.env);
  }

  /** A store without a replacement if it fails. */
  static of(store: Store): Index {
    const index = new Index({ env: {}, notify: () => {}, retries: true });
    index.#store = store;
    return index;
  }

  static async open(options: IndexOptions): Promise<Index> {
    const index = new Index(options);
    await index.#open();
    return index;
  }

  get store(): Store {
    return this.#store;
  }

  /**
   * Why the memory store is used; null if the file is used. Other threads and processes see only the file.
   */
  get trouble(): string | null {
    return this.#reason === null ? null : `cannot use the index (${this.#reason.message}); results come from memory`;
  }

  /** How often the store was replaced. Results derived from an earlier one are invalid. */
  get replaced(): number {
    return this.#replaced;
  }

  /** Whether the memory store is only temporary. */
  get mayReturn(): boolean {
    return this.#reason !== null && !this.#reason.isForGood;
  }

  /** A query failed. Returns whether the store is the cause; then the next `run` replaces the store first. */
  reportFault(error: unknown): boolean {
    if (!(error instanceof StoreFault) || error.kind === "busy") return false;
    this.#reportedFault = error;
    return true;
  }

  /**
   * Runs work on the store. If the store is damaged or cannot be written, it is replaced and filled, and the work runs
   * again.
   */
  async run<T>(work: () => Promise<T>, fill: () => Promise<void>): Promise<T> {
    for (let left = MAX_STORES; ; left -= 1) {
      try {
        const fault = this.#reportedFault;
        this.#reportedFault = null;
        if (fault !== null) throw fault;
        if (left < MAX_STORES) await fill();
        return await work();
      } catch (error) {
        if (left === 0 || !(await this.#replace(error))) throw error;
      }
    }
  }

  /** False if it would not help. */
  async #replace(error: unknown): Promise<boolean> {
    if (!(error instanceof StoreFault) || this.#identity === null || (error.kind === "busy" && this.#options.retries))
      return false;
    this.#close();
    this.#replaced += 1;
    if (error.kind === "damaged") this.#setAside(error, this.#identity);
    if (error.kind === "damaged" || error.kind === "outdated") await this.#open();
    else await this.#useMemory(error);
    return true;
  }

  /** Returns from memory to the file, if it can be written again. It is filled first. */
  async returnToFile(fill: (store: Store) => Promise<void>): Promise<boolean> {
    if (!this.mayReturn) return false;
    const store = await this.#openFile().catch(() => null);
    if (store === null) return false;
    try {
      await fill(store);
    } catch (error) {
      store.close();
      if (error instanceof StoreFault) return false;
      throw error;
    }
    this.#close();
    this.#store = store;
    this.#identity = identityOf(this.#path);
    this.#reason = null;
    this.#replaced += 1;
    this.#options.notify("the index can be used again");
    return true;
  }

  async #open(): Promise<void> {
    try {
      this.#store = await this.#openFile();
    } catch (error) {
      const identity = identityOf(this.#path);
      if (faultKind(error) !== "damaged" || identity === null) return this.#useMemory(error as Error);
      this.#setAside(error as Error, identity);
      try {
        this.#store = await this.#openFile();
      } catch (again) {
        return this.#useMemory(again as Error);
      }
    }
    this.#identity = identityOf(this.#path);
  }

  async #openFile(): Promise<Store> {
    madeHome(this.#options.env);
    privateDatabase(this.#path);
    return openIndex(this.#path, reader(), this.#options.retries ? SHORT_WAIT_MS : undefined);
  }

  /** The same database without a file: packed, so that a large home fits into memory. */
  async #useMemory(error: Error): Promise<void> {
    this.#store = await openIndex(":memory:", reader());
    this.#identity = null;
    this.#reason = { message: error.message, isForGood: faultKind(error) === null };
    this.#options.notify(`reading without the index: ${error.message}`);
  }

  #setAside(error: Error, identity: string): void {
    // Another process may have replaced it already; then its file is used.
    if (identityOf(this.#path) !== identity) return;
    const aside = `${this.#path}.damaged-${Date.now()}`;
    try {
      // It can be rebuilt from the transcripts, so only one damaged file is kept for inspection.
      for (const older of setAsideFiles(this.#path)) rmSync(older);
      moveDatabase(this.#path, aside);
      this.#options.notify(`the index was damaged (${error.message}); it is now ${aside} and a new one is made`);
    } catch {
      // Another process was faster, or nothing can be written; opening it again shows which.
    }
  }

  #close(): void {
    try {
      this.#store.close();
    } catch {
      // A damaged database may fail to close; the process end closes it.
    }
  }
}

/** The files that a SQLite database in WAL mode consists of. */
const SQLITE_SUFFIXES = ["", "-wal", "-shm"] as const;

function moveDatabase(from: string, to: string): void {
  for (const suffix of SQLITE_SUFFIXES) if (existsSync(from + suffix)) renameSync(from + suffix, to + suffix);
}

/** Distinguishes a file from another one with the same name. */
export function identityOf(path: string): string | null {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? null : `${stat.dev} ${stat.ino}`;
}

/** Damaged databases that were moved aside, oldest first. */
export function setAsideFiles(path: string): readonly string[] {
  if (!existsSync(dirname(path))) return [];
  const prefix = `${basename(path)}.damaged-`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix))
    .sort()
    .map((name) => join(dirname(path), name));
}
