import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { Credentials, Follower, Provider, RelayStream, Step } from "../../core/ports/provider.ts";
import { parseJson } from "../../core/tools/json.ts";
import { fetchJson, Refused, readEventStream, type Server } from "../../transports/event-stream.ts";
import { Recorder } from "../../transports/recorder.ts";
import { Failure } from "../failure.ts";
import { type Env, recordingsRoot } from "../home.ts";
import { RelayPermissions } from "./relay-permissions.ts";
import { RELAYED_NAMES, relayId, slugOf } from "./relayed.ts";

export type RelayState = "connecting" | "following" | "waiting" | "refused" | "stopped";

/** The public state of a relay. */
export interface RelayView {
  readonly id: string;
  readonly provider: string;
  readonly url: string;
  readonly state: RelayState;
  /** Since when it is in this state. */
  readonly since: string;
  /** The last error; null if there is none. */
  readonly error: string | null;
  /** What this server does not report, and why; one sentence each. */
  readonly limits: readonly string[];
  readonly frames: number;
  readonly sessions: number;
  readonly lastFrameAt: string | null;
}

export interface RelayOptions {
  readonly env: Env;
  readonly provider: Provider;
  readonly url: URL;
  readonly credentials: Credentials | null;
  /** Called on every change of the state. */
  readonly onChange?: (view: RelayView) => void;
  /** Replaces the default delays. */
  readonly pace?: Partial<typeof PACE> & { readonly silenceMs?: number };
}

/** A connection that lasted `stableMs` counts as successful: the next attempt is immediate. */
const PACE = { firstMs: 250, longestMs: 30_000, catchUpMs: 30_000, stableMs: 5_000 };
/** Every stream begins with one empty frame. */
const FIRST_FRAMES = 1;
/**
 * Limits the backoff after short connections: one second if they delivered data, four seconds if only the first frame.
 */
const [MAX_FAILURES_WITH_DATA, MAX_FAILURES_WITHOUT_DATA] = [2, 4];
const OPEN_FILES = 64;
/** Frames that are recorded in one turn of the event loop: some milliseconds. */
const BATCH = 50;

/** Follows one server until stopped: records its stream unparsed, and requests what was missed. */
export class ServerRelay {
  readonly permissions: RelayPermissions;
  readonly #options: RelayOptions;
  readonly #pace: typeof PACE;
  readonly #server: Server;
  readonly #follower: Follower;
  readonly #recorders: Recorders;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #state: RelayState = "connecting";
  #since = Date.now();
  #error: string | null = null;
  #limits: readonly string[] = [];
  /** Whether `limits` say so. */
  #isFull = false;
  /** What the current stream does not report. */
  #streamLimit: string | null = null;
  #frames = 0;
  #lastFrameAt: number | null = null;
  /** Triggers a catch-up at once. */
  #wakeCatchUp = () => {};

  constructor(options: RelayOptions) {
    const { env, provider, url, credentials } = options;
    const { relay } = provider;
    if (relay === undefined)
      throw new Failure("usage", `servers of ${provider.product} cannot be followed`, [
        `write one of: ${RELAYED_NAMES.join(", ")}`,
      ]);
    this.#options = options;
    this.#pace = { ...PACE, ...options.pace };
    this.#server = { url, authorization: relay.authorization(env, credentials) };
    this.#follower = relay.follow();
    this.permissions = new RelayPermissions(env, provider.name, relay.permissions, this.#server);
    const run = `${new Date().toISOString().replace(/[:.]/g, "-")}-${process.pid}`;
    this.#recorders = new Recorders(join(recordingsRoot(env, provider.name), "sse", slugOf(url), run), (error) =>
      this.#setState(this.#state, `cannot write the recording: ${error.message}`),
    );
    this.#done = this.#run(relay.streams);
  }

  get view(): RelayView {
    const { provider, url } = this.#options;
    return {
      id: relayId(provider.name, url),
      provider: provider.name,
      url: url.href,
      state: this.#state,
      since: new Date(this.#since).toISOString(),
      error: this.#error,
      limits: this.#limits,
      frames: this.#frames,
      sessions: this.#recorders.names,
      lastFrameAt: this.#lastFrameAt === null ? null : new Date(this.#lastFrameAt).toISOString(),
    };
  }

  /** Sessions of the server are not recorded, because there are too many. */
  get isFull(): boolean {
    return this.#isFull;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  #setState(state: RelayState, error: string | null) {
    if (state !== this.#state) this.#since = Date.now();
    else if (error === this.#error) return;
    this.#state = state;
    this.#error = error;
    this.#options.onChange?.(this.view);
  }

  #setLimits(streamLimit: string | null) {
    this.#streamLimit = streamLimit;
    this.#isFull = this.#follower.isFull;
    const limits = [...(streamLimit === null ? [] : [streamLimit]), ...this.#follower.limits];
    if (limits.join("\n") === this.#limits.join("\n")) return;
    this.#limits = limits;
    if (this.#state === "following") this.#options.onChange?.(this.view);
  }

  async #run(streams: readonly RelayStream[]): Promise<void> {
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const [began, before] = [Date.now(), this.#frames];
      const error = await this.#connection(streams);
      // Backs off even if the server closes every stream immediately.
      if (Date.now() - began >= this.#pace.stableMs) failures = 0;
      else if (this.#frames > before)
        failures = Math.min(
          failures,
          this.#frames > before + FIRST_FRAMES ? MAX_FAILURES_WITH_DATA : MAX_FAILURES_WITHOUT_DATA,
        );
      if (signal.aborted) break;
      this.#setState(
        error instanceof Refused && needsPassword(error) ? "refused" : "waiting",
        error === null ? "the server closed the stream" : reasonOf(error),
      );
      await this.#pause(this.#backOff(failures), signal);
    }
    this.#recorders.close();
    this.#setState("stopped", null);
  }

  /** Exponential backoff with jitter, so that many clients do not reconnect at the same time. */
  #backOff(failures: number): number {
    return Math.min(this.#pace.longestMs, this.#pace.firstMs * 2 ** Math.min(failures, 20)) * (0.5 + Math.random() / 2);
  }

  /** Connects to the first stream that the server offers; returns the error that ended it, if any. */
  async #connection(streams: readonly RelayStream[]): Promise<Error | null> {
    const refusals: Refused[] = [];
    for (const stream of streams) {
      const error = await this.#stream(stream);
      if (!(error instanceof Refused) || needsPassword(error)) return error;
      refusals.push(error);
    }
    const tried = streams.map(({ path }, i) => `GET ${path}: ${refusals[i]?.message}`).join("; ");
    return new Error(`no event stream of ${this.#options.provider.product} at this address (${tried})`);
  }

  async #stream({ path, silenceMs, limit }: RelayStream): Promise<Error | null> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, over.signal]);
    let catchingUp: Promise<void> = Promise.resolve();
    const onOpen = () => {
      this.#setLimits(limit);
      this.#setState("following", null);
      catchingUp = this.#catchUpRepeatedly(signal);
    };
    try {
      for await (const frames of readEventStream(this.#server, path, {
        signal: this.#stop.signal,
        silenceMs: this.#options.pace?.silenceMs ?? silenceMs,
        onOpen,
      }))
        for (const [i, frame] of frames.entries()) {
          // The server's API has its turn between batches, however many frames arrive.
          if (i > 0 && i % BATCH === 0) await turn();
          this.#receive(frame);
        }
      return null;
    } catch (error) {
      return error as Error;
    } finally {
      over.abort();
      await catchingUp;
    }
  }

  /** Records the frame before anything else. */
  #receive(frame: string) {
    const at = Date.now();
    const json = parseJson(frame);
    const name = this.#follower.received(json?.value ?? null);
    this.permissions.onFrame(json?.value ?? null, at);
    this.#frames += 1;
    this.#lastFrameAt = at;
    if (this.#follower.isFull !== this.#isFull) this.#setLimits(this.#streamLimit);
    if (name !== null) this.#recorders.of(name).line(frame, at);
    if (this.#follower.needsCatchUp) this.#wakeCatchUp();
  }

  /**
   * After every connect, requests missed data until it succeeds; then periodically, because some streams stop reporting
   * without closing.
   */
  async #catchUpRepeatedly(signal: AbortSignal): Promise<void> {
    let gap = true;
    for (let failures = 0; !signal.aborted; ) {
      const complete = await this.#catchUp(gap, signal);
      if (!signal.aborted) this.#setLimits(this.#streamLimit);
      if (complete) gap = false;
      failures = complete ? 0 : failures + 1;
      if (!complete) await this.#pause(this.#backOff(failures), signal);
      else await this.#pause(this.#pace.catchUpMs, signal, (wake) => (this.#wakeCatchUp = wake));
      this.#wakeCatchUp = () => {};
      // Combines bursts into one request.
      if (complete) await this.#pause(this.#pace.firstMs, signal);
    }
  }

  async #catchUp(gap: boolean, signal: AbortSignal): Promise<boolean> {
    const steps = this.#follower.catchUp(gap);
    let step = steps.next(null);
    while (step.done !== true) {
      if (signal.aborted) return false;
      step = steps.next(await this.#follow(step.value, signal));
    }
    return step.value;
  }

  async #follow(step: Step, signal: AbortSignal) {
    if ("ask" in step) {
      const asked = Date.now();
      const response = await fetchJson(this.#server, step.ask, signal);
      if (response?.status === 200) this.permissions.onResponse(step.ask, response.body, asked);
      return response === null ? null : { ...response, asked };
    }
    this.#recorders.of(step.in).line(JSON.stringify(step.keep));
    return null;
  }

  #pause(ms: number, signal: AbortSignal, onWakeable: (wake: () => void) => void = () => {}): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done);
      onWakeable(done);
    });
  }
}

/** One recording per name, with a limit on open files. */
class Recorders {
  readonly #folder: string;
  readonly #onFailure: (error: Error) => void;
  readonly #open = new Map<string, Recorder>();
  readonly #names = new Set<string>();

  constructor(folder: string, onFailure: (error: Error) => void) {
    this.#folder = folder;
    this.#onFailure = onFailure;
  }

  get names(): number {
    return this.#names.size;
  }

  of(name: string): Recorder {
    const recorder = this.#open.get(name) ?? new Recorder(join(this.#folder, `${name}.jsonl`), this.#onFailure);
    // Most recently used last.
    this.#open.delete(name);
    this.#open.set(name, recorder);
    this.#names.add(name);
    for (const [oldest, { close }] of this.#open) {
      if (this.#open.size <= OPEN_FILES) break;
      close.call(this.#open.get(oldest));
      this.#open.delete(oldest);
    }
    return recorder;
  }

  close(): void {
    for (const recorder of this.#open.values()) recorder.close();
    this.#open.clear();
  }
}

const needsPassword = ({ status }: Refused) => status === 401 || status === 403;

/** Uses the cause of "fetch failed", which has the actual message. */
function reasonOf(error: Error): string {
  const cause = error.cause instanceof Error ? error.cause : error;
  return cause.message || (cause as NodeJS.ErrnoException).code || "the connection failed";
}
