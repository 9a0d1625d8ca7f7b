import { setTimeout as sleep } from "node:timers/promises";
import type { AgentKey } from "../../core/facts/ids.ts";
import { agentOf, subtreeOf } from "../../core/link/forest.ts";
import type { Outbox } from "../../core/ports/outbox.ts";
import { deliver, hold, release, stateOf } from "../export/deliver.ts";
import type { Destination } from "../export/destination.ts";
import { isTracing } from "../export/destinations/index.ts";
import { Endings } from "../export/endings.ts";
import { exportLog, type Log } from "../export/log.ts";
import { MAX_OUTBOX_BYTES } from "../export/put.ts";
import { type CollectResult, collect, openDestination, tracedDestinations } from "../export/tracing.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { mayRun, notedInstance } from "../instance-note.ts";
import { openKept } from "../kept/kept-file.ts";
import { openLibrary } from "../open.ts";
import { loadSettings, redactionOf } from "../settings/settings.ts";

/** How long to wait for an unreachable service. Long, because the process runs in the background. */
const PATIENCE_MS = 10 * 60_000;

export interface FlushOptions {
  readonly debug?: boolean;
  readonly patienceMs?: number;
  /** Run until the current turns have ended, because no other process may be running if the agent is killed. */
  readonly stay?: boolean;
}

export interface Flushed {
  readonly destination: string;
  /** False if another process holds the destination; another pass was requested from it. */
  readonly isOurs: boolean;
  readonly waiting: number;
  readonly reason: string | null;
}

/**
 * Collects new work into the outbox and delivers it, for the destinations that the environment enables. Runs in its own
 * process, after the hook that started it has returned. Of several such processes one works and does another pass for
 * the others.
 */
export async function flush(env: Env, options: FlushOptions = {}): Promise<readonly Flushed[]> {
  if (!isTracing(env)) return [];
  const settings = await loadSettings(env);
  const log = exportLog(env, options.debug === true);
  const destinations = await tracedDestinations(env, redactionOf(settings));
  const kept = await openKept(env);
  try {
    const { outbox } = kept;
    for (const destination of destinations) {
      openDestination(outbox, destination);
      outbox.ask(destination.name, Date.now());
    }
    const heldHere = destinations.filter((destination) => hold(outbox, destination));
    log(`flush: ${heldHere.length} of ${destinations.length} destinations held by this process`);
    if (heldHere.length > 0) {
      const library = await openLibrary({ env, settings, notify: log });
      try {
        await flushHeld(env, library, outbox, heldHere, log, options);
      } finally {
        library.close();
        for (const destination of heldHere) release(outbox, destination, Number.MAX_SAFE_INTEGER);
      }
    }
    return destinations.map((destination) => {
      const state = stateOf(outbox, destination);
      return {
        destination: destination.name,
        isOurs: heldHere.includes(destination),
        waiting: state?.waiting ?? 0,
        reason: state?.reason ?? null,
      };
    });
  } finally {
    kept.close();
  }
}

/** Collects and delivers, pass by pass, until no held destination needs another pass. */
async function flushHeld(
  env: Env,
  library: Library,
  outbox: Outbox,
  destinations: readonly Destination[],
  log: Log,
  { patienceMs = PATIENCE_MS, stay = false }: FlushOptions,
): Promise<void> {
  const watched = { library, outbox, endings: new Endings(library), log, old: null, wholeTurns: true };
  for (let held = destinations; held.length > 0; ) {
    const began = Date.now();
    const { threads: changed } = await library.refresh();
    const passes = new Map<Destination, CollectResult>();
    for (const destination of held) passes.set(destination, await collect(watched, destination, changed, true, began));
    await Promise.all(held.map((destination) => deliver(outbox, destination, { log, patienceMs })));
    const hasRoom = outbox.bytes() <= MAX_OUTBOX_BYTES;
    const isWaiting = (destination: Destination) => {
      const { hadRoom, isSettling, running } = passes.get(destination) as CollectResult;
      return (!hadRoom && hasRoom) || isSettling || (stay && running.length > 0 && !isServed(env, destination));
    };
    held = held.filter((destination) => isWaiting(destination) || !release(outbox, destination, began));
    await untilChange(held, passes, began, library, outbox);
  }
}

/** Whether a running server sends to this destination. */
function isServed(env: Env, { format }: Destination): boolean {
  const server = notedInstance(env);
  return server?.traces.includes(format) === true && mayRun(server);
}

const POLL_MS = 1_000;

/**
 * Waits for a reason for another pass: soon if records are settling, else when a hook requests it or a process has
 * ended.
 */
async function untilChange(
  held: readonly Destination[],
  passes: ReadonlyMap<Destination, CollectResult>,
  began: number,
  library: Library,
  outbox: Outbox,
): Promise<void> {
  const waits = held.map((destination) => passes.get(destination) as CollectResult);
  const isUnchanged = () =>
    waits.length > 0 &&
    waits.every(
      ({ hadRoom, isSettling, running }) => hadRoom && !isSettling && running.every((key) => runs(library, key)),
    ) &&
    held.every((destination) => hold(outbox, destination) && (stateOf(outbox, destination)?.askedAt ?? 0) <= began);
  if (waits.length > 0) await sleep(POLL_MS);
  while (isUnchanged()) await sleep(POLL_MS);
}

function runs(library: Library, key: AgentKey): boolean {
  const forest = library.forestOf([key]);
  return subtreeOf(forest, key).some((one) => agentOf(forest, one).verdict.status === "running");
}
