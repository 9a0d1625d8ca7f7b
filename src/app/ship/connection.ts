import { setTimeout as sleep } from "node:timers/promises";
import type { Outbox } from "../../core/ports/outbox.ts";
import type { Shipped } from "../../core/ports/shipped.ts";
import { hold, pauseAfter, release, stateOf } from "../export/deliver.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { openKept } from "../kept/kept-file.ts";
import type { SettingsFile } from "../settings/settings.ts";
import { DocumentRefused, NotAcknowledged, POST_TIMEOUT_MS, post, withRevision } from "./post.ts";
import { openShipped } from "./shipped-file.ts";
import { type SendBatch, Shipper } from "./shipper.ts";
import { type ShipTarget, teamToken } from "./target.ts";

export interface ConnectOptions {
  readonly env: Env;
  readonly settings: SettingsFile;
  readonly target: ShipTarget;
  readonly library: Library;
  readonly notify: (text: string) => void;
  readonly signal: AbortSignal;
}

/** The longest time without contact: how late a machine learns that the server has lost what it sent. */
const CONTACT_MS = 3_600_000;

/** Read for each shipment: a token that was revoked or has expired is replaced in its file while this process runs. */
function currentToken(env: Env, settings: SettingsFile): string {
  try {
    return teamToken(env, settings);
  } catch (error) {
    if (error instanceof Failure) throw new NotAcknowledged(error.message, UNAUTHORIZED, null);
    throw error;
  }
}

const UNAUTHORIZED = 401;

/** Threads that are set aside in one attempt; if there are more, the server or this program is at fault. */
const MAX_REFUSED = 100;

/** Ships from one process at a time: it holds the destination of the outbox, and waits after failures. */
export class Connection {
  readonly shipper: Shipper;
  readonly #outbox: Outbox;
  readonly #shipped: Shipped;
  readonly #target: ShipTarget;
  readonly #token: () => string;
  readonly #send: SendBatch;
  readonly #close: () => void;
  readonly #signal: AbortSignal;
  #isOurs = false;
  /** When the next shipment may be sent, by the bandwidth of the settings. */
  #freeAt = 0;
  /** When the server last acknowledged something. */
  #contactAt = 0;
  /** Number of shipments when this process last sent something. */
  #shipments = 0;
  /** The last attempt failed for a reason that does not pass by itself. */
  isRefused = false;
  /** What the user can do about it; null: nothing, or nothing failed. */
  advice: string | null = null;

  private constructor(
    { outbox, shipped }: { readonly outbox: Outbox; readonly shipped: Shipped },
    { env, settings, library, target, signal }: ConnectOptions,
    close: () => void,
  ) {
    this.#signal = signal;
    this.#outbox = outbox;
    this.#shipped = shipped;
    this.#target = target;
    this.#close = close;
    this.#token = () => currentToken(env, settings);
    this.#send = (lines) => this.#post(lines);
    this.shipper = new Shipper({ library, target, shipped, send: this.#send, signal });
  }

  /** Throws a `Failure` if there is no token. */
  static async open(options: ConnectOptions): Promise<Connection> {
    const { env, settings, target, notify } = options;
    teamToken(env, settings);
    const kept = await openKept(env);
    try {
      const shipped = await openShipped(env, notify);
      const { outbox } = kept;
      outbox.open(target.name, null);
      return new Connection({ outbox, shipped }, options, () => {
        shipped.close();
        kept.close();
      });
    } catch (error) {
      kept.close();
      throw error;
    }
  }

  async #post(lines: readonly string[]): Promise<number> {
    const { name, bandwidth } = this.#target;
    const pauseMs = Math.max(0, this.#freeAt - Date.now());
    hold(this.#outbox, { name, timeoutMs: POST_TIMEOUT_MS + pauseMs });
    // An abort ends the pause, and then the request.
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal: this.#signal }).catch(() => undefined);
    const began = Date.now();
    const first = this.#shipped.reserve(name, lines.length, Date.now() * 1_000);
    const revised = lines.map((line, i) => withRevision(line, first + i));
    const { bytes, owner, numbers, newest, again } = await post(this.#target, this.#token(), revised, this.#signal);
    this.#contactAt = Date.now();
    if (bandwidth !== null) this.#freeAt = began + Math.ceil((bytes / bandwidth) * 1_000);
    // The server responds, so the pauses of earlier failures are over.
    this.#outbox.retry(name);
    if (!numbers.every((number) => this.#shipped.arrived(name, number, owner)))
      throw new NotAcknowledged(
        "the team server has lost shipments, or the token is now of another person; everything is sent again",
        null,
        0,
      );
    if (newest >= first + lines.length) {
      // Its clock was ahead when the positions were lost. Without this, everything would be ignored until then.
      this.#shipped.reserve(name, 0, newest + 1);
      throw new NotAcknowledged("the team server has newer revisions of this machine's threads", null, 0);
    }
    if (this.#shipped.resend(name, again) > 0)
      throw new NotAcknowledged("the team server asks for whole threads of this machine", null, 0);
    this.#outbox.arrived(name, [], this.#contactAt, null, lines.length);
    return bytes;
  }

  get #state() {
    return stateOf(this.#outbox, this.#target);
  }

  /** When the next attempt is due, in epoch milliseconds; 0 if nothing failed. */
  get nextAt(): number {
    return this.#state?.nextAt ?? 0;
  }

  /** When to contact the server even if there is nothing to send, in epoch milliseconds. */
  get contactDueAt(): number {
    return this.#contactAt + CONTACT_MS;
  }

  /** Why the last attempt failed. */
  get reason(): string | null {
    return this.#state?.reason ?? null;
  }

  /**
   * Runs the work if no other process ships. Returns false if another one does, or if the server did not acknowledge
   * everything; then the reason is recorded with the time of the next attempt.
   */
  async attempt(work: (shipper: Shipper) => Promise<void>): Promise<boolean> {
    this.#isOurs = hold(this.#outbox, { name: this.#target.name, timeoutMs: POST_TIMEOUT_MS });
    if (!this.#isOurs) return false;
    const began = Date.now();
    this.isRefused = false;
    this.advice = null;
    // What this process remembers of a running thread does not continue what another one has sent since.
    if (this.totals().shipments !== this.#shipments) this.shipper.reset();
    try {
      await this.#workAround(work);
      // Even if there is nothing to send: the server may have lost something.
      if (Date.now() >= this.contactDueAt) await this.#send([]);
      // Also if there was nothing to send.
      if (this.reason !== null) this.#outbox.retry(this.#target.name);
      return true;
    } catch (error) {
      this.shipper.reset();
      if (!(error instanceof NotAcknowledged)) throw error;
      // An aborted request is not a failure.
      if (this.#signal.aborted) return false;
      this.isRefused = error.isRefusal;
      this.advice = error.advice;
      const pause = pauseAfter(error, this.#state?.failures ?? 0);
      this.#outbox.postpone(this.#target.name, [], Date.now() + pause, error.message);
      return false;
    } finally {
      this.#shipments = this.totals().shipments;
      release(this.#outbox, { name: this.#target.name }, began);
    }
  }

  /** Threads that the server does not accept. */
  get refused(): readonly { readonly uri: string; readonly reason: string }[] {
    return this.#shipped
      .threads(this.#target.name)
      .flatMap(({ uri, refused }) => (refused === null ? [] : [{ uri, reason: refused.reason }]));
  }

  /** A thread that the server refuses does not keep others from being sent. */
  async #workAround(work: (shipper: Shipper) => Promise<void>): Promise<void> {
    for (let refused = 0; ; refused += 1)
      try {
        return await work(this.shipper);
      } catch (error) {
        if (!(error instanceof DocumentRefused) || refused === MAX_REFUSED) throw error;
        this.shipper.setAside(error.thread, error.message);
      }
  }

  /** True if another process holds the destination. */
  get isBusy(): boolean {
    return !this.#isOurs;
  }

  totals() {
    return this.#shipped.totals(this.#target.name);
  }

  close(): void {
    release(this.#outbox, { name: this.#target.name }, Number.MAX_SAFE_INTEGER);
    this.#close();
  }
}

/** How often to look whether another process has finished. */
const BUSY_MS = 200;

/** Sends everything; retries until the time is over. Returns why something is left, or null. */
export async function shipOnce(
  connection: Connection,
  patienceMs: number,
  signal: AbortSignal,
): Promise<string | null> {
  const until = Date.now() + patienceMs;
  for (;;) {
    if (await connection.attempt((shipper) => shipper.shipAll())) return signal.aborted ? "interrupted" : null;
    if (signal.aborted) return "interrupted";
    const next = connection.isBusy ? Date.now() + BUSY_MS : connection.nextAt;
    if (connection.isRefused || next > until)
      return connection.isBusy ? "another process is sending" : (connection.reason ?? "not acknowledged");
    // An abort ends the pause; the loop checks the signal.
    await sleep(Math.max(0, next - Date.now()), undefined, { signal }).catch(() => undefined);
  }
}
