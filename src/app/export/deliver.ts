import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { DestinationState, Outbox, OutboxItem } from "../../core/ports/outbox.ts";
import { type Outcome, send } from "../../transports/send.ts";
import { exists } from "../../transports/system/system.ts";
import type { Destination } from "./destination.ts";
import type { Log } from "./log.ts";

export interface DeliverOptions {
  readonly log: Log;
  /** How long to wait for an unreachable destination. */
  readonly patienceMs: number;
  readonly signal?: AbortSignal;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** Longer than any request, so that no other process takes over during one. */
const HOLD_MS = 60_000;

const HOLDER = `${hostname()}:${process.pid}`;

/** Holders on other machines cannot be checked; their lease expires. */
function isAlive(holder: string): boolean {
  const at = holder.lastIndexOf(":");
  return holder.slice(0, at) !== hostname() || exists(Number(holder.slice(at + 1)));
}

/** Acquires or extends the lease on the destination; true if this process holds it. */
export function hold(outbox: Outbox, { name, timeoutMs }: Pick<Destination, "name" | "timeoutMs">): boolean {
  const now = Date.now();
  return outbox.hold(name, HOLDER, now, now + timeoutMs + HOLD_MS, isAlive);
}

/** Releases the lease. Returns false and keeps it if another process requested a pass after `since`. */
export const release = (outbox: Outbox, { name }: Pick<Destination, "name">, since: number) =>
  outbox.release(name, HOLDER, since);

export const stateOf = (outbox: Outbox, { name }: Pick<Destination, "name">): DestinationState | undefined =>
  outbox.destinations().find((state) => state.name === name);

/**
 * Sends waiting items, oldest first, until none is left or the time is over. The caller must hold the destination.
 * Returns the destination's messages about items it accepted and dropped.
 */
export async function deliver(
  outbox: Outbox,
  destination: Destination,
  options: DeliverOptions,
): Promise<readonly string[]> {
  const until = Date.now() + options.patienceMs;
  const turnedDown: string[] = [];
  while (!isStopped(options)) {
    const state = stateOf(outbox, destination);
    if (state === undefined || state.waiting === 0 || state.nextAt > Math.max(until, Date.now())) break;
    // An abort ends the sleep; the loop checks the signal.
    if (state.nextAt > Date.now())
      await sleep(state.nextAt - Date.now(), undefined, { signal: options.signal }).catch(() => {});
    else if (!hold(outbox, destination)) break;
    else
      await sendBatch(
        { ...options, outbox, destination, failures: state.failures, turnedDown },
        outbox.next(destination.name, destination.limit),
      );
  }
  return turnedDown;
}

const isStopped = ({ signal }: DeliverOptions) => signal?.aborted === true;

interface Delivery extends DeliverOptions {
  readonly outbox: Outbox;
  readonly destination: Destination;
  /** Number of failures before. */
  readonly failures: number;
  readonly turnedDown: string[];
}

/**
 * Returns false if the remaining items must wait. If a batch is refused, its items are sent one by one, so that one
 * invalid item does not block the others.
 */
async function sendBatch(delivery: Delivery, items: readonly OutboxItem[]): Promise<boolean> {
  const { outbox, destination } = delivery;
  const [first] = items;
  if (first === undefined || isStopped(delivery)) return false;
  const ids = items.map(({ id }) => id);
  const outcome = await post(destination, items, delivery);
  switch (outcome.is) {
    case "accepted": {
      const left = destination.turnedDown(outcome.body);
      if (left !== null) delivery.turnedDown.push(left);
      outbox.arrived(destination.name, ids, Date.now(), left);
      return true;
    }
    case "unavailable":
      // An aborted request is not a failure.
      if (!isStopped(delivery))
        outbox.postpone(destination.name, ids, Date.now() + pauseAfter(outcome, delivery.failures), outcome.reason);
      return false;
    case "known":
    case "refused":
    case "too-large": {
      const half = Math.ceil(items.length / 2);
      if (items.length > 1)
        return (await sendBatch(delivery, items.slice(0, half))) && (await sendBatch(delivery, items.slice(half)));
      if (outcome.is === "known") outbox.arrived(destination.name, ids, Date.now(), null);
      else outbox.refuse(first.id, outcome.reason);
      return true;
    }
    default:
      return outcome satisfies never;
  }
}

async function post(
  { url, headers, encode, timeoutMs }: Destination,
  items: readonly OutboxItem[],
  { log, signal }: DeliverOptions,
): Promise<Outcome> {
  const encoded = encode(items.map(({ body }) => body));
  log(`sending ${items.length} (${encoded.body.length} bytes) to ${url}: ${items.map(({ key }) => key).join(" ")}`);
  const outcome = await send({
    url,
    headers: { ...headers, ...encoded.headers },
    body: encoded.body,
    timeoutMs,
    ...(signal === undefined ? {} : { signal }),
  });
  log(`${url} responded: ${outcome.is === "accepted" ? outcome.status : outcome.reason} (${outcome.is})`);
  return outcome;
}

/** Exponential backoff with jitter. */
export function pauseAfter({ retryAfterMs }: { readonly retryAfterMs: number | null }, failures: number): number {
  if (retryAfterMs !== null) return Math.min(Math.ceil(retryAfterMs), 24 * 3_600_000);
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 20));
  return Math.round(pause * (0.5 + Math.random() / 2));
}
