import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { watchFolders } from "./watch.ts";

async function watching(...folders: string[]) {
  const base = mkdtempSync(join(tmpdir(), "retinue-watch-"));
  const seen = new Set<string>();
  const watch = await watchFolders(
    folders.map((folder) => join(base, folder)),
    [],
    (paths) => {
      for (const path of paths) seen.add(path.slice(base.length + 1));
    },
    () => {},
  );
  onTestFinished(async () => {
    await watch.stop();
    rmSync(base, { recursive: true });
  });
  return { base, seen };
}

describe("a folder that is not there yet", () => {
  it("is watched as soon as it comes, with what was written meanwhile", async () => {
    const { base, seen } = await watching("product/records");
    mkdirSync(join(base, "product"));
    mkdirSync(join(base, "product/records/deep"), { recursive: true });
    writeFileSync(join(base, "product/records/deep/a.jsonl"), "1");
    await expect.poll(() => seen.has("product/records/deep/a.jsonl"), { timeout: 5_000 }).toBe(true);
    writeFileSync(join(base, "product/records/deep/b.jsonl"), "2");
    await expect.poll(() => seen.has("product/records/deep/b.jsonl"), { timeout: 5_000 }).toBe(true);
  });

  it("makes nobody look at what else is there", async () => {
    const { base, seen } = await watching("product/records");
    mkdirSync(join(base, "other/deep"), { recursive: true });
    writeFileSync(join(base, "other/deep/a.jsonl"), "1");
    mkdirSync(join(base, "product/records"), { recursive: true });
    writeFileSync(join(base, "product/records/b.jsonl"), "2");
    await expect.poll(() => seen.has("product/records/b.jsonl"), { timeout: 5_000 }).toBe(true);
    expect([...seen].filter((path) => path.startsWith("other"))).toEqual([]);
  });
});
