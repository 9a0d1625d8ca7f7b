/** Connections to PostgreSQL that end at any moment: what runs on them fails as `unreachable`, and nothing else does. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { StoreFault } from "../../src/stores/fault.ts";
import { type Database, type DatabaseOptions, openDatabase, type Queries } from "../../src/stores/postgres/database.ts";
import { freshDatabase } from "../support/postgres.ts";
import { Sql } from "../support/sql.ts";
import { TcpProxy } from "../support/tcp-proxy.ts";

const PATIENCE = { timeout: 30_000, interval: 20 };

let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let direct: Sql;
let proxy: TcpProxy;
beforeAll(async () => {
  fresh = await freshDatabase();
  direct = Sql.open(fresh.url);
  await direct.all("create table notes (note text not null)");
  proxy = await TcpProxy.start(Number(new URL(fresh.url).port));
});
afterAll(async () => {
  await proxy.stop();
  await direct.end();
  await fresh.drop();
});

const uncaught = vi.fn();
const opened: Database[] = [];
beforeEach(async () => {
  // What a lost connection ran may still run.
  await terminate();
  await direct.all("truncate notes");
  process.on("uncaughtException", uncaught);
  process.on("unhandledRejection", uncaught);
});
afterEach(async () => {
  proxy.silence(false);
  proxy.accept(true);
  await Promise.all(opened.splice(0).map((one) => one.close()));
  // What is thrown late is thrown by then.
  for (let n = 0; n < 5; n += 1) await new Promise(setImmediate);
  process.off("uncaughtException", uncaught);
  process.off("unhandledRejection", uncaught);
  expect(uncaught).not.toHaveBeenCalled();
});

async function open(options: DatabaseOptions = {}): Promise<Database> {
  const url = new URL(fresh.url);
  url.port = String(proxy.port);
  const database = await openDatabase(url.href, options);
  opened.push(database);
  return database;
}

const unreachable = expect.objectContaining({ kind: "unreachable" });
const fault = (work: Promise<unknown>) =>
  work.then(
    () => "no fault",
    (error: unknown) => (error instanceof StoreFault ? error : `not a fault: ${error}`),
  );
const note = (queries: Queries, text: string) => queries.all("insert into notes (note) values ($1)", [text]);
const notes = async () => (await direct.all<{ note: string }>("select note from notes")).map((row) => row.note);
/** Other tests use other databases of the same server. */
const OURS = "from pg_stat_activity where application_name = 'retinue' and datname = current_database()";
/** Processes of PostgreSQL that run such a statement. */
const running = (like: string) => direct.all(`select pid ${OURS} and query like $1`, [like]);
const terminate = () => direct.all(`select pg_terminate_backend(pid) ${OURS}`);

/** How a connection may be lost. */
const LOSSES: readonly (readonly [string, () => unknown])[] = [
  ["the server ends it", terminate],
  ["it is closed", () => proxy.cut()],
  ["it is reset", () => proxy.cut("reset")],
];

describe.each(LOSSES)("a connection that is lost: %s", (_, lose) => {
  it("while it is idle harms nobody", async () => {
    const database = await open({ connections: 1 });
    await note(database, "before");
    await lose();
    await expect.poll(() => fault(note(database, "after")), PATIENCE).toBe("no fault");
    expect(await notes()).toEqual(["before", "after"]);
  });

  it("between two statements of a transaction fails it, and the next one works", async () => {
    const database = await open({ connections: 1 });
    const failed = database.transaction(async (queries) => {
      await note(queries, "lost");
      await lose();
      await note(queries, "lost, too");
    });
    expect(await fault(failed)).toEqual(unreachable);
    await database.transaction((queries) => note(queries, "kept"));
    expect(await notes()).toEqual(["kept"]);
  });

  it("long before the next statement of a transaction fails it, and the next one works", async () => {
    const database = await open({ connections: 1 });
    const failed = database.transaction(async (queries) => {
      await note(queries, "lost");
      await lose();
      await expect.poll(() => running("%"), PATIENCE).toEqual([]);
      await note(queries, "lost, too");
    });
    expect(await fault(failed)).toEqual(unreachable);
    await database.transaction((queries) => note(queries, "kept"));
    expect(await notes()).toEqual(["kept"]);
  });

  it("during a statement of a transaction fails it, and the next one works", async () => {
    const database = await open({ connections: 1 });
    const failed = fault(
      database.transaction(async (queries) => {
        await note(queries, "lost");
        await queries.all("select pg_sleep($1)", [30]);
      }),
    );
    await expect.poll(async () => (await running("%pg_sleep%")).length, PATIENCE).toBe(1);
    await lose();
    expect(await failed).toEqual(unreachable);
    await database.transaction((queries) => note(queries, "kept"));
    expect(await notes()).toEqual(["kept"]);
  });

  it("before a transaction is committed fails it, also if its work went on", async () => {
    const database = await open({ connections: 1 });
    const failed = database.transaction(async (queries) => {
      await note(queries, "lost");
      await lose();
      await note(queries, "lost, too").catch(() => {});
    });
    expect(await fault(failed)).toEqual(unreachable);
    const atCommit = database.transaction(async (queries) => {
      await note(queries, "lost");
      await lose();
    });
    expect(await fault(atCommit)).toEqual(unreachable);
    await database.transaction((queries) => note(queries, "kept"));
    expect(await notes()).toEqual(["kept"]);
  });

  it("with many statements at once fails some of them, and the next ones work", async () => {
    const database = await open();
    const asked = Array.from({ length: 200 }, (_, n) => fault(database.all("select pg_sleep($1)", [n / 10_000])));
    await asked[20];
    await lose();
    const answers = await Promise.all(asked);
    const failed = answers.filter((answer) => answer !== "no fault");
    expect(failed).toEqual(failed.map(() => unreachable));
    await expect.poll(() => fault(note(database, "after")), PATIENCE).toBe("no fault");
  });

  it("is opened again for notifications, and that is said", async () => {
    const database = await open();
    const [heard, listened] = [vi.fn(), vi.fn()];
    await database.listen("news", heard, listened);
    expect(listened).toHaveBeenCalledTimes(1);
    await lose();
    await expect.poll(() => listened.mock.calls.length, PATIENCE).toBe(2);
    await direct.all("select pg_notify('news', 'one')");
    await expect.poll(() => heard.mock.calls, PATIENCE).toEqual([["one"]]);
  });
});

it("a session that is read-only is replaced, so that writing works as soon as the database allows it", async () => {
  const name = new URL(fresh.url).pathname.slice(1);
  await direct.all(`alter database ${name} set default_transaction_read_only = on`);
  const database = await open({ connections: 1 });
  try {
    expect(await fault(note(database, "early"))).toMatchObject({ kind: "unwritable" });
    expect(await notes()).toEqual([]);
  } finally {
    await direct.all(`alter database ${name} reset default_transaction_read_only`);
  }
  await note(database, "late");
  expect(await notes()).toEqual(["late"]);
});

describe("a database that is away", () => {
  it("fails statements at once, also those that wait, and works when it is back", async () => {
    const database = await open({ connections: 2 });
    proxy.accept(false);
    const faults = await Promise.all(Array.from({ length: 50 }, () => fault(database.all("select 1"))));
    expect(faults).toEqual(faults.map(() => unreachable));
    proxy.accept(true);
    await expect.poll(() => fault(database.all("select 1")), PATIENCE).toBe("no fault");
  });

  it("can be closed, also while it is searched among several hosts", async () => {
    const url = new URL(fresh.url);
    url.host = `127.0.0.1:${proxy.port}`;
    const database = await openDatabase(url.href.replace("@127.0.0.1:", `@127.0.0.1:${proxy.port},127.0.0.1:`));
    proxy.accept(false);
    const asked = [fault(database.all("select 1")), fault(database.transaction((queries) => note(queries, "lost")))];
    const listened = fault(database.listen("news", vi.fn(), vi.fn()));
    await new Promise(setImmediate);
    await database.close();
    expect(await Promise.all([...asked, listened])).toEqual([unreachable, unreachable, unreachable]);
    expect(await fault(database.all("select 1"))).toEqual(unreachable);
    await expect.poll(() => proxy.connections, PATIENCE).toBe(0);
  });

  it("is not searched forever", async () => {
    const address = `postgres://retinue@127.0.0.1:${proxy.port},127.0.0.1:${proxy.port}/postgres`;
    const database = await openDatabase(address, { searchMs: 600 });
    opened.push(database);
    proxy.accept(false);
    expect(await fault(database.all("select 1"))).toEqual(unreachable);
    proxy.accept(true);
    expect(await database.all("select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("is noticed if it is silent", async () => {
    const database = await open({ connections: 1, statementMs: 5_000 });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      await database.all("select 1");
      proxy.silence(true);
      const asked = fault(database.all("select 2"));
      await vi.advanceTimersByTimeAsync(16_000);
      expect(await asked).toEqual(unreachable);
    } finally {
      vi.useRealTimers();
    }
  });
});

it("running work may end while the database is closed, and is cut if it takes too long", async () => {
  const database = await open();
  const ends = database.all("select pg_sleep(0.2)");
  const endless = fault(database.all("select pg_sleep(60)"));
  await expect.poll(async () => (await running("%pg_sleep%")).length, PATIENCE).toBe(2);
  await database.close();
  expect(await ends).toHaveLength(1);
  expect(await endless).toEqual(unreachable);
  opened.length = 0;
});
