/** A server over a copy of a recorded home, and a client of its live stream. */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { type Served, type ServeOptions, serve } from "../../src/server/serve.ts";

export interface TestServer extends Served {
  readonly scratch: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  /** Messages of the server; empty if there are no problems. */
  readonly messages: readonly string[];
  get(path: string, init?: RequestInit): Promise<Response>;
  json<T>(path: string, init?: RequestInit): Promise<T>;
  close(): Promise<void>;
}

/** `home` is null for an empty home. */
export async function startServer(home: string | null, options: Partial<ServeOptions> = {}): Promise<TestServer> {
  const scratch = mkdtempSync(join(tmpdir(), "retinue-server-"));
  const copy = join(scratch, "home");
  if (home === null) mkdirSync(copy);
  else cpSync(home, copy, { recursive: true, preserveTimestamps: true });
  const env = { PATH: process.env.PATH ?? "", HOME: copy, RETINUE_HOME: join(scratch, "data") };
  const messages: string[] = [];
  const served = await serve({
    env,
    settings: await loadSettings(env),
    notify: (text) => messages.push(text),
    port: 0,
    host: null,
    ...options,
  });
  const get = (path: string, init: RequestInit = {}) => fetch(new URL(path, served.url), init);
  const json = async <T>(path: string, init: RequestInit = {}) => (await get(path, init)).json() as Promise<T>;
  const headers: Record<string, string> = served.token === null ? {} : { Authorization: `Bearer ${served.token}` };
  await until(async () => (await json<{ watching: boolean }>("/api/health", { headers })).watching);
  const close = async () => {
    await served.stop();
    rmSync(scratch, { recursive: true, maxRetries: 3 });
  };
  return { ...served, scratch, home: copy, env, messages, get, json, close };
}

const PATIENCE_MS = 300_000;
const LONGEST_POLL_MS = 10;

/** Polls until the condition holds. Throws after a minute, with the result of `actual`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  actual: () => unknown = () => null,
): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (let pollMs = 1; performance.now() < end; pollMs = Math.min(2 * pollMs, LONGEST_POLL_MS)) {
    if (await condition()) return;
    await wait(pollMs);
  }
  throw new Error(`timed out waiting for ${condition.toString()}; actual: ${JSON.stringify(actual())}`);
}

/** The first result that is not nullish. */
export async function eventually<T>(read: () => Promise<T>): Promise<NonNullable<T>> {
  let found: T | undefined;
  await until(async () => {
    found = await read();
    return found !== null && found !== undefined;
  });
  return found as NonNullable<T>;
}

export interface Message {
  readonly type: string;
  readonly id: string;
  readonly data: Record<string, unknown>;
}

/** Reads a stream as a browser does; `cut` closes it in the middle. */
export class LiveReader {
  readonly messages: Message[] = [];
  readonly #abort = new AbortController();
  readonly #done: Promise<void>;
  comments = 0;

  constructor(url: URL, lastEventId?: string) {
    this.#done = this.#read(url, lastEventId).catch((error: Error) => {
      if (!this.#abort.signal.aborted) throw error;
    });
  }

  get lastId(): string | undefined {
    return this.messages.at(-1)?.id;
  }

  of(type: string): Message[] {
    return this.messages.filter((message) => message.type === type);
  }

  async #read(url: URL, lastEventId?: string) {
    const headers: Record<string, string> = lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId };
    const { body, status } = await fetch(url, { headers, signal: this.#abort.signal });
    if (body === null || status !== 200) throw new Error(`the stream responds with ${status}`);
    let rest = "";
    for await (const part of body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + part).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block: string) {
    const field = (name: string) => block.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1] ?? "";
    if (block.startsWith(":")) this.comments += 1;
    else
      this.messages.push({
        type: field("event"),
        id: field("id"),
        data: JSON.parse(field("data")) as Record<string, unknown>,
      });
  }

  async cut(): Promise<void> {
    this.#abort.abort();
    await this.#done;
  }

  /** Resolves when the server has closed it. */
  get ended(): Promise<void> {
    return this.#done;
  }
}
