import { setTimeout as sleep } from "node:timers/promises";
import type { AgentKey } from "../core/ids.ts";
import { agentOf, subtreeOf } from "../core/link.ts";
import type { Outbox } from "../stores/sqlite/outbox.ts";
import { deliver, hold, release, stateOf } from "./export/deliver.ts";
import type { Destination } from "./export/destination.ts";
import { Endings } from "./export/endings.ts";
import { exportLog } from "./export/log.ts";
import { MAX_OUTBOX_BYTES } from "./export/put.ts";
import { isTracing, type Looked, lookAfter, openDestination, tracedDestinations } from "./export/tracing.ts";
import type { Env } from "./home.ts";
import { mayRun, notedInstance } from "./instance-note.ts";
import { keep } from "./kept-file.ts";
import type { Library } from "./library.ts";
import { openLibrary } from "./open.ts";
import { loadSettings, redactionOf } from "./settings.ts";

/** Nobody waits for it, so it can wait for a service that is away for a while. */
const PATIENCE_MS = 10 * 60_000;

export interface FlushOptions {
  readonly debug?: boolean;
  readonly patienceMs?: number;
  /** Stays until the turns that are under way have ended: nobody else may be there if the agent is killed. */
  readonly stay?: boolean;
}

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
export async function flush(env: Env, options: FlushOptions = {}): Promise<readonly Flushed[]> {
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
      const watched = { library, outbox, endings: new Endings(library), log, old: null, wholeTurns: true };
      try {
        for (let held = ours; held.length > 0; ) {
          const began = Date.now();
          const changed = await library.refresh();
          const looked = new Map<Destination, Looked>();
          for (const destination of held) looked.set(destination, await lookAfter(watched, destination, changed, true, began));
          await Promise.all(held.map((destination) => deliver(outbox, destination, { log, patienceMs: options.patienceMs ?? PATIENCE_MS })));
          const hasRoom = outbox.bytes() <= MAX_OUTBOX_BYTES;
          const isWaiting = (destination: Destination) => {
            const { hadRoom, isSettling, running } = looked.get(destination) as Looked;
            return (!hadRoom && hasRoom) || isSettling || (options.stay === true && running.length > 0 && !isServed(env, destination));
          };
          held = held.filter((destination) => isWaiting(destination) || !release(outbox, destination, began));
          await untilNews(held, looked, began, library, outbox);
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

/** A server sends by itself what this destination is to get. */
function isServed(env: Env, { format }: Destination): boolean {
  const server = notedInstance(env);
  return server?.traces.includes(format) === true && mayRun(server);
}

const POLL_MS = 1_000;

/** Waits until another look may find something: soon where records are settling, else when a hook asks for one or a process has ended. */
async function untilNews(
  held: readonly Destination[],
  looked: ReadonlyMap<Destination, Looked>,
  began: number,
  library: Library,
  outbox: Outbox,
): Promise<void> {
  const waits = held.map((destination) => looked.get(destination) as Looked);
  const isStill = () =>
    waits.length > 0 &&
    waits.every(({ hadRoom, isSettling, running }) => hadRoom && !isSettling && running.every((key) => runs(library, key))) &&
    held.every((destination) => hold(outbox, destination) && (stateOf(outbox, destination)?.askedAt ?? 0) <= began);
  if (waits.length > 0) await sleep(POLL_MS);
  while (isStill()) await sleep(POLL_MS);
}

function runs(library: Library, key: AgentKey): boolean {
  const forest = library.forestOf([key]);
  return subtreeOf(forest, key).some((one) => agentOf(forest, one).verdict.status === "running");
}
