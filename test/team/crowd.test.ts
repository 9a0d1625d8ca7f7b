/** A thousand machines that come back at once, over HTTP against a server process. test/team/many.test.ts counts turns. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { crowd } from "../faults/team/crowd.ts";
import { needsLinux } from "../support/needs.ts";

const [MACHINES, SHIPMENTS] = [1_000, 2];
const TIMEOUT_MS = 10 * 60_000;

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-crowd-"));
});
beforeEach(needsLinux("the memory of a process in /proc"));
afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }));

describe("a thousand machines that come back at once", () => {
  it(
    "are all acknowledged, with bounded memory and connections, and lose, repeat and mix nothing",
    async () => {
      const { faults, acknowledged, refused } = await crowd({
        ...{ scratch, machines: MACHINES, shipments: SHIPMENTS, events: 5 },
        haste: 10,
        notify: () => {},
      });
      expect(faults).toEqual([]);
      expect(acknowledged).toBe(MACHINES * SHIPMENTS);
      // Not all of them fit in.
      expect(refused).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
