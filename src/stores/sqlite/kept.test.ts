import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { agentKey, callKey, threadKey } from "../../core/facts/ids.ts";
import { openKept } from "./kept.ts";

const thread = threadKey("toy", "t");
const [a, b] = [agentKey("toy", "t", "a"), agentKey("toy", "t", "b")];
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "retinue-kept-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("decisions made by people", () => {
  it("are there after a restart, and the last link of a child counts", async () => {
    const path = join(folder, "new", "kept.sqlite");
    const first = await openKept(path);
    const call = callKey("toy", "call_1");
    first.link({ child: a, parent: thread, at: 1, call, request: "req-1" });
    first.link({ child: b, parent: thread, at: 2, call, request: "req-1" });
    first.link({ child: a, parent: b, at: 3, call: null, request: null });
    first.close();
    const second = await openKept(path);
    expect(second.links()).toEqual([
      { child: a, parent: b, at: 3, call: null, request: null },
      { child: b, parent: thread, at: 2, call, request: "req-1" },
    ]);
    expect([second.unlink(a), second.unlink(a)]).toEqual([true, false]);
    expect(second.links().map((l) => l.child)).toEqual([b]);
    second.close();
  });

  it("can be written by two processes at once", async () => {
    const path = join(folder, "kept.sqlite");
    const [one, two] = [await openKept(path), await openKept(path)];
    one.link({ child: a, parent: thread, at: 1, call: null, request: null });
    two.link({ child: b, parent: thread, at: 2, call: null, request: null });
    expect(one.links().length).toBe(2);
    one.close();
    two.close();
  });

  it("of a newer version are not opened, and the error states the version", async () => {
    const path = join(folder, "kept.sqlite");
    (await openKept(path)).close();
    const db = new DatabaseSync(path);
    db.exec("PRAGMA user_version = 99");
    db.close();
    await expect(openKept(path)).rejects.toThrow(/newer retinue \(version 99\)/);
  });
});
