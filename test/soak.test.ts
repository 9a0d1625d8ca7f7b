/**
 * The soak test, for seconds instead of minutes: everything that it writes is found, and its measurements are
 * plausible. `npm run test:soak` is the long one.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Sample } from "../scripts/soak/sample.ts";
import { isAll, readLong, type Soaked, soak } from "../scripts/soak/soak.ts";
import { checksOf } from "../scripts/soak/verdict.ts";
import { scratchFolder } from "./support/bad-input/homes.ts";

const scratch = scratchFolder();

describe("a soak of seconds", () => {
  it("finds everything that was written, and samples the server", async ({ skip }) => {
    skip(process.platform !== "linux", "it looks into /proc");
    const options = {
      seconds: 3,
      threads: 3,
      agents: 6,
      rate: 60,
      sampleSeconds: 1,
      idleSeconds: 1,
      releaseSeconds: 0,
    };
    const soaked = await soak(join(scratch(), "busy"), options);
    expect(soaked.written.agents).toBe(6);
    expect(soaked.found).toEqual({ ...soaked.written, records: undefined });
    expect(isAll(soaked.found, soaked.written)).toBe(true);
    expect(soaked.messages).toBeGreaterThan(0);
    expect(soaked.samples.length).toBeGreaterThanOrEqual(3);
    for (const { rss, heap, files, watches, handles, cpu } of soaked.samples)
      for (const number of [rss, heap, files, watches, handles, cpu]) expect(number).toBeGreaterThan(0);
  });

  it("uses a long transcript in every way", async ({ skip }) => {
    skip(process.platform !== "linux", "it looks into /proc");
    const looks = await readLong(join(scratch(), "long"), 300);
    expect(looks.map(({ isRight }) => isRight)).toEqual([true, true, true]);
    for (const { peak } of looks) expect(peak).toBeGreaterThan(1e6);
  });
});

describe("the verdict", () => {
  const at = (i: number, rss: number, files = 30): Sample => ({
    at: i,
    rss,
    heap: 1,
    files,
    watches: 1,
    handles: 30,
    cpu: i / 4,
    records: i,
  });
  const written = { records: 9, threads: 1, agents: 2, calls: 3, outputTokens: 4 };
  const good: Soaked = {
    samples: Array.from({ length: 22 }, (_, i) => at(i, 200e6)),
    written,
    found: { threads: 1, agents: 2, calls: 3, outputTokens: 4 },
    messages: 1,
    requests: 1,
    caughtUpSeconds: 0,
    idleShare: 0,
    peak: 210e6,
    released: { before: 30e6, after: 40e6 },
  };
  const broken = (soaked: Soaked) => checksOf(soaked).flatMap(({ what, holds }) => (holds ? [] : [what]));

  it("is good if memory is flat and everything is found", () => expect(broken(good)).toEqual([]));
  it("detects memory that grows", () =>
    expect(broken({ ...good, samples: good.samples.map((one, i) => at(i, one.rss + i * 3e6)) })).toEqual([
      "memory, from the middle to the end",
    ]));
  it("reports memory that is not released", () =>
    expect(broken({ ...good, released: { before: 30e6, after: 46e6 } })).toEqual([
      "heap in use, at the beginning and when all is quiet",
    ]));
  it("detects too much memory", () => expect(broken({ ...good, peak: 401e6 })).toEqual(["most memory"]));
  it("detects handles that are not closed", () =>
    expect(broken({ ...good, samples: good.samples.map((one, i) => at(i, one.rss, 30 + 2 * i)) })).toEqual([
      "files and handles, from the middle to the end",
    ]));
  it("detects a server that uses too much CPU", () =>
    expect(broken({ ...good, samples: good.samples.map((one) => ({ ...one, cpu: 0.4 * one.at })) })).toEqual([
      "CPU while everything grows",
    ]));
  it("detects a server that does not become idle", () =>
    expect(broken({ ...good, idleShare: 0.02 })).toEqual(["CPU while nothing happens"]));
  it("detects lost records", () =>
    expect(broken({ ...good, found: { ...good.found, calls: 2 } })).toEqual(["agents, calls and output tokens found"]));
});
