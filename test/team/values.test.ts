/** Values on their way to PostgreSQL and back. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, openDatabase } from "../../src/stores/postgres/database.ts";
import { freshDatabase } from "../support/postgres.ts";

let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let database: Database;
beforeAll(async () => {
  fresh = await freshDatabase();
  database = await openDatabase(fresh.url);
});
afterAll(async () => {
  await database.close();
  await fresh.drop();
});

const one = async (expression: string, ...parameters: readonly never[]) =>
  (await database.all<{ value: unknown }>(`select ${expression} as value`, parameters))[0]?.value;

describe("a parameter", () => {
  const ODD = [
    "",
    " ",
    "NULL",
    "null",
    "{}",
    "{a,b}",
    'a"b',
    "a\\b",
    '\\"',
    "a,b",
    "it's",
    "\n\t\r",
    "é漢🎉",
    "$1",
    "%",
  ];

  it("that is a list of texts arrives unchanged", async () => {
    const texts = [...ODD, null, "x".repeat(100_000)];
    const rows = await database.all<{ text: string | null }>("select d.text from unnest($1::text[]) as d (text)", [
      texts,
    ]);
    expect(rows.map(({ text }) => text)).toEqual(texts);
    expect(await database.all("select $1::text[] as texts", [texts])).toEqual([{ texts }]);
    expect(await database.all("select $1::text[] as texts", [[]])).toEqual([{ texts: [] }]);
  });

  it.each(ODD)("that is a text arrives unchanged: %j", async (text) => {
    expect(await database.all("select $1::text as text", [text])).toEqual([{ text }]);
  });

  it("that is a list of other values arrives unchanged", async () => {
    const [sizes, costs] = [
      [0, -1, null, Number.MAX_SAFE_INTEGER],
      [0.1, null, 1e-9, 1e300],
    ];
    const times = ["2026-06-01T10:00:00.123Z", null, "1970-01-01T00:00:00.000Z"];
    const days = ["2026-06-01", null];
    const [row] = await database.all<{ sizes: unknown; costs: unknown; times: (string | null)[]; days: string }>(
      "select $1::bigint[] as sizes, $2::float8[] as costs, to_json($3::timestamptz[]) as times, $4::date[]::text[] as days",
      [sizes, costs, times, days],
    );
    expect(row).toMatchObject({ sizes, costs, days });
    expect(row?.times.map((at) => at && new Date(at).toISOString())).toEqual(times);
  });

  it("may be null, a number or a truth value", async () => {
    expect(
      await database.all("select $1::text as a, $2::bigint as b, $3::boolean as c, $4::float8 as d", [
        null,
        7,
        true,
        0.5,
      ]),
    ).toEqual([{ a: null, b: 7, c: true, d: 0.5 }]);
  });
});

it.each([
  ["1::int8", 1],
  ["9007199254740991::int8", Number.MAX_SAFE_INTEGER],
  ["2::int4", 2],
  ["0.1::float8", 0.1],
  ["0.10::numeric", "0.10"],
  ["true", true],
  ["null::text", null],
  ["date '2026-06-01'", new Date("2026-06-01T00:00:00Z")],
  ["timestamptz '2026-06-01 10:00:00.123+02'", new Date("2026-06-01T08:00:00.123Z")],
  [`'{"a":[1]}'::json`, { a: [1] }],
  [`'{"a":[1]}'::jsonb`, { a: [1] }],
  ["array['a', null, 'b,\"']", ["a", null, 'b,"']],
  ["array[1, null]::int8[]", [1, null]],
  ["'pg_class'::regclass", "pg_class"],
  ["interval '1 day'", "1 day"],
])("the value of %s is %j", async (expression, expected) => {
  expect(await one(expression)).toEqual(expected);
});

describe("a prepared statement", () => {
  it("is prepared once for each connection, and only if it has parameters", async () => {
    const single = await openDatabase(fresh.url, { connections: 1 });
    try {
      for (const text of ["a", "b"]) await single.all("select $1::text as text", [text]);
      await single.all("select 1");
      const prepared = await single.all<{ statement: string }>("select statement from pg_prepared_statements");
      expect(prepared).toEqual([{ statement: "select $1::text as text" }]);
    } finally {
      await single.close();
    }
  });

  it("is used again after a change of its table, and many at once are", async () => {
    const single = await openDatabase(fresh.url, { connections: 1 });
    const rows = () => single.all("select n.* from numbers n where n.a = $1", [1]);
    try {
      await single.script("create table numbers (a integer); insert into numbers values (1)");
      expect(await rows()).toEqual([{ a: 1 }]);
      await single.script("alter table numbers add column b text");
      expect(await rows()).toEqual([{ a: 1, b: null }]);
      await single.script("alter table numbers drop column b");
      const many = await Promise.all(Array.from({ length: 100 }, rows));
      expect(many).toEqual(many.map(() => [{ a: 1 }]));
      await single.script("alter table numbers add column c text");
      const inTransaction = () =>
        single.transaction((queries) => queries.all("select n.* from numbers n where n.a = $1", [1]));
      await expect(inTransaction()).rejects.toThrow("cached plan");
      expect(await inTransaction()).toEqual([{ a: 1, c: null }]);
    } finally {
      await single.close();
    }
  });
});

it("the server is told the name and the limit of statements, and what the address adds", async () => {
  const named = await openDatabase(`${fresh.url}?search_path=elsewhere`, { statementMs: 12_000 });
  try {
    const settings = ["application_name", "statement_timeout", "search_path"];
    const values = settings.map((name) => `current_setting('${name}') as ${name}`).join(", ");
    expect(await named.all(`select ${values}`)).toEqual([
      { application_name: "retinue", statement_timeout: "12s", search_path: "elsewhere" },
    ]);
  } finally {
    await named.close();
  }
});

it("errors in many statements at once stay with their statements", async () => {
  const answers = await Promise.allSettled(
    Array.from({ length: 300 }, (_, n) => database.all("select 6 / $1::integer as value", [n % 3])),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map((_, n) => (n % 3 === 0 ? "rejected" : "fulfilled")));
});
