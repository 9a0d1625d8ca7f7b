import { describe, expect, it } from "vitest";
import { sampleAgent } from "./sample.ts";
import {
  type CostLine,
  costBars,
  costText,
  expectedUsd,
  isSilent,
  nowRows,
  type RunningThread,
  runaways,
} from "./team.ts";

const NOW = Date.UTC(2026, 10, 16, 12);
const earlier = (ms: number) => new Date(NOW - ms).toISOString();
const MINUTE_MS = 60_000;

function running(owner: string, uri: string, minutes: number, costUsd: number, agents = 1): RunningThread {
  const record = sampleAgent(uri, null, { status: "running", startedAt: earlier(minutes * MINUTE_MS) });
  return {
    owner,
    machine: "m",
    shippedAt: earlier(minutes * 1_000),
    running: agents,
    record: { ...record, usage: { ...record.usage, subtree: { ...record.usage.subtree, costUsd } } },
  };
}
const line = (key: string | null, costUsd: number, unpricedCalls = 0): CostLine => ({
  key,
  costUsd,
  unpricedCalls,
  tokens: 10,
  calls: 1,
  threads: 1,
});

describe("who runs what", () => {
  it("is listed by person, with the sums of each, and the same thread of two people twice", () => {
    const threads = [running("bob", "x", 1, 2, 3), running("ann", "x", 2, 1), running("bob", "y", 5, 0.5, 2)];
    const rows = nowRows(threads, NOW);
    expect(rows.map((row) => (row.is === "person" ? `# ${row.owner}` : row.id))).toEqual([
      "# bob",
      "bob x",
      "bob y",
      "# ann",
      "ann x",
    ]);
    expect(rows[0]).toMatchObject({ threads: 2, agents: 5, costUsd: 2.5, shippedAt: earlier(1_000) });
    expect(nowRows([], NOW)).toEqual([]);
  });

  it("may be out of control by the number of agents, the time or the cost", () => {
    const threads = [
      running("ann", "ordinary", 20, 3),
      running("ann", "many", 1, 1, 51),
      running("bob", "old and expensive", 200, 25),
    ];
    expect(runaways(threads, NOW).map(({ record, reasons }) => [record.uri, reasons])).toEqual([
      ["old and expensive", ["runs for 3 h 20 m", "$25.00"]],
      ["many", ["51 agents at once"]],
    ]);
  });

  it("is marked if the machine has not shipped for a while", () => {
    expect([earlier(MINUTE_MS), earlier(11 * MINUTE_MS), null].map((at) => isSilent(at, NOW))).toEqual([
      false,
      true,
      false,
    ]);
  });
});

describe("costs", () => {
  it("are relative to the highest, and a lower bound if a price is unknown", () => {
    expect(costBars([line("a", 4), line("b", 1)]).map(({ part }) => part)).toEqual([1, 0.25]);
    expect(costBars([line("a", 0)]).map(({ part }) => part)).toEqual([0]);
    expect(costBars([line("a", 1), { ...line(null, 0), tokens: 0, calls: 0 }]).map(({ line: { key } }) => key)).toEqual(
      ["a"],
    );
    expect([line("a", 1.5), line("a", 1.5, 2), line("a", 0, 2)].map(costText)).toEqual(["$1.50", "≥ $1.50", "–"]);
  });

  it("are extrapolated to the end of the month", () => {
    expect(expectedUsd(15, "2026-11", Date.UTC(2026, 10, 16))).toBeCloseTo(30);
    expect(expectedUsd(10, "2026-11", Date.UTC(2026, 10, 1, 1))).toBeCloseTo(300);
    expect(expectedUsd(10, "2026-11", Date.UTC(2026, 11, 5))).toBeCloseTo(10);
  });
});
