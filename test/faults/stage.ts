import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seeded } from "../../scripts/bench/random.ts";
import type { Outcome, Scenario } from "./scenario.ts";

/** Runs a scenario in a folder of its own; a scenario that throws is a loss. */
export async function runScenario(scenario: Scenario, times: number, seed: number): Promise<Outcome> {
  const scratch = mkdtempSync(join(tmpdir(), "retinue-faults-"));
  try {
    return await scenario.run({ scratch, times, random: seeded(seed) });
  } catch (error) {
    return {
      faults: 0,
      losses: [error instanceof Error ? (error.stack ?? error.message) : String(error)],
      duplicates: [],
      leftovers: [],
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}
