/** Compiled code is executed, so its cache must not be writable by others. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { needsPosix } from "../support/needs.ts";

const BIN = join(import.meta.dirname, "../../bin/retinue.js");
let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-compiled-"));
  for (const folder of ["home", "tmp", "elsewhere"]) mkdirSync(join(scratch, folder));
});
beforeEach(needsPosix("file modes"));
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

const folder = () => join(scratch, "home/.cache/retinue/compiled");
function run() {
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: join(scratch, "home"),
    TMPDIR: join(scratch, "tmp"),
    RETINUE_HOME: join(scratch, "data"),
  };
  const { status } = spawnSync(process.execPath, [BIN, "hook"], { env, input: "{}" });
  expect(status).toBe(0);
}

describe("the compile cache", () => {
  it("is a private folder of the user, and nothing is left in the temporary folder", () => {
    run();
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder())).not.toEqual([]);
    expect(readdirSync(join(scratch, "tmp"))).toEqual([]);
  });

  it("is not used if other users can write to it", () => {
    mkdirSync(folder(), { recursive: true });
    chmodSync(folder(), 0o777);
    run();
    expect(readdirSync(folder())).toEqual([]);
  });

  it.each([".cache", ".cache/retinue"])("is not used if other users can write to %s and could replace it", (above) => {
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    chmodSync(join(scratch, "home", above), 0o777);
    run();
    expect(readdirSync(folder())).toEqual([]);
  });

  it("is not used if it is a link to another folder", () => {
    mkdirSync(join(folder(), ".."), { recursive: true });
    symlinkSync(join(scratch, "elsewhere"), folder());
    run();
    expect(readdirSync(join(scratch, "elsewhere"))).toEqual([]);
  });

  it("is not used if there is no home folder", () => {
    rmSync(join(scratch, "home"), { recursive: true });
    symlinkSync("/dev/null", join(scratch, "home"));
    run();
    expect(existsSync(folder())).toBe(false);
  });
});
