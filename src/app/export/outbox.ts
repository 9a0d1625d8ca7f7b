import { existsSync } from "node:fs";
import type { DestinationState, OutboxItem } from "../../core/ports/outbox.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import { keptPath, openKept } from "../kept/kept-file.ts";
import { redactionOf, type SettingsFile } from "../settings/settings.ts";
import { deliver, hold, release } from "./deliver.ts";
import type { Destination } from "./destination.ts";
import { DESTINATIONS } from "./destinations/index.ts";
import { exportLog } from "./log.ts";

/** The items waiting for a destination, without their content. */
export interface Waiting extends DestinationState {
  readonly items: readonly Omit<OutboxItem, "body">[];
  /** False if the environment does not configure it, so it cannot be reached. */
  readonly isKnown: boolean;
}

export interface OutboxOptions {
  readonly env: Env;
  readonly settings: SettingsFile;
  /** Maximum number of items to list per destination. */
  readonly limit: number;
  /** Sends waiting and refused items again now. */
  readonly retry: boolean;
  /** Deletes refused items. */
  readonly drop: boolean;
  readonly debug: boolean;
}

const PATIENCE_MS = 10_000;

/** The state of the outbox, by destination. */
export async function readOutbox({
  env,
  settings,
  limit,
  retry,
  drop,
  debug,
}: OutboxOptions): Promise<readonly Waiting[]> {
  if (!existsSync(keptPath(env))) return [];
  const configured = await Promise.all(
    DESTINATIONS.map((kind) => reachable(kind.open(env, redactionOf(settings), false))),
  );
  const known = new Map(configured.flat().map((one) => [one.name, one]));
  const kept = await openKept(env);
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

/** A destination whose variables are missing or invalid is omitted. */
function reachable(opening: Promise<readonly Destination[]>): Promise<readonly Destination[]> {
  return opening.catch((error: unknown) => {
    if (error instanceof Failure) return [];
    throw error;
  });
}
