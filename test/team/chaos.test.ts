/** A few seconds of `npm run test:team`: two servers, PostgreSQL and shippers, killed and restarted at random. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { seeded } from "../../scripts/bench/random.ts";
import { chaos } from "../faults/team/chaos.ts";
import { needsPosix } from "../support/needs.ts";

/** Kills go on for this long; the comparison afterwards waits for every shipment, however slow the machine is. */
const DISTURBED_MS = 8_000;
const TIMEOUT_MS = 10 * 60_000;

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-chaos-"));
});
beforeEach(needsPosix("PostgreSQL for tests"));
afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));

describe("machines, servers and PostgreSQL that are killed at random", () => {
  it(
    "lose, double and mix nothing: both servers answer what each machine computes",
    async () => {
      const { tally, compared } = await chaos({
        scratch,
        random: seeded(1),
        machines: 4,
        alive: 2,
        kills: Number.POSITIVE_INFINITY,
        ms: DISTURBED_MS,
        haste: 5,
        notify: () => {},
      });
      const { losses, duplicates, leftovers } = tally;
      expect({ losses, duplicates, leftovers }).toEqual({ losses: [], duplicates: [], leftovers: [] });
      expect(compared.threads).toBeGreaterThan(4);
      expect(compared.events).toBeGreaterThan(100);
    },
    TIMEOUT_MS,
  );
});
