/**
 * Kills each kind of retinue process a few times. `npm run test:faults -- --kills 1000` does it more often, and adds
 * faults of the disk, the lock and the clock.
 */
import { describe, expect, it } from "vitest";
import { SCENARIOS } from "../faults/scenarios.ts";
import { runScenario } from "../faults/stage.ts";

describe.each(SCENARIOS.filter(({ few }) => few > 0))("$fault: $name", (scenario) => {
  it("loses nothing, counts nothing twice, and leaves no files", { timeout: 300_000 }, async () => {
    const { faults, ...outcome } = await runScenario(scenario, scenario.few, 20_261_117);
    expect(outcome).toEqual({ losses: [], duplicates: [], leftovers: [] });
    expect(faults).toBe(scenario.few);
  });
});
