import { existsSync } from "node:fs";
import type { ShippedTotals } from "../../core/ports/shipped.ts";
import { stateOf } from "../export/deliver.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { keptPath, openKept } from "../kept/kept-file.ts";
import type { SettingsFile } from "../settings/settings.ts";
import { readShipped } from "./shipped-file.ts";
import { Shipper, type Waiting } from "./shipper.ts";
import { IGNORES_CASE, type ShipTarget, targetOf, teamToken } from "./target.ts";

/** What waits to be sent to a team server, and why. */
export interface ShipStatus {
  readonly url: string;
  readonly level: string;
  /** Shared folders; empty: all. */
  readonly projects: readonly string[];
  /** Refused threads first. */
  readonly waiting: readonly Waiting[];
  readonly totals: ShippedTotals;
  /** That there is no token, or why the last attempt failed; null if neither. */
  readonly reason: string | null;
  /** Epoch milliseconds. */
  readonly nextAt: number;
}

export async function shipStatus(
  env: Env,
  library: Library,
  settings: SettingsFile,
  target: ShipTarget,
  notify: (text: string) => void,
): Promise<ShipStatus> {
  const shipped = await readShipped(env, notify);
  try {
    const { signal } = new AbortController();
    const shipper = new Shipper({ library, target, shipped, send: async () => 0, signal, records: false });
    const { reason, nextAt } = await attempts(env, target);
    return {
      url: target.url,
      level: target.redaction.level,
      projects: target.projects,
      waiting: [...shipper.waiting()].sort((a, b) => Number(b.why === "refused") - Number(a.why === "refused")),
      totals: shipped.totals(target.name),
      reason: missingToken(env, settings) ?? reason,
      nextAt,
    };
  } finally {
    shipped.close();
  }
}

async function attempts(
  env: Env,
  target: ShipTarget,
): Promise<{ readonly reason: string | null; readonly nextAt: number }> {
  if (!existsSync(keptPath(env))) return { reason: null, nextAt: 0 };
  const kept = await openKept(env);
  try {
    const { reason = null, nextAt = 0 } = stateOf(kept.outbox, target) ?? {};
    return { reason, nextAt };
  } finally {
    kept.close();
  }
}

/** Threads that wait are listed up to this number. */
const MAX_WAITING = 100;

/**
 * What this machine shares by its settings; null if no team server is set. Finding out what waits compares all threads,
 * so it is left out unless wanted.
 */
export async function sharing(env: Env, library: Library, settings: SettingsFile, wantsWaiting: boolean) {
  const target = usableTarget(env, settings);
  if (target === null) return null;
  const shared = {
    url: target.url,
    level: target.redaction.level,
    projects: target.projects,
    ignoresCase: IGNORES_CASE,
  };
  if (!wantsWaiting) return { ...shared, waiting: null };
  const { waiting, totals, reason, nextAt } = await shipStatus(env, library, settings, target, () => {});
  const counts = Map.groupBy(waiting, ({ why }) => why);
  return {
    ...shared,
    waiting: {
      threads: Object.fromEntries([...counts].map(([why, list]) => [why, list.length])),
      items: waiting.slice(0, MAX_WAITING),
      sentAt: totals.at === null ? null : new Date(totals.at).toISOString(),
      documents: totals.documents,
      bytes: totals.bytes,
      reason,
      nextAt: nextAt === 0 ? null : new Date(nextAt).toISOString(),
    },
  };
}

/** Null also if the address cannot be used: then nothing is sent, and the server has said why. */
function usableTarget(env: Env, settings: SettingsFile): ShipTarget | null {
  try {
    return targetOf(env, settings, undefined);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return null;
  }
}

/** Without a token, nothing is attempted. */
function missingToken(env: Env, settings: SettingsFile): string | null {
  try {
    teamToken(env, settings);
    return null;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.message;
  }
}
