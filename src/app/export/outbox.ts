import { existsSync } from "node:fs";
import type { DestinationState, OutboxItem } from "../../stores/sqlite/outbox.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import { keep, keptPath } from "../kept-file.ts";
import { redactionOf, type SettingsFile } from "../settings.ts";
import { deliver, hold, release } from "./deliver.ts";
import type { Destination } from "./destination.ts";
import { SENT_FORMATS } from "./formats.ts";
import { exportLog } from "./log.ts";
import { destinationsFor } from "./send.ts";

/** What waits for somebody, without what stands in it. */
export interface Waiting extends DestinationState {
  readonly items: readonly Omit<OutboxItem, "body">[];
  /** False where the environment says nothing of it: then nobody knows how to reach it. */
  readonly isKnown: boolean;
}

export interface OutboxOptions {
  readonly env: Env;
  readonly settings: SettingsFile;
  /** How many items of each to tell of. */
  readonly limit: number;
  /** Tries again at once, what was refused too. */
  readonly retry: boolean;
  /** Throws away what was refused. */
  readonly drop: boolean;
  readonly debug: boolean;
}

const PATIENCE_MS = 10_000;

/** What waits to be sent, for whom, and why. */
export async function lookIntoOutbox({ env, settings, limit, retry, drop, debug }: OutboxOptions): Promise<readonly Waiting[]> {
  if (!existsSync(keptPath(env))) return [];
  const known = new Map(
    SENT_FORMATS.flatMap((format) => reachable(() => destinationsFor(format, env, redactionOf(settings), false))).map((one) => [one.name, one]),
  );
  const kept = await keep(env);
  try {
    const { outbox } = kept;
    for (const { name } of outbox.destinations()) {
      if (drop) outbox.drop(name);
      const destination = known.get(name);
      if (!retry) continue;
      outbox.retry(name);
      if (destination === undefined || !hold(outbox, destination)) continue;
      try {
        await deliver(outbox, destination, { log: exportLog(env, debug), patienceMs: PATIENCE_MS });
      } finally {
        release(outbox, destination, Number.MAX_SAFE_INTEGER);
      }
    }
    return outbox.destinations().map((state) => ({
      ...state,
      isKnown: known.has(state.name),
      items: outbox.items(state.name, limit).map(({ body: _, ...item }) => item),
    }));
  } finally {
    kept.close();
  }
}

/** A format whose variables are not set, or not right, is sent nowhere from here. */
function reachable(find: () => readonly Destination[]): readonly Destination[] {
  try {
    return find();
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}
