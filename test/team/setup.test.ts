/** Databases and options that cannot be used: the command says so, and what to do. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTeamStore } from "../../src/app/team/store.ts";
import { MAX_HEADER } from "../../src/server/team/serve.ts";
import { type Database, openDatabase } from "../../src/stores/postgres/database.ts";
import { retinue } from "../support/cli.ts";
import { freshDatabase } from "../support/postgres.ts";

let home: string;
let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let database: Database;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "retinue-home-"));
  fresh = await freshDatabase();
  database = await openDatabase(fresh.url, { connections: 1 });
});
afterAll(async () => {
  await database.close();
  await fresh.drop();
  rmSync(home, { recursive: true });
});

const name = () => `test_${randomBytes(6).toString("hex")}`;
const at = (change: (url: URL) => void) => {
  const url = new URL(fresh.url);
  change(url);
  return url.href;
};
const migrated = (store: string) => retinue(home, ["db", "migrate", "--store", store]);
const run = (...args: string[]) => retinue(home, [...args, "--store", fresh.url]);

describe("a database", () => {
  it.each(["LATIN1", "SQL_ASCII"])("with the encoding %s is refused", async (encoding) => {
    const other = name();
    await database.all(
      `create database ${other} encoding '${encoding}' lc_collate 'C' lc_ctype 'C' template template0`,
    );
    try {
      const { code, stderr } = await migrated(at((url) => Object.assign(url, { pathname: `/${other}` })));
      expect(code).toBe(1);
      expect(stderr).toContain(`the database must use the encoding UTF8; it uses ${encoding}`);
      expect(stderr).toContain("create database retinue encoding 'UTF8'");
    } finally {
      await database.all(`drop database ${other} with (force)`);
    }
  });

  it("without the version of its schema is refused, and left as it is", async () => {
    await (await openTeamStore(fresh.url, { connections: 1 })).close();
    for (const statement of [
      "delete from retinue.schema",
      "insert into retinue.schema (version, compatible_from) values (0, 0)",
      "drop table retinue.schema",
    ]) {
      await database.all(statement);
      const { code, stderr } = await migrated(fresh.url);
      expect([statement, code]).toEqual([statement, 1]);
      expect(stderr).toContain("has tables of retinue, but not the version of their schema");
      expect(stderr).toContain("create a new one and new tokens");
    }
    expect(await database.all("select to_regclass('retinue.schema') as found")).toEqual([{ found: null }]);
    await database.all("drop schema retinue cascade");
    expect((await migrated(fresh.url)).code).toBe(0);
  });

  it("in which the user may not create a schema is refused with the right to give", async () => {
    const [role, other] = [name(), name()];
    await database.all(`create role ${role} login`);
    await database.all(`create database ${other}`);
    try {
      const { code, stderr } = await migrated(
        at((url) => Object.assign(url, { username: role, pathname: `/${other}` })),
      );
      expect(code).toBe(1);
      expect(stderr).toContain("permission denied for database");
      expect(stderr).toContain("grant create on database");
    } finally {
      await database.all(`drop database ${other} with (force)`);
      await database.all(`drop role ${role}`);
    }
  });
});

describe("an option", () => {
  it.each([
    ["token", "list"],
    ["db", "migrate"],
    ["budget", "list"],
  ])("--store is missed by %s %s, and must name a database of PostgreSQL", async (...command) => {
    const missing = await retinue(home, command);
    expect([missing.code, missing.stderr]).toEqual([
      2,
      expect.stringContaining(`${command.join(" ")} needs --store <url>`),
    ]);
    const other = await retinue(home, [...command, "--store", "mysql://ann:hidden-1234@host/retinue"]);
    expect(other.code).toBe(2);
    expect(other.stderr).toMatch(/--store mysql:\/\/\S+@host\/retinue: not the address of a PostgreSQL database/);
    expect(other.stderr).not.toContain("hidden-1234");
  });

  it.each(["99999999d", "999999999w", "+275760-09-12", "today", ""])("--expires %s is refused", async (expires) => {
    const made = await run("token", "create", "--owner", "ann", "--scope", "read", `--expires=${expires}`);
    expect([made.code, made.stdout]).toEqual([2, ""]);
    expect(made.stderr).toMatch(/--expires .*: (?:later than the year 9999|not a time in the future)/);
  });

  it("--older-than of any length is understood: nothing is that old", async () => {
    const pruned = await run("db", "prune", "--older-than", "99999999d");
    expect([pruned.code, pruned.stdout]).toEqual([0, "No month of events is that old.\n"]);
  });

  it.each([
    ["--project", "/home/ann/shop"],
    ["--project", "C:\\ann\\shop"],
    ["--project", "shop/"],
    ["--project", ""],
    ["--usd", "1e300"],
  ])("%s %s of a budget is refused", async (option, value) => {
    const given = { "--project": "shop", "--usd": "5", [option]: value };
    const set = await run("budget", "set", ...Object.entries(given).map(([one, text]) => `${one}=${text}`));
    expect([set.code, set.stderr]).toEqual([2, expect.stringContaining(option)]);
  });
});

it("the example of nginx passes headers as large as a team server accepts: positions name all people", () => {
  const text = readFileSync(join(import.meta.dirname, "../../examples/team/nginx.conf"), "utf8");
  for (const directive of ["large_client_header_buffers 4", "proxy_buffer_size"]) {
    const [, kilobytes = 0] = new RegExp(`^ *${directive} (\\d+)k;$`, "m").exec(text) ?? [];
    expect([directive, Number(kilobytes) << 10]).toEqual([directive, MAX_HEADER]);
  }
});
