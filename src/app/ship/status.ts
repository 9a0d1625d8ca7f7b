import { existsSync } from "node:fs";
import type { ShippedTotals } from "../../core/ports/shipped.ts";
import { stateOf } from "../export/deliver.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { keep, keptPath } from "../kept/kept-file.ts";
import { readShipped } from "./shipped-file.ts";
import { Shipper } from "./shipper.ts";
import type { ShipTarget } from "./target.ts";

/** What waits to be sent to a team server, and why. */
export interface ShipStatus {
  readonly url: string;
  readonly level: string;
  /** Shared folders; empty: all. */
  readonly projects: readonly string[];
  readonly waiting: readonly { readonly uri: string; readonly why: string }[];
  readonly totals: ShippedTotals;
  /** Why the last attempt failed; null if it did not. */
  readonly reason: string | null;
  /** Epoch milliseconds. */
  readonly nextAt: number;
}

export async function shipStatus(
  env: Env,
  library: Library,
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
      waiting: [...shipper.waiting()],
      totals: shipped.totals(target.name),
      reason,
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
  const kept = await keep(env);
  try {
    const { reason = null, nextAt = 0 } = stateOf(kept.outbox, target) ?? {};
    return { reason, nextAt };
  } finally {
    kept.close();
  }
}
