/** Statistics and costs from the sums of each month: the same numbers as from the rows of each agent. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seeded } from "../../scripts/bench/random.ts";
import type { ShipmentDocument } from "../../src/core/ports/shipment.ts";
import { GROUPS, type StatsLine } from "../../src/core/views/stats.ts";
import { type Database, openDatabase } from "../../src/stores/postgres/database.ts";
import { ingester } from "../../src/stores/postgres/ingest.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { Overview } from "../../src/stores/postgres/overview.ts";
import { UsageReader } from "../../src/stores/postgres/usage.ts";
import { freshDatabase } from "../support/postgres.ts";
import { agentDocument, HEAD, spentRow } from "./documents.ts";

const OWNERS = ["ann", "bob", "cid"];
const AGENTS = 120;
let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let database: Database;
let statements = 0;
beforeAll(async () => {
  fresh = await freshDatabase();
  const opened = await openDatabase(fresh.url);
  database = {
    ...opened,
    all: (statement, parameters) => {
      statements += 1;
      return opened.all(statement, parameters);
    },
  };
  await migrate(database);
  const random = seeded(3);
  const ingest = ingester(database);
  for (const owner of OWNERS) {
    const documents: ShipmentDocument[] = Array.from({ length: AGENTS }, (_, n) => {
      const thread = `toy://t${Math.floor(n / 4)}`;
      const agent = n % 4 === 0 ? thread : `${thread}/a${n}`;
      // A thread works in one month; a price is missing from time to time.
      const month = 4 + (Math.floor(n / 4) % 3);
      const row = spentRow(thread, random.next(), {
        day: `2026-0${month}-${String(1 + random.below(28)).padStart(2, "0")}`,
        model: random.of(["m-1", "m-2", null]),
        type: n % 4 === 0 ? "(main)" : random.of(["worker", "scout"]),
        project: random.of(["shop", "site"]),
        status: random.of(["completed", "completed", "errored"]),
        durationMs: 100 + random.below(100_000),
      });
      const priced = random.chance(0.9) ? row : { ...row, usage: { ...row.usage, costUsd: null } };
      return { is: "detail", thread, agent, what: "spent", revision: n + 1, value: [priced] };
    });
    await ingest(owner, HEAD, [agentDocument("toy://t0", "toy://t0", 1), ...documents]);
  }
});
afterAll(async () => {
  await database.close();
  await fresh.drop();
});

/** Costs are sums of fractions in another order. */
const rounded = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, item: unknown) =>
      typeof item === "number" && !Number.isInteger(item) ? Number(item.toPrecision(9)) : item,
    ),
  );
const withoutDurations = (lines: readonly StatsLine[]) => rounded(lines.map(({ durations: _, ...line }) => line));

describe.each([null, "2026-05-01", "2026-05-12", "2026-06-28", "2026-07-01"])("usage since %s", (since) => {
  it("is the same from sums as from rows, and durations differ by less than a tenth", async () => {
    const [exact, summed] = await Promise.all(
      [1_000_000, 0].map((most) => new UsageReader(database, most).stats(OWNERS, since, GROUPS)),
    );
    // Sums of months are only read if there are any in the period.
    expect([exact?.isApproximate, summed?.isApproximate]).toEqual([
      false,
      since !== "2026-06-28" && since !== "2026-07-01",
    ]);
    for (const group of GROUPS) {
      const [right, lines] = [exact?.by(group) ?? [], summed?.by(group) ?? []];
      expect(withoutDurations(lines)).toEqual(withoutDurations(right));
      for (const [i, { durations }] of right.entries())
        for (const name of ["least", "quarter", "median", "threeQuarters", "most"] as const)
          expect((lines[i]?.durations?.[name] ?? 0) / (durations?.[name] ?? 0)).toBeCloseTo(1, 0.9);
    }
    expect(withoutDurations(summed === undefined ? [] : [summed.total()])).toEqual(
      withoutDurations(exact === undefined ? [] : [exact.total()]),
    );
    const [right, costs] = await Promise.all(
      [1_000_000, 0].map((most) => new Overview(database, new UsageReader(database, most)).costs(OWNERS, since)),
    );
    expect(rounded(costs)).toEqual(rounded(right));
  });
});

it("of a month by project is the same from sums as from rows", async () => {
  const [right, summed] = await Promise.all(
    [1_000_000, 0].map(async (most) => {
      const costs = await new Overview(database, new UsageReader(database, most)).monthlyCosts(OWNERS, "2026-06-01");
      return costs.toSorted((a, b) => `${a.owner} ${a.project}`.localeCompare(`${b.owner} ${b.project}`));
    }),
  );
  expect(right?.length).toBe(2 * OWNERS.length);
  expect(rounded(summed)).toEqual(rounded(right));
});

it("of a month does not contain the months after it, which a clock that is ahead may name", async () => {
  for (const most of [1_000_000, 0]) {
    const overview = new Overview(database, new UsageReader(database, most));
    const { total } = await overview.costs(OWNERS, null);
    const months = await Promise.all(
      ["2026-04-01", "2026-05-01", "2026-06-01"].map((month) => overview.monthlyCosts(OWNERS, month)),
    );
    const sums = months.map((costs) => costs.reduce((sum, { costUsd }) => sum + costUsd, 0));
    expect(sums.every((sum) => sum > 0)).toBe(true);
    expect(sums.reduce((a, b) => a + b)).toBeCloseTo(total.costUsd, 6);
  }
});

it("is read with one statement for each owner, whatever their number of agents", async () => {
  const before = statements;
  await new UsageReader(database, 0).stats(OWNERS, null, GROUPS);
  expect(statements - before).toBe(1 + OWNERS.length);
});
