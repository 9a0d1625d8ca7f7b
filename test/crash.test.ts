/** The index survives processes that die while they write it, and processes that write it at the same time. */
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { retinue } from "./cli.ts";
import { caseNames, recordedHome } from "./fixtures.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-crash-"));
const home = join(scratch, "home");
const MAIN = join(import.meta.dirname, "../src/cli/main.ts");
/** More on request: RETINUE_KILLS=300 takes a few minutes. */
const KILLS = Number(process.env.RETINUE_KILLS ?? 12);

beforeAll(() => {
  for (const name of caseNames("claude").filter((_, i) => i % 3 === 0)) cpSync(recordedHome("claude", name).home, home, { recursive: true });
});
afterAll(() => rmSync(scratch, { recursive: true }));

const list = async (data: string) => {
  const { code, stdout, stderr } = await retinue(home, ["ls", "--json", "--limit", "1000"], { RETINUE_HOME: data });
  return { code, stderr, threads: JSON.parse(stdout) as unknown[] };
};

/** Starts indexing and kills it in the middle, as a power cut or an impatient person would. */
async function killedAfter(ms: number, data: string): Promise<void> {
  const child = spawn(process.execPath, [MAIN, "ls"], { env: { PATH: process.env.PATH ?? "", HOME: home, RETINUE_HOME: data }, stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await wait(ms);
  child.kill("SIGKILL");
  await ended;
}

describe("the index", () => {
  it("is right in the end, however often its makers are killed on the way", { timeout: 10 * 60_000 }, async () => {
    const fresh = await list(join(scratch, "fresh"));
    expect({ code: fresh.code, some: fresh.threads.length > 20 }).toEqual({ code: 0, some: true });
    const data = join(scratch, "killed");
    // From before the index exists to after it is done: a start takes about 200 ms, the whole work about a second.
    for (let n = 0; n < KILLS; n += 1) {
      if (n % 6 === 0) rmSync(data, { recursive: true, force: true });
      await killedAfter(150 + ((n * 97) % 900), data);
    }
    expect(await list(data)).toEqual(fresh);
  });

  it("may be made by several processes at once, and each sees everything", { timeout: 120_000 }, async () => {
    const fresh = await list(join(scratch, "alone"));
    const data = join(scratch, "crowd");
    const crowd = await Promise.all(Array.from({ length: 5 }, () => list(data)));
    expect(crowd).toEqual(crowd.map(() => fresh));
  });

  it("is set aside when it is damaged, with a word, and made anew", async () => {
    const data = join(scratch, "damaged");
    const fresh = await list(data);
    for (const file of readdirSync(data)) rmSync(join(data, file));
    writeFileSync(join(data, "index.sqlite"), "these are not the bytes you are looking for".repeat(500));
    const after = await list(data);
    expect(after.threads).toEqual(fresh.threads);
    expect(after.stderr).toContain("the index was damaged");
    expect(readdirSync(data).some((file) => file.startsWith("index.sqlite.damaged-"))).toBe(true);
  });

  it("is done without where nothing can be written, with a word", async () => {
    writeFileSync(join(scratch, "a-file"), "");
    const { threads, stderr } = await list(join(scratch, "a-file", "data"));
    expect(threads.length).toBeGreaterThan(20);
    expect(stderr).toContain("reading without the index");
    expect(existsSync(join(scratch, "a-file", "data"))).toBe(false);
  });
});
