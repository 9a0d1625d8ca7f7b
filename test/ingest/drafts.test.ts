/** Temporary files of a killed process are removed by the next one. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openKept } from "../../src/app/kept/kept-file.ts";
import { claim } from "../../src/server/instance.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "retinue-drafts-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** The id of a process that has ended. */
const ended = () => spawnSync(process.execPath, ["-e", ""]).pid;

it("removes copies of kept.sqlite by ended processes, and no others", async () => {
  const gone = ended();
  const drafts = [`copy.${gone}`, `copy.${gone}-journal`, `restored-${gone}`, `copy.${process.ppid}`];
  for (const name of drafts) writeFileSync(join(home, `kept.sqlite.${name}`), "half");
  writeFileSync(join(home, "kept.sqlite.damaged-1"), "kept for its user");
  (await openKept({ RETINUE_HOME: home })).close();
  expect(readdirSync(home).sort()).toEqual([
    "kept.sqlite",
    "kept.sqlite.copy",
    `kept.sqlite.copy.${process.ppid}`,
    "kept.sqlite.damaged-1",
  ]);
});

it("removes temporary files of notes and tokens that are old, and no recent ones", () => {
  for (const name of ["server.json.0123", "token.89abcdef", "token.new", "token"]) writeFileSync(join(home, name), "x");
  for (const name of ["server.json.0123", "token.89abcdef", "token"]) utimesSync(join(home, name), 1, 1);
  const server = {
    instance: "i",
    pid: process.pid,
    host: "127.0.0.1",
    port: 1,
    url: "http://127.0.0.1:1",
    token: null,
  };
  expect(claim({ RETINUE_HOME: home }, { ...server, traces: [] })).toBe(true);
  expect(readdirSync(home).sort()).toEqual(["server.json", "token", "token.new"]);
});
