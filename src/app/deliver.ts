import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { DestinationState, Outbox, OutboxItem } from "../stores/sqlite/outbox.ts";
import { type Outcome, send } from "../transports/send.ts";
import type { Log } from "./debug-log.ts";
import type { Destination } from "./destination.ts";

export interface DeliverOptions {
  readonly log: Log;
  /** How long to wait for a destination that cannot be reached. */
  readonly patienceMs: number;
  readonly signal?: AbortSignal;
  /** Told how many of how many have arrived. */
  readonly onProgress?: (done: number, all: number) => void;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** Longer than any request, so that nobody takes over while one is under way. */
const HOLD_MS = 60_000;

const HOLDER = `${hostname()}:${process.pid}`;

/** Holders on other machines cannot be seen; their time runs out. */
function isAlive(holder: string): boolean {
  const at = holder.lastIndexOf(":");
  if (holder.slice(0, at) !== hostname()) return true;
  try {
    process.kill(Number(holder.slice(at + 1)), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Whether this process is the one that looks after the destination now. */
export function hold(outbox: Outbox, { name, timeoutMs }: Destination): boolean {
  const now = Date.now();
  return outbox.hold(name, HOLDER, now, now + timeoutMs + HOLD_MS, isAlive);
}

/** False, and still ours, if somebody asked for another look after `since`. */
export const release = (outbox: Outbox, { name }: Destination, since: number) => outbox.release(name, HOLDER, since);

export const stateOf = (outbox: Outbox, { name }: Destination): DestinationState | undefined => outbox.destinations().find((state) => state.name === name);

/** Sends what waits, oldest first, until nothing does or patience is out. Only for whoever holds the destination. */
export async function deliver(outbox: Outbox, destination: Destination, options: DeliverOptions): Promise<void> {
  const until = Date.now() + options.patienceMs;
  let done = 0;
  while (!isStopped(options)) {
    const state = stateOf(outbox, destination);
    if (state === undefined || state.waiting === 0) return;
    options.onProgress?.(done, done + state.waiting);
    if (state.nextAt > Date.now()) {
      if (state.nextAt > until) return;
      await sleep(state.nextAt - Date.now(), undefined, { ...(options.signal === undefined ? {} : { signal: options.signal }) }).catch(() => {});
      continue;
    }
    if (!hold(outbox, destination)) return;
    done += await sendBatch(outbox, destination, outbox.next(destination.name, destination.limit), state.failures, options);
  }
}

const isStopped = ({ signal }: DeliverOptions) => signal?.aborted === true;

/** Says how many are done with. Of a batch that is turned down, the pieces are tried by themselves: one bad one must not spoil the others. */
async function sendBatch(outbox: Outbox, destination: Destination, items: readonly OutboxItem[], failures: number, options: DeliverOptions): Promise<number> {
  const [first] = items;
  if (first === undefined || isStopped(options)) return 0;
  const ids = items.map(({ id }) => id);
  const outcome = await post(destination, items, options);
  switch (outcome.is) {
    case "accepted":
      outbox.arrived(destination.name, ids, Date.now(), destination.turnedDown(outcome.answer));
      return ids.length;
    case "unavailable":
      // Who is told to stop in the middle has not failed.
      if (!isStopped(options)) outbox.postpone(destination.name, ids, Date.now() + pauseAfter(outcome, failures), outcome.reason);
      return 0;
    case "known":
    case "refused":
    case "too-large": {
      if (items.length > 1) {
        const half = Math.ceil(items.length / 2);
        const sent = await sendBatch(outbox, destination, items.slice(0, half), failures, options);
        return sent === half ? sent + (await sendBatch(outbox, destination, items.slice(half), failures, options)) : sent;
      }
      if (outcome.is === "known") outbox.arrived(destination.name, ids, Date.now(), null);
      else outbox.refuse(first.id, outcome.reason);
      return 1;
    }
    default:
      return outcome satisfies never;
  }
}

async function post({ url, headers, encode, timeoutMs }: Destination, items: readonly OutboxItem[], { log, signal }: DeliverOptions): Promise<Outcome> {
  const encoded = encode(items.map(({ body }) => body));
  log(`sending ${items.length} (${encoded.body.length} bytes) to ${url}: ${items.map(({ key }) => key).join(" ")}`);
  const outcome = await send({ url, headers: { ...headers, ...encoded.headers }, body: encoded.body, timeoutMs, ...(signal === undefined ? {} : { signal }) });
  log(`${url} answers: ${outcome.is === "accepted" ? outcome.status : outcome.reason} (${outcome.is})`);
  return outcome;
}

/** Twice as long after each failure, and never for all at the same moment. */
function pauseAfter({ retryAfterMs }: Extract<Outcome, { is: "unavailable" }>, failures: number): number {
  if (retryAfterMs !== null) return Math.min(Math.ceil(retryAfterMs), 24 * 3_600_000);
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 20));
  return Math.round(pause * (0.5 + Math.random() / 2));
}
