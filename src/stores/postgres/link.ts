import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import type { Client } from "pg";
import { cached } from "../../core/tools/collections.ts";

/** A connection that cannot say goodbye within this time is cut. */
const GOODBYE_MS = 2_000;

/** One connection to the database. Its errors reach the statement that runs on it; between statements it is only lost. */
export class Link {
  readonly #client: Client;
  readonly #socket: Socket;
  readonly #silenceMs: number | null;
  #isOpen = true;
  #isWorn = false;
  #isEnding = false;
  #running = 0;
  #silence: NodeJS.Timeout | undefined;
  /** Resolves when the connection is closed, for whatever reason. */
  readonly lost: Promise<void>;

  /** `silenceMs`: a statement without an answer for so long means that the server is gone. */
  constructor(client: Client, socket: Socket, silenceMs: number | null) {
    this.#client = client;
    this.#socket = socket;
    this.#silenceMs = silenceMs;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.lost = promise;
    socket.once("close", () => {
      this.#isOpen = false;
      resolve();
    });
    // Without a listener, the error would end the process.
    client.on("error", () => this.destroy());
  }

  /** Whether the next statement can use it. */
  get isUsable(): boolean {
    return this.#isOpen && !this.#isWorn && !this.#isEnding;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Closed by us. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /**
   * Statements are sent without waiting for the answers to earlier ones. `isPrepared`: the server keeps the plan of the
   * statement for the next time.
   */
  async query<Row extends object>(
    text: string,
    parameters: readonly unknown[] = [],
    isPrepared = false,
  ): Promise<Row[]> {
    this.#watch(1);
    try {
      const name = isPrepared ? nameOf(text) : undefined;
      this.#gather();
      return (await this.#client.query<Row>({ name, text, values: [...parameters] })).rows;
    } catch (error) {
      if (isForgotten(error) || isReadOnly(error)) this.#isWorn = true;
      throw error;
    } finally {
      this.#watch(-1);
    }
  }

  /** Statements of the same moment are written at once. */
  #gather(): void {
    const { stream } = this.#client.connection;
    if (stream.writableCorked > 0) return;
    stream.cork();
    process.nextTick(() => stream.uncork());
  }

  /** Statements are answered one after another, so each answer shows that the server is there. */
  #watch(change: 1 | -1): void {
    this.#running += change;
    if (this.#running === 0) {
      clearTimeout(this.#silence);
      this.#silence = undefined;
    } else if (change === -1) this.#silence?.refresh();
    else if (this.#silenceMs !== null) this.#silence ??= setTimeout(() => this.destroy(), this.#silenceMs);
  }

  onNotify(callback: (payload: string) => void): void {
    this.#client.on("notification", ({ payload = "" }) => callback(payload));
  }

  /** Closes it; no statement may run on it. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const timer = setTimeout(() => this.destroy(), GOODBYE_MS);
    void this.lost.then(() => clearTimeout(timer));
    void this.#client.end();
  }

  /** Running statements fail. */
  destroy(): void {
    this.#isOpen = false;
    this.#socket.destroy();
  }
}

const names = new Map<string, string>();

/** Prepared statements are constants, so each is hashed once. */
const nameOf = (text: string) =>
  cached(names, text, () => `r${createHash("sha256").update(text).digest("hex").slice(0, 32)}`);

/** Functions of PostgreSQL that refuse a prepared statement: a table has changed since, or a pooler has dropped it. */
const FORGETTING = new Set(["RevalidateCachedQuery", "FetchPreparedStatement"]);

/** The session may stay read-only when the database is not any more, or belong to a server that is a replica now. */
const isReadOnly = (error: unknown) => error instanceof Error && "code" in error && error.code === "25006";

/** The same statement would fail on this connection forever; it can be repeated without preparing it. */
export const isForgotten = (error: unknown) =>
  error instanceof Error && "routine" in error && FORGETTING.has(String(error.routine));
