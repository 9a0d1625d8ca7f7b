/** The index survives concurrent writers, damage and read-only folders. Tests in test/faults kill its writers. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentRecord } from "../../src/core/views/agent.ts";
import { retinueJson, retinueProcess } from "../support/cli.ts";
import { caseNames, recordedHome } from "../support/fixtures.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-crash-"));
const home = join(scratch, "home");
const [HALF_PAGE, SECTOR] = [4_096, 512];
/** RETINUE_SECTORS=1 tries all of them. */
const EVERY = Number(process.env.RETINUE_SECTORS ?? 23);

beforeAll(() => {
  for (const name of caseNames("claude").filter((_, i) => i % 3 === 0))
    cpSync(recordedHome("claude", name).home, home, { recursive: true });
});
afterAll(() => rmSync(scratch, { recursive: true }));

const list = async (data: string) => {
  const { code, stdout, stderr } = await retinueProcess(home, ["ls", "--json", "--limit", "1000"], {
    RETINUE_HOME: data,
  });
  return { code, stderr, threads: JSON.parse(stdout) as AgentRecord[] };
};

describe("the index", () => {
  it("can be created by several processes at once, and each sees everything", { timeout: 120_000 }, async () => {
    const fresh = await list(join(scratch, "alone"));
    const data = join(scratch, "crowd");
    const crowd = await Promise.all(Array.from({ length: 5 }, () => list(data)));
    expect(crowd).toEqual(crowd.map(() => fresh));
  });

  it("is moved aside if damaged, with a message, and rebuilt", async () => {
    const data = join(scratch, "damaged");
    const fresh = await list(data);
    for (const file of readdirSync(data)) rmSync(join(data, file));
    writeFileSync(join(data, "index.sqlite"), "these are not the bytes you are looking for".repeat(500));
    const after = await list(data);
    expect(after.threads).toEqual(fresh.threads);
    expect(after.stderr).toContain("the index was damaged");
    expect(readdirSync(data).some((file) => file.startsWith("index.sqlite.damaged-"))).toBe(true);
  });

  it("is rebuilt if any part of it was overwritten with zeros", { timeout: 240_000 }, async () => {
    const [data, damaged] = [join(scratch, "whole"), join(scratch, "zeros")];
    const { threads } = await list(data);
    const { uri } = threads.reduce((most, one) => (one.counts.descendants > most.counts.descendants ? one : most));
    const commands = [["ls", "--limit", "1000"], ["tree", uri], ["stats"]];
    const results = (from: string) =>
      Promise.all(commands.map((command) => retinueJson(home, command, { RETINUE_HOME: copied(from) })));
    const copied = (from: string) => {
      const to = mkdtempSync(join(scratch, "copy-"));
      cpSync(from, to, { recursive: true });
      return to;
    };
    const expected = await results(data);
    const whole = readFileSync(join(data, "index.sqlite"));
    mkdirSync(damaged);
    // Half a page of SQLite: the rest then looks like a page with empty rows. A sector cuts rows in two.
    const halves = Array.from({ length: whole.length / HALF_PAGE }, (_, i) => [i * HALF_PAGE, HALF_PAGE] as const);
    const sectors = Array.from({ length: whole.length / SECTOR }, (_, i) => [i * SECTOR, SECTOR] as const);
    for (const [at, length] of [...halves, ...sectors.filter((_, i) => i % EVERY === 0)]) {
      const bytes = Buffer.from(whole).fill(0, at, at + length);
      writeFileSync(join(damaged, "index.sqlite"), bytes);
      expect([at, await results(damaged)]).toEqual([at, expected]);
    }
  });

  it("is not used if the folder is not writable, with a message", async () => {
    writeFileSync(join(scratch, "a-file"), "");
    const { threads, stderr } = await list(join(scratch, "a-file", "data"));
    expect(threads.length).toBeGreaterThan(20);
    expect(stderr).toContain("reading without the index");
    expect(existsSync(join(scratch, "a-file", "data"))).toBe(false);
  });
});
