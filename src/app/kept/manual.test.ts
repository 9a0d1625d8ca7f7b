import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { AgentKey } from "../../core/facts/ids.ts";
import { MemoryStore } from "../../stores/memory.ts";
import { openKept } from "./kept-file.ts";
import { Manual } from "./manual.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "retinue-manual-"));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(home, { recursive: true });
});

it("opens the file only if it has changed, or changed so recently that its time may not show the next change", async () => {
  const [env, store, manual] = [{ RETINUE_HOME: home }, new MemoryStore(), new Manual()];
  const link = async (parent: string) => {
    const kept = await openKept(env);
    kept.link({ child: "toy:c" as AgentKey, parent: parent as AgentKey, at: 1, call: null, request: null });
    kept.close();
  };
  await link("toy:a");
  await manual.read(env, store);
  expect(await manual.read(env, store)).toEqual([]);
  expect(manual.reads).toBe(2);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
  await manual.read(env, store);
  await manual.read(env, store);
  await manual.read(env, store);
  expect(manual.reads).toBe(3);
  await link("toy:b");
  expect(await manual.read(env, store)).toContain("toy:b");
  expect(manual.reads).toBe(4);
});
