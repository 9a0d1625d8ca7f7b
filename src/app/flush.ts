import { deliver, hold, release, stateOf } from "./export/deliver.ts";
import type { Destination } from "./export/destination.ts";
import { exportLog } from "./export/log.ts";
import { MAX_OUTBOX_BYTES } from "./export/put.ts";
import { isTracing, lookAfter, openDestination, tracedDestinations } from "./export/tracing.ts";
import type { Env } from "./home.ts";
import { keep } from "./library.ts";
import { openLibrary } from "./open.ts";
import { loadSettings, redactionOf } from "./settings.ts";

/** Nobody waits for it, so it can wait for a service that is away for a while. */
const PATIENCE_MS = 10 * 60_000;

export interface Flushed {
  readonly destination: string;
  /** False: another process looks after it, and was asked to look again. */
  readonly isOurs: boolean;
  readonly waiting: number;
  readonly reason: string | null;
}

/**
 * Puts what happened since the last time into the outbox and sends what waits there, for destinations that the environment switches on.
 * For a process of its own: the hook that starts it has returned long before. Of many at once one works, and looks again for the others.
 */
export async function flush(env: Env, options: { readonly debug?: boolean; readonly patienceMs?: number } = {}): Promise<readonly Flushed[]> {
  if (!isTracing(env)) return [];
  const settings = await loadSettings(env);
  const log = exportLog(env, options.debug === true);
  const destinations = tracedDestinations(env, redactionOf(settings));
  const kept = await keep(env);
  try {
    const { outbox } = kept;
    for (const destination of destinations) {
      openDestination(outbox, destination);
      outbox.ask(destination.name, Date.now());
    }
    const ours = destinations.filter((destination) => hold(outbox, destination));
    log(`flush: ${ours.length} of ${destinations.length} destinations are ours`);
    if (ours.length > 0) {
      const library = await openLibrary({ env, settings, talk: log });
      try {
        for (let held = ours; held.length > 0; ) {
          const began = Date.now();
          const told = await library.refresh();
          const full = new Set<Destination>();
          for (const destination of held) if (!(await lookAfter({ library, outbox, log, old: null }, destination, told, true))) full.add(destination);
          await Promise.all(held.map((destination) => deliver(outbox, destination, { log, patienceMs: options.patienceMs ?? PATIENCE_MS })));
          const hasRoom = outbox.bytes() <= MAX_OUTBOX_BYTES;
          held = held.filter((destination) => (full.has(destination) && hasRoom) || !release(outbox, destination, began));
        }
      } finally {
        library.close();
        for (const destination of ours) release(outbox, destination, Number.MAX_SAFE_INTEGER);
      }
    }
    return destinations.map((destination) => {
      const state = stateOf(outbox, destination);
      return { destination: destination.name, isOurs: ours.includes(destination), waiting: state?.waiting ?? 0, reason: state?.reason ?? null };
    });
  } finally {
    kept.close();
  }
}
