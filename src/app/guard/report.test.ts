import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { needsLinux } from "../../../test/support/needs.ts";
import { tidyLedgers } from "./report.ts";

const DAY_MS = 24 * 3_600_000;
let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "retinue-ledgers-"));
  mkdirSync(join(home, "guard", "claude"), { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function writeLedger(name: string, ageDays: number): void {
  const path = join(home, "guard", "claude", name);
  writeFileSync(path, "{}\n");
  const at = (Date.now() - ageDays * DAY_MS) / 1_000;
  utimesSync(path, at, at);
}

it("removes the ledgers of threads that have not been active for a month", () => {
  writeLedger("old.jsonl", 31);
  writeLedger("new.jsonl", 29);
  tidyLedgers({ RETINUE_HOME: home }, Date.now());
  expect(readdirSync(join(home, "guard", "claude"))).toEqual(["new.jsonl"]);
});

it("continues if a file cannot be removed", (context) => {
  // Not even root can remove files from procfs.
  needsLinux("procfs")(context);
  symlinkSync("/proc/sys/kernel/random", join(home, "guard", "a-locked"));
  writeLedger("old.jsonl", 31);
  tidyLedgers({ RETINUE_HOME: home }, Date.now() + 365 * DAY_MS);
  expect(readdirSync(join(home, "guard", "claude"))).toEqual([]);
});
