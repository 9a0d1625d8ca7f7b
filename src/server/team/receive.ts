import type { Context } from "hono";
import { isUnstorableValue, type TeamStore } from "../../app/team/store.ts";
import type { ShipmentDocument } from "../../core/ports/shipment.ts";
import { TooLarge } from "../../core/tools/limits.ts";
import { refusal } from "../failures.ts";
import { type TeamEnv, viewerOf } from "./access.ts";
import type { Metrics } from "./metrics.ts";
import { type Culprit, LargeLine, MalformedLine, parseShipment, SHIPMENT_LIMITS, WHOLE_SHIPMENT } from "./shipment.ts";
import { Displaced, Turns } from "./turns.ts";

/** Bodies that are received at once, at most 8 MB each. A slow sender delays only those that wait for its place. */
const RECEIVED_AT_ONCE = 32;
const RECEIVE_MS = 20_000;
/** Shipments that are unpacked and stored at once: each has up to 16 MB, and several times as much in memory. */
const STORED_AT_ONCE = 4;
/** Senders beyond these are asked to come back: they would give up before their turn, and waiting takes memory. */
const MAX_WAITING = 256;
/** A token may be that of many machines, and its holder may send bodies that never end. */
const OF_ONE_TOKEN = { atOnce: 8, maxWaiting: 32 } as const;
/** At different times, so that machines that were refused together do not come back together. */
const RETRY_SECONDS = { least: 2, most: 30 } as const;

/** What a machine can do about a document that is refused. */
const LEAVE_OUT = "leave its thread out: the rest of the shipment can be stored";

/** The body did not arrive; the same shipment may be sent again. */
class Interrupted extends Error {
  override readonly name = "Interrupted";
}

interface ReceiverContext {
  readonly store: Pick<TeamStore, "ingest">;
  readonly metrics: Metrics;
  readonly log: (event: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** Receives and stores shipments, a limited number at a time. */
export class Receiver {
  readonly #context: ReceiverContext;
  readonly #receiving = new Turns({ atOnce: RECEIVED_AT_ONCE, maxWaiting: MAX_WAITING, ofOneClient: OF_ONE_TOKEN });
  readonly #storing = new Turns({ atOnce: STORED_AT_ONCE, maxWaiting: RECEIVED_AT_ONCE });

  #lagSeconds = 0;

  constructor(context: ReceiverContext) {
    this.#context = context;
  }

  /** Shipments that wait for their turn. */
  get waiting(): number {
    return this.#receiving.waiting + this.#storing.waiting;
  }

  /** How old the newest event of the last shipment was when it was stored. */
  get lagSeconds(): number {
    return this.#lagSeconds;
  }

  /** The response to `POST /api/ingest`. */
  async receive(c: Context<TeamEnv>): Promise<Response> {
    const encoding = c.req.header("content-encoding")?.toLowerCase() ?? "identity";
    if (encoding !== "gzip" && encoding !== "identity") {
      // The body is not read.
      c.header("Connection", "close");
      return refusal(
        c,
        "unsupported",
        `a shipment cannot be compressed with ${encoding}`,
        "use gzip, or do not compress it",
      );
    }
    const token = viewerOf(c).grant.id;
    const place = this.#receiving.enter(token);
    if (place === null) return this.#busy(c);
    try {
      await place.turn;
    } catch (error) {
      if (error instanceof Displaced) return this.#busy(c);
      throw error;
    }
    try {
      const body = await bodyOf(c.req.raw);
      return c.json(await this.#storing.take(token, () => this.#store(c, body, encoding === "gzip")));
    } catch (error) {
      return this.#refused(c, error);
    } finally {
      place.done();
    }
  }

  #busy(c: Context<TeamEnv>): Response {
    this.#failed("Busy");
    const { least, most } = RETRY_SECONDS;
    c.header("Retry-After", String(least + Math.floor(Math.random() * (most - least + 1))));
    // The body is not read.
    c.header("Connection", "close");
    return refusal(c, "unavailable", "too many shipments at once", "send it again after the time in Retry-After");
  }

  async #store(c: Context<TeamEnv>, body: Buffer, isCompressed: boolean) {
    // The sender has given up, and will send it again.
    if (c.req.raw.signal.aborted) throw new Interrupted("the connection was closed");
    const { store, metrics, log } = this.#context;
    const { owner } = viewerOf(c).grant;
    const began = performance.now();
    const { head, documents } = await parseShipment(body, isCompressed);
    const receipt = await store.ingest(owner, head, documents);
    metrics.count("retinue_shipments_total", "Shipments stored.");
    metrics.count("retinue_documents_total", "Documents stored.", {}, receipt.accepted);
    metrics.count("retinue_documents_ignored_total", "Documents that were not newer.", {}, receipt.ignored);
    metrics.count("retinue_shipment_bytes_total", "Bytes received in shipments.", {}, body.length);
    const newest = newestTime(documents);
    // A clock that is ahead is not negative lag.
    if (newest > 0) this.#lagSeconds = Math.max(0, Date.now() - newest) / 1_000;
    const ms = Math.round(performance.now() - began);
    const counts = { ...receipt, again: receipt.again.length };
    log("shipment", { owner, machine: head.machine, version: head.version, ...counts, bytes: body.length, ms });
    return { owner, ...receipt };
  }

  #refused(c: Context<TeamEnv>, error: unknown): Response {
    const refused = refusalFor(error);
    this.#failed(refused?.reason ?? "error");
    if (refused === null) throw error;
    const { code, message, next, culprit } = refused;
    this.#context.log("malformed", { owner: viewerOf(c).grant.owner, message: (error as Error).message });
    // The rest of the body was not read.
    c.header("Connection", "close");
    return refusal(c, code, message, next, culprit);
  }

  #failed(reason: string): void {
    this.#context.metrics.count("retinue_shipments_failed_total", "Shipments that were not stored.", { reason });
  }
}

interface Refused {
  readonly reason: string;
  readonly code: "invalid" | "too_large" | "unavailable";
  readonly message: string;
  readonly next: string | null;
  readonly culprit: Culprit;
}

/** Why a shipment is refused; null if it is for another reason than the shipment. */
function refusalFor(error: unknown): Refused | null {
  if (error instanceof Interrupted)
    return {
      reason: error.name,
      code: "unavailable",
      message: error.message,
      next: "send it again",
      culprit: WHOLE_SHIPMENT,
    };
  if (isUnstorableValue(error))
    return {
      reason: "UnstorableValue",
      code: "invalid",
      message: "the database cannot store a value of this shipment",
      next: LEAVE_OUT,
      culprit: WHOLE_SHIPMENT,
    };
  if (!(error instanceof MalformedLine || error instanceof TooLarge)) return null;
  const { name: reason, message } = error;
  const culprit = error instanceof TooLarge && !(error instanceof LargeLine) ? WHOLE_SHIPMENT : error.culprit;
  const isOne = culprit.document !== null;
  if (error instanceof MalformedLine)
    return { reason, code: "invalid", message, next: isOne ? LEAVE_OUT : null, culprit };
  return { reason, code: "too_large", message, next: isOne ? LEAVE_OUT : "send smaller shipments", culprit };
}

/** The time of the newest event; 0 without one. */
const newestTime = (documents: readonly ShipmentDocument[]) =>
  documents.reduce((last, one) => Math.max(last, (one.is === "event" && Date.parse(one.event.at ?? "")) || 0), 0);

/** A body that is too large is read up to this factor, so that its sender gets the response and not a closed connection. */
const DISCARDED = 4;

/** The body, of limited size and within a limited time. */
async function bodyOf(request: Request): Promise<Buffer> {
  const most = SHIPMENT_LIMITS.compressedBytes;
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = request.body?.getReader();
  const slow = setTimeout(() => reader?.cancel(new Error("too slow")).catch(() => {}), RECEIVE_MS);
  const until = Date.now() + RECEIVE_MS;
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (Date.now() >= until) throw new Interrupted(`the body did not arrive within ${RECEIVE_MS / 1_000} seconds`);
      if ((done && size > most) || size > DISCARDED * most) throw new TooLarge(`a shipment has at most ${most} bytes`);
      if (done) return Buffer.concat(parts);
      size += value.length;
      if (size <= most) parts.push(value);
    }
  } finally {
    clearTimeout(slow);
  }
}
