import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentKey } from "../../core/facts/ids.ts";
import { keptPath, manualLinks, openKept } from "./kept-file.ts";

let home = "";
let messages: string[] = [];
const env = () => ({ RETINUE_HOME: home });
const notify = (text: string) => messages.push(text);
const DAY_MS = 24 * 3_600_000;
/** The default page size of SQLite. */
const PAGE = 4_096;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "retinue-kept-"));
  messages = [];
});
afterEach(() => rmSync(home, { recursive: true }));

const linkTo = (parent: string, at = 1) => ({
  child: "claude:c" as AgentKey,
  parent: parent as AgentKey,
  at,
  call: null,
  request: null,
});

async function decide(parent: string): Promise<void> {
  const kept = await openKept(env(), notify);
  kept.link(linkTo(parent));
  kept.close();
}

/** Overwrites everything but the first page, so that the damage is found only when a table is read. */
function damage(from = PAGE): void {
  const path = keptPath(env());
  const { size } = statSync(path);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(size - from, 0xa5), 0, size - from, from);
  closeSync(file);
}

const names = () => readdirSync(home).filter((name) => !/-(?:wal|shm)$/.test(name));
const aside = () => names().filter((name) => name.startsWith("kept.sqlite.damaged-"));

describe("kept.sqlite", () => {
  it("is copied with private permissions, again after a day if it changed, and the previous copy is kept", async () => {
    await decide("claude:a");
    const copy = `${keptPath(env())}.copy`;
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    const first = readFileSync(copy);
    await decide("claude:b");
    expect(readFileSync(copy).equals(first)).toBe(true);
    const yesterday = (Date.now() - DAY_MS - 1_000) / 1_000;
    utimesSync(copy, yesterday, yesterday);
    // As another process: this one has tried within the hour.
    const script = `import { openKept } from ${JSON.stringify(new URL("./kept-file.ts", import.meta.url).href)}; (await openKept(${JSON.stringify(env())})).close();`;
    execFileSync(process.execPath, ["--input-type=module", "-e", script]);
    expect(readFileSync(`${copy}-before`).equals(first)).toBe(true);
    expect(readFileSync(copy).equals(first)).toBe(false);
    expect(names().sort()).toEqual(["kept.sqlite", "kept.sqlite.copy", "kept.sqlite.copy-before"]);
  });

  it("is restored from its copy if the file is damaged, which is moved aside and reported", async () => {
    await decide("claude:a");
    damage();
    const damaged = readFileSync(keptPath(env()));
    expect((await manualLinks(env(), notify))?.map(({ parent }) => parent)).toEqual(["claude:a"]);
    expect(aside().length).toBe(1);
    expect(readFileSync(join(home, aside()[0] as string)).equals(damaged)).toBe(true);
    expect(messages.length).toBe(1);
    expect(messages[0]).toContain("was restored");
    expect(statSync(keptPath(env())).mode & 0o777).toBe(0o600);
    await decide("claude:b");
    expect((await manualLinks(env(), notify))?.map(({ parent }) => parent)).toEqual(["claude:b"]);
    expect(messages.length).toBe(1);
  });

  it("is recovered from the damaged file itself if every row can still be read", async () => {
    await decide("claude:a");
    await decide("claude:after the copy");
    const kept = await openKept(env(), notify);
    kept.close();
    // The index of a table, which is not needed for a copy.
    const db = new DatabaseSync(keptPath(env()));
    const { rootpage } = db.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'outbox_batch'").get() as {
      rootpage: number;
    };
    db.close();
    const file = openSync(keptPath(env()), "r+");
    writeSync(file, Buffer.alloc(PAGE, 0xa5), 0, PAGE, (rootpage - 1) * PAGE);
    closeSync(file);
    const again = await openKept(env(), notify);
    again.outbox.open("somewhere", null);
    again.outbox.put(
      "somewhere",
      "thread",
      () => [{ key: "k", place: "p", isEnd: true, batch: "b", what: "w", body: new Uint8Array(8) }],
      1,
    );
    expect(again.outbox.destinations().map(({ name }) => name)).toEqual(["somewhere"]);
    expect(again.links().map(({ parent }) => parent)).toEqual(["claude:after the copy"]);
    again.close();
    expect(messages.join()).toContain("all its data was saved");
  });

  it("starts empty if no copy is intact, and nothing is deleted", async () => {
    await decide("claude:a");
    writeFileSync(`${keptPath(env())}.copy`, "junk");
    damage(0);
    expect(await manualLinks(env(), notify)).toEqual([]);
    expect(aside().length).toBe(1);
    expect(messages[0]).toContain("no good copy");
  });

  it("is repaired while it is open, whichever access finds the damage", async () => {
    await decide("claude:a");
    const kept = await openKept(env(), notify);
    damage();
    expect(kept.cards()).toEqual([]);
    expect(kept.links().length).toBe(1);
    kept.close();
    expect(aside().length).toBe(1);
  });

  it("is repaired once if two open connections find the damage", async () => {
    await decide("claude:a");
    const [one, two] = [await openKept(env(), notify), await openKept(env(), notify)];
    damage();
    expect([one.links().length, two.links().length, one.cards().length, two.cards().length]).toEqual([1, 1, 0, 0]);
    one.close();
    two.close();
    expect(aside().length).toBe(1);
    expect(existsSync(keptPath(env()))).toBe(true);
  });
});
