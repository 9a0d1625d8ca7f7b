/** The index survives concurrent writers, damage and read-only folders. Tests in test/faults kill its writers. */
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { retinueProcess } from "../support/cli.ts";
import { caseNames, recordedHome } from "../support/fixtures.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-crash-"));
const home = join(scratch, "home");

beforeAll(() => {
  for (const name of caseNames("claude").filter((_, i) => i % 3 === 0))
    cpSync(recordedHome("claude", name).home, home, { recursive: true });
});
afterAll(() => rmSync(scratch, { recursive: true }));

const list = async (data: string) => {
  const { code, stdout, stderr } = await retinueProcess(home, ["ls", "--json", "--limit", "1000"], {
    RETINUE_HOME: data,
  });
  return { code, stderr, threads: JSON.parse(stdout) as unknown[] };
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

  it("is not used if the folder is not writable, with a message", async () => {
    writeFileSync(join(scratch, "a-file"), "");
    const { threads, stderr } = await list(join(scratch, "a-file", "data"));
    expect(threads.length).toBeGreaterThan(20);
    expect(stderr).toContain("reading without the index");
    expect(existsSync(join(scratch, "a-file", "data"))).toBe(false);
  });
});
