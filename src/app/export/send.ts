import { setTimeout as sleep } from "node:timers/promises";
import type { AgentKey } from "../../core/facts/ids.ts";
import type { DestinationState, Outbox } from "../../core/ports/outbox.ts";
import { Failure } from "../failure.ts";
import type { Library } from "../ingest/library.ts";
import { deliver, hold, release, stateOf } from "./deliver.ts";
import type { Destination } from "./destination.ts";
import type { OldTraces } from "./formats.ts";
import type { Log } from "./log.ts";
import { planFor, putInto, rootOf, storyFor } from "./put.ts";

/** The result of an export to one destination. */
export interface Exported {
  readonly destination: string;
  readonly threads: number;
  readonly traces: number;
  readonly items: number;
  /** How many of them were new to the outbox. */
  readonly put: number;
  readonly tooOld: number;
  readonly tooMany: number;
  /** Number of threads that are still running. */
  readonly open: number;
  readonly waiting: number;
  readonly refused: number;
  readonly reason: string | null;
  /** The destination's messages about items it accepted and dropped. */
  readonly turnedDown: readonly string[];
}

export interface ExportOptions {
  readonly library: Library;
  readonly outbox: Outbox;
  readonly log: Log;
  readonly old: OldTraces | null;
  readonly patienceMs: number;
  readonly onProgress?: (done: number, all: number) => void;
}

/** Sends threads and waits for delivery. Resumable: items are added to the outbox once. */
export async function exportThreads(
  destination: Destination,
  threads: readonly ThreadToSend[],
  options: ExportOptions,
): Promise<Exported> {
  const { library, outbox, log, old } = options;
  const turnedDown: string[] = [];
  const sums = { traces: 0, items: 0, put: 0, tooOld: 0, tooMany: 0, open: 0 };
  for (const [i, { key, below }] of threads.entries()) {
    options.onProgress?.(i, threads.length);
    const forest = library.forestOf([key]);
    const root = rootOf(forest, key);
    const story = await storyFor(destination, library, forest, root, log);
    const put = () =>
      putInto(outbox, destination, { key: root, story }, { old, ...(below === undefined ? {} : { below }) }, log);
    let result = put();
    if (result.put === null) {
      // Wait for deliveries to free space.
      turnedDown.push(...(await arrive(destination, options)).turnedDown);
      result = put();
    }
    if (result.put === null) throw outboxIsFull(outbox, destination);
    const { plan } = result;
    sums.traces += plan.traces;
    sums.items += plan.items;
    sums.put += result.put;
    sums.tooOld += plan.tooOld;
    sums.tooMany += plan.tooMany;
    sums.open += Number(plan.isOpen);
  }
  options.onProgress?.(threads.length, threads.length);
  outbox.open(destination.name, null);
  const { state, turnedDown: more } = await arrive(destination, options);
  turnedDown.push(...more);
  const { waiting, refused, reason } = state;
  return { destination: destination.name, threads: threads.length, ...sums, waiting, refused, reason, turnedDown };
}

export interface ThreadToSend {
  readonly key: AgentKey;
  /** The URI of the agent to export, if it is not the thread itself. */
  readonly below?: string;
}

/** The exact content that would be sent, and the number of turns skipped as too old. */
export async function previewThreads(
  destination: Destination,
  threads: readonly ThreadToSend[],
  options: Pick<ExportOptions, "library" | "log" | "old">,
): Promise<{ readonly text: string; readonly tooOld: number }> {
  const bodies: Uint8Array[] = [];
  let tooOld = 0;
  for (const { key, below } of threads) {
    const forest = options.library.forestOf([key]);
    const story = await storyFor(destination, options.library, forest, rootOf(forest, key), options.log);
    const plan = planFor(destination, story, { old: options.old, ...(below === undefined ? {} : { below }) });
    for (const { body } of plan.parcels(() => undefined)) bodies.push(body);
    tooOld += plan.tooOld;
  }
  return { text: bodies.length === 0 ? "" : destination.shown(bodies), tooOld };
}

const POLL_MS = 100;

/** Sends waiting items, or waits for the process that is sending them. */
async function arrive(
  destination: Destination,
  { outbox, log, patienceMs }: ExportOptions,
): Promise<{ readonly state: DestinationState; readonly turnedDown: readonly string[] }> {
  const until = Date.now() + patienceMs;
  const now = () => stateOf(outbox, destination) as DestinationState;
  for (;;) {
    if (hold(outbox, destination)) {
      try {
        const turnedDown = await deliver(outbox, destination, { log, patienceMs: Math.max(0, until - Date.now()) });
        return { state: now(), turnedDown };
      } finally {
        release(outbox, destination, Number.MAX_SAFE_INTEGER);
      }
    }
    if (now().waiting === 0 || Date.now() > until) return { state: now(), turnedDown: [] };
    await sleep(POLL_MS);
  }
}

function outboxIsFull(outbox: Outbox, destination: Destination): Failure {
  const state = stateOf(outbox, destination);
  return new Failure(
    "failed",
    `the outbox is full, and ${destination.name} accepts nothing: ${state?.reason ?? "unknown reason"}`,
    ["nothing is lost; run the command again later, and see retinue outbox"],
  );
}
