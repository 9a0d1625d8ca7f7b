import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OWNED_TABLES, SHARED_TABLES } from "../../src/stores/postgres/schema.ts";
import { retinue, retinueJson } from "../support/cli.ts";
import { freshDatabase } from "../support/postgres.ts";
import { Sql } from "../support/sql.ts";

let home: string;
let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let sql: Sql;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "retinue-home-"));
  fresh = await freshDatabase();
  sql = Sql.open(fresh.url);
});
afterAll(async () => {
  await sql.end();
  await fresh.drop();
  rmSync(home, { recursive: true });
});

const run = (...args: string[]) => retinue(home, [...args, "--store", fresh.url]);

describe("retinue token", () => {
  it("creates a token that is shown once, lists it without the secret, and revokes it", async () => {
    const made = await run("token", "create", "--owner", "ann", "--scope", "read", "--expires", "90d");
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^rtn_\S+\n$/) });
    const listed = await run("token", "list", "--json");
    expect(listed.stdout).not.toContain(made.stdout.trim());
    const [{ id }] = JSON.parse(listed.stdout) as [{ id: string }];
    expect((await run("token", "revoke", id)).code).toBe(0);
    expect((await run("token", "revoke", "nothing")).code).toBe(1);
    expect((await run("token", "create", "--owner", "Ann!", "--scope", "read")).code).toBe(2);
    expect((await run("token", "create", "--owner", "ann", "--scope", "read", "--expires", "2020-01-01")).code).toBe(2);
  });
});

describe("retinue token unshare", () => {
  it("ends the sharing of a person's threads with a team", async () => {
    await run("token", "create", "--owner", "eve", "--scope", "ship", "--team", "core", "docs");
    expect((await run("token", "unshare", "--owner", "eve")).code).toBe(2);
    expect(await run("token", "unshare", "--owner", "eve", "--team", "core", "other")).toMatchObject({
      code: 0,
      stderr: "Threads of eve are no longer shared with core.\n",
    });
    expect((await run("token", "unshare", "--owner", "eve", "--team", "core")).code).toBe(1);
    expect(await sql.all("select team from retinue.shares where owner = 'eve'")).toEqual([{ team: "docs" }]);
    expect(await sql.all("select subject from retinue.audit where action = 'unshared'")).toEqual([
      { subject: "eve core" },
    ]);
  });
});

describe("retinue budget", () => {
  it("sets, lists and removes budgets", async () => {
    expect((await run("budget", "set", "--owner", "ann", "--usd", "200")).code).toBe(0);
    expect((await run("budget", "set", "--project", "My shop", "--usd", "50.5")).code).toBe(0);
    expect((await run("budget", "set", "--owner", "ann", "--usd", "250")).stderr).toContain("$250");
    expect(await retinueJson(home, ["budget", "list", "--store", fresh.url])).toEqual([
      { of: "owner", name: "ann", usd: 250 },
      { of: "project", name: "My shop", usd: 50.5 },
    ]);
    expect((await run("budget", "list")).stdout).toMatch(/owner\s+ann\s+\$250/);
    expect((await run("budget", "remove", "--owner", "ann")).code).toBe(0);
    expect((await run("budget", "remove", "--owner", "ann")).code).toBe(1);
  });

  it.each([
    [["--usd", "5"]],
    [["--owner", "ann", "--team", "core", "--usd", "5"]],
    [["--owner", "ann"]],
    [["--owner", "ann", "--usd", "-5"]],
    [["--owner", "ann", "--usd", "many"]],
    [["--team", "No Name", "--usd", "5"]],
  ])("refuses %j", async (args) => {
    expect((await run("budget", "set", ...args)).code).toBe(2);
  });
});

describe("retinue db", () => {
  it("migrates", async () => {
    expect((await run("db", "migrate")).stdout).toMatch(/The schema is up to date: version \d+\.|Migrated/);
    expect((await retinue(home, ["db", "migrate"])).code).toBe(2);
  });

  it("prune drops old months, and says which", async () => {
    const month = "retinue.events_2020_01";
    await sql.all(`create table ${month} partition of retinue.events for values from ('2020-01-01') to ('2020-02-01')`);
    expect((await run("db", "prune", "--older-than", "180d")).stdout).toContain("1 month of events: events_2020_01");
    expect((await run("db", "prune", "--older-than", "180d")).stdout).toContain("No month");
    expect((await run("db", "prune")).code).toBe(2);
    expect((await run("db", "prune", "--older-than", "old")).code).toBe(2);
    const entries = await sql.all("select action, subject from retinue.audit where action = 'pruned'");
    expect(entries).toEqual([{ action: "pruned", subject: "events_2020_01" }]);
  });

  it("distribute says what is missing on a single server", async () => {
    const { code, stderr } = await run("db", "distribute");
    expect([code, stderr]).toEqual([1, expect.stringContaining("no Citus extension")]);
  });

  it("distribute gives every table a place, once; --print changes nothing", async () => {
    await sql.all(`create table public.pg_dist_partition (logicalrelid regclass, placement text);
      create function create_reference_table(t regclass) returns void language sql
        as 'insert into pg_dist_partition values (t, ''everywhere'')';
      create function create_distributed_table(t regclass, by text, colocate_with text) returns void language sql
        as 'insert into pg_dist_partition values (t, by || '' with '' || colocate_with)'`);
    const printed = await retinue(home, ["db", "distribute", "--print"]);
    expect(printed.stdout.trim().split("\n")).toHaveLength(OWNED_TABLES.length + SHARED_TABLES.length);
    expect((await run("db", "distribute")).code).toBe(0);
    const again = await run("db", "distribute");
    expect(again).toMatchObject({ code: 0, stdout: "All tables were already distributed.\n" });
    const rows = await sql.all<{ name: string; placement: string }>(
      "select c.relname as name, p.placement from public.pg_dist_partition p join pg_class c on c.oid = p.logicalrelid order by p.ctid",
    );
    const [first] = OWNED_TABLES;
    expect(rows.map(({ name, placement }) => [name, placement])).toEqual([
      ...SHARED_TABLES.map((table) => [table, "everywhere"]),
      ...OWNED_TABLES.map((table) => [table, `owner with ${table === first ? "none" : `retinue.${first}`}`]),
    ]);
  });
});
